import type { KnownCredential, KnownUser, UserDetail } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { mayRevoke } from '../api/session.ts'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Pill, StateMark } from '../components/state.tsx'
import { entriesSeen } from '../live.ts'
import { describe, startRevoke } from '../revoke/state.ts'
import { place, sitePath } from '../router.ts'
import { formatMoment } from '../time.ts'

const WORDS: Readonly<Record<string, string>> = {
  'user.revoked': 'Revoked',
  'user.reinstated': 'Reinstated',
  'user.signed_out': 'Signed out',
}

function UserStatus({ status }: Pick<KnownUser, 'status'>): JSX.Element {
  return status === 'revoked' ? <Pill tone="bad">Revoked</Pill> : <Pill tone="good">Active</Pill>
}

export function Users({ siteId }: { readonly siteId: string }): JSX.Element {
  const { id } = place.value
  if (id !== undefined) return <User key={id} siteId={siteId} ppid={id} />
  return (
    <List<KnownUser>
      title="Users"
      about="Users who were revoked, reinstated or signed out. Search for any other user by name."
      siteId={siteId}
      path={`/api/sites/${siteId}/users`}
      isLive
      filters={[
        {
          name: 'status',
          label: 'Status',
          values: [
            ['', 'All'],
            ['revoked', 'Revoked'],
            ['active', 'Active'],
          ],
        },
      ]}
      toKey={({ ppid }) => ppid}
      toHref={({ ppid }) => sitePath(siteId, 'users', ppid)}
      columns={[
        { title: 'User', cell: ({ ppid }) => <Id value={ppid} /> },
        { title: 'Status', cell: ({ status }) => <UserStatus status={status} /> },
        { title: 'Reason', cell: ({ reason }) => reason ?? '–', isExtra: true },
        {
          title: 'Last change',
          cell: ({ last_entry }) => `${WORDS[last_entry.kind]}, entry ${last_entry.seq}`,
          isExtra: true,
        },
        { title: 'Time', cell: ({ last_entry }) => formatMoment(last_entry.at), isNumber: true },
      ]}
      empty={{
        sentence: 'No user of this site was ever revoked.',
        command: `countersign revoke-user alice --site ${siteId} --reason 'a try'`,
      }}
    />
  )
}

function User({ siteId, ppid }: { readonly siteId: string; readonly ppid: string }): JSX.Element {
  const [user, setUser] = useState<UserDetail>()
  const [fault, setFault] = useState<string>()
  const seen = entriesSeen.value
  useEffect(() => {
    call<UserDetail>(`/api/sites/${siteId}/users/${encodeURIComponent(ppid)}`, { site: siteId }).then(
      setUser,
      (thrown) => setFault(describe(thrown)),
    )
  }, [siteId, ppid, seen])
  return (
    <>
      <p class="meta">
        <a href={sitePath(siteId, 'users')}>Users</a>
      </p>
      <div class="title">
        <h1>
          <Id value={ppid} copy />
        </h1>
        {user !== undefined && mayRevoke(siteId) && user.status === 'active' && (
          <button type="button" class="danger" onClick={() => startRevoke(siteId, ppid)}>
            Revoke access
          </button>
        )}
      </div>
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {user !== undefined && <Facts user={user} />}
      <h2 class="over">Credentials</h2>
      <Credentials siteId={siteId} ppid={ppid} />
      {user !== undefined && user.history.length > 0 && (
        <>
          <h2 class="over">History</h2>
          <ol class="card timeline">
            {user.history.map(({ seq, kind, at, reason }) => (
              <li key={seq}>
                <StateMark
                  tone={kind === 'user.revoked' ? 'bad' : kind === 'user.reinstated' ? 'good' : 'none'}
                />
                <span>
                  <strong>{WORDS[kind]}</strong> as <a href={sitePath(siteId, 'log')}>entry {seq}</a>
                  {reason !== null && <span class="meta"> {reason}</span>}
                </span>
                <time dateTime={at}>{formatMoment(at)}</time>
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  )
}

function Facts({ user }: { readonly user: UserDetail }): JSX.Element {
  const count = ({ count: n, complete }: UserDetail['tokens']) => (complete ? String(n) : `more than ${n}`)
  return (
    <dl class="card facts">
      <div>
        <dt>Status</dt>
        <dd>
          <UserStatus status={user.status} />
        </dd>
      </div>
      {user.revoked_at !== null && (
        <div>
          <dt>Since</dt>
          <dd>{formatMoment(user.revoked_at)}</dd>
        </div>
      )}
      {user.reason !== null && (
        <div>
          <dt>Reason</dt>
          <dd>{user.reason}</dd>
        </div>
      )}
      <div>
        <dt>Active credentials</dt>
        <dd>{count(user.credentials)}</dd>
      </div>
      <div>
        <dt>Live tokens</dt>
        <dd>{count(user.tokens)}</dd>
      </div>
    </dl>
  )
}

function Credentials({ siteId, ppid }: { readonly siteId: string; readonly ppid: string }): JSX.Element {
  const [items, setItems] = useState<readonly KnownCredential[]>()
  const seen = entriesSeen.value
  useEffect(() => {
    const query = { ppid, limit: 20 }
    call<{ items: readonly KnownCredential[] }>(`/api/sites/${siteId}/credentials`, {
      site: siteId,
      query,
    }).then(
      (page) => setItems(page.items),
      () => {},
    )
  }, [siteId, ppid, seen])
  if (items?.length === 0) return <p class="meta">This service knows no credential of the user.</p>
  return (
    <ul class="card timeline">
      {items?.map(({ credential_id, status, scope, expires_at }) => (
        <li key={credential_id}>
          <a href={sitePath(siteId, 'credentials', credential_id)}>
            <Id value={credential_id} />
          </a>
          <span class="meta">{scope.join(', ')}</span>
          <Pill tone={status === 'active' ? 'good' : status === 'revoked' ? 'bad' : 'none'}>{status}</Pill>
          <time dateTime={expires_at}>until {formatMoment(expires_at)}</time>
        </li>
      ))}
    </ul>
  )
}
