import type { CutOff, ErasedUser } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { toCli } from '../api/command.ts'
import { mayAdminister, mayRevoke } from '../api/session.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { showNotice } from '../components/notice.ts'
import { showCutOff } from '../revoke/cut-off-receipt.ts'
import { auditPath, open } from '../router.ts'
import { say, sayCount, sayList } from '../say.ts'
import { closeSheet, openSheet, sheet } from '../sheet-place.ts'
import type { SiteProps } from '../site-props.ts'

interface UserActsProps extends SiteProps {
  readonly ppid: string
  /** What was typed. It names all ids of the user. */
  readonly name: string | undefined
}

/** What can be done to a user beside revoking, as far as the role allows it. */
export function UserActs(props: UserActsProps): JSX.Element {
  const { siteId, ppid } = props
  const { act } = sheet.value
  const items: readonly MenuItem[] = [
    ...(mayRevoke(siteId) ? [{ title: say('Sign out everywhere'), run: () => openSheet('sign-out') }] : []),
    { title: say('Show the audit rows'), run: () => open(auditPath(siteId, ppid)) },
    ...(mayAdminister(siteId)
      ? [{ title: say('Erase personal data'), isDanger: true, run: () => openSheet('erase') }]
      : []),
  ]
  return (
    <>
      <Menu class="icon-button" name={say('More actions')} label="⋯" items={items} />
      {mayRevoke(siteId) && act === 'sign-out' && <SignOut {...props} />}
      {mayAdminister(siteId) && act === 'erase' && <Erase {...props} />}
    </>
  )
}

function SignOut({ siteId, ppid, name }: UserActsProps): JSX.Element {
  const user = name === undefined ? { ppid } : { user_ref: name }
  return (
    <ActSheet<CutOff>
      title={say('Sign out everywhere')}
      siteId={siteId}
      verb={say('Sign the user out')}
      busyVerb={say('Signing out…')}
      ends={{ type: 'sign_out_user', ...user }}
      toRequest={(reason) => ({
        method: 'POST',
        path: '/api/wallet/sign-out-user',
        site: siteId,
        body: { ...user, site_id: siteId, reason },
      })}
      toCli={(reason) => toCli(['sign-out-user', name ?? ppid], { site: siteId, yes: true, reason })}
      onDone={(answer, sent) => {
        closeSheet()
        const words = { title: name ?? say('User'), subject: say('This sign-out'), done: say('Signed out') }
        showCutOff(siteId, words, answer, sent)
      }}
      onClose={closeSheet}
    >
      <p>{say('Everything that was issued to the user until now ends. The user can sign in again.')}</p>
    </ActSheet>
  )
}

function Erase({ siteId, ppid, name }: UserActsProps): JSX.Element {
  const user = name === undefined ? { ppid } : { user_ref: name }
  return (
    <ActSheet<ErasedUser>
      title={say('Erase personal data')}
      siteId={siteId}
      verb={say('Erase the data')}
      busyVerb={say('Erasing…')}
      isEnding
      ends={{ type: 'sign_out_user', ...user }}
      typedName={ppid.slice(-8)}
      toRequest={() => ({
        method: 'POST',
        path: `/api/sites/${siteId}/users/erase`,
        site: siteId,
        body: user,
      })}
      toCli={() => toCli(['users', 'erase', name ?? ppid], { site: siteId, yes: true })}
      hasReason={false}
      onDone={({ credentials, tokens, audit_rows }) => {
        closeSheet()
        const counts = [
          sayCount(credentials, '{count} credential', '{count} credentials'),
          sayCount(tokens, '{count} token', '{count} tokens'),
          sayCount(audit_rows, '{count} audit row', '{count} audit rows'),
        ]
        showNotice(say('Erased: {counts}.', { counts: sayList(counts) }))
      }}
      onClose={closeSheet}
    >
      <p>
        {say(
          'The user is signed out, and the known credentials, tokens, offers and sign-ins are removed, also the person from the audit log. The log keeps the ids, so that revocations stay in effect.',
        )}
      </p>
    </ActSheet>
  )
}
