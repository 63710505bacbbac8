import type { CredentialDetail } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { shorten } from '../components/id.tsx'
import { say } from '../say.ts'

const SHOWN_MAX = 8

interface Branch {
  readonly id: string
  readonly scope: readonly string[]
  readonly isDelegated: boolean
  readonly children: readonly Branch[]
}

interface EndingTreeProps {
  readonly siteId: string
  readonly ids: readonly string[]
}

/** The credentials that end, each below the one that it was delegated from. */
export function EndingTree({ siteId, ids }: EndingTreeProps): JSX.Element | null {
  const [details, setDetails] = useState<readonly CredentialDetail[]>([])
  const key = ids.join(' ')
  useEffect(() => {
    const stop = new AbortController()
    const load = (id: string) =>
      call<CredentialDetail>(`/api/sites/${siteId}/credentials/${encodeURIComponent(id)}`, {
        site: siteId,
        signal: stop.signal,
      }).catch(() => undefined)
    Promise.all(ids.slice(0, SHOWN_MAX).map(load)).then((found) => {
      if (!stop.signal.aborted) setDetails(found.filter((each) => each !== undefined))
    })
    return () => stop.abort()
  }, [siteId, key])
  if (ids.length === 0) return null
  return (
    <div class="ending">
      <Branches
        branches={details.length === 0 ? ids.slice(0, SHOWN_MAX).map(toPlain) : toBranches(details)}
      />
      {ids.length > SHOWN_MAX && (
        <p class="meta">{say('and {count} more', { count: ids.length - SHOWN_MAX })}</p>
      )}
    </div>
  )
}

function Branches({ branches }: { readonly branches: readonly Branch[] }): JSX.Element {
  return (
    <ul>
      {branches.map(({ id, scope, isDelegated, children }) => (
        <li key={id}>
          <div>
            <code title={id}>{shorten(id)}</code>
            {isDelegated && <span class="meta">{say('delegated')}</span>}
            <span class="scope">{scope.join(', ')}</span>
          </div>
          {children.length > 0 && <Branches branches={children} />}
        </li>
      ))}
    </ul>
  )
}

function toPlain(id: string): Branch {
  return { id, scope: [], isDelegated: false, children: [] }
}

function toBranches(details: readonly CredentialDetail[]): readonly Branch[] {
  const ids = new Set(details.map(({ credential_id }) => credential_id))
  const toParent = ({ parents }: CredentialDetail) => parents[0]?.credential_id
  const toBranch = (detail: CredentialDetail): Branch => ({
    id: detail.credential_id,
    scope: detail.scope,
    isDelegated: detail.parents.length > 0,
    children: details.filter((each) => toParent(each) === detail.credential_id).map(toBranch),
  })
  return details
    .filter((detail) => {
      const parent = toParent(detail)
      return parent === undefined || !ids.has(parent)
    })
    .map(toBranch)
}
