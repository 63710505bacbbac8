import type { Reinstatement } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { toCli } from '../api/command.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { showNotice } from '../components/notice.ts'
import { say } from '../say.ts'

interface ReinstateProps {
  readonly siteId: string
  readonly ppid: string
  readonly name: string | undefined
  readonly onClose: () => void
}

/** Gives access back. What was revoked with the user stays revoked, and the sheet says so. */
export function ReinstateSheet({ siteId, ppid, name, onClose }: ReinstateProps): JSX.Element {
  const who = name === undefined ? { ppid } : { user_ref: name }
  return (
    <ActSheet<Reinstatement>
      title={say('Reinstate user')}
      siteId={siteId}
      verb={say('Reinstate')}
      busyVerb={say('Reinstating…')}
      toRequest={(reason) => ({
        method: 'POST',
        path: '/api/wallet/reinstate-user',
        site: siteId,
        body: { ...who, site_id: siteId, ...(reason === undefined ? {} : { reason }) },
      })}
      toCli={(reason) => toCli(['reinstate', name ?? ppid], { site: siteId, reason })}
      onDone={({ seq }) => {
        showNotice(say('Reinstated as entry {seq}', { seq }))
        onClose()
      }}
      onClose={onClose}
    >
      <p>
        {say(
          '{name} can be given new credentials again. Credentials and tokens that ended with the revocation stay revoked: the user needs new ones.',
          { name: <strong>{name ?? ppid}</strong> },
        )}
      </p>
    </ActSheet>
  )
}
