import type { KnownUser } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { toCli } from '../api/command.ts'
import { mayRevoke } from '../api/session.ts'
import { Fault } from '../components/fault.tsx'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Status } from '../components/status.tsx'
import { RevokeRow, SelectionBar, selectionColumn, useSelection } from '../revoke/selection.tsx'
import { describe, resolveUser, typedName } from '../revoke/state.ts'
import { open, place, sitePath } from '../router.ts'
import { say } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatMoment } from '../time.ts'
import { User } from '../users/user.tsx'
import { UsersWithCredentials } from '../users/with-credentials.tsx'
import { ENTRY_WORDS } from '../users/words.ts'

export function Users({ siteId }: SiteProps): JSX.Element {
  const { id } = place.value
  return id === undefined ? <UserList siteId={siteId} /> : <User key={id} siteId={siteId} ppid={id} />
}

function UserList({ siteId }: SiteProps): JSX.Element {
  const selection = useSelection<KnownUser>(({ ppid, status }) =>
    status === 'active' ? { ppid } : undefined,
  )
  const path = `/api/sites/${siteId}/users`
  const hasRows = mayRevoke(siteId)
  return (
    <>
      <List<KnownUser>
        title={say('Users')}
        about={say('Users who were revoked, reinstated or signed out. Find any other user by name.')}
        siteId={siteId}
        path={path}
        isLive
        toCli={({ status }) => toCli(['users', 'list'], { site: siteId, status })}
        filters={[
          {
            name: 'status',
            label: say('Status'),
            values: [
              ['', say('All')],
              ['active', say('Active')],
              ['revoked', say('Revoked')],
            ],
          },
        ]}
        toKey={({ ppid }) => ppid}
        toHref={({ ppid }) => sitePath(siteId, 'users', ppid)}
        onItems={selection.setItems}
        columns={[
          ...(hasRows ? [selectionColumn(selection, ({ ppid }: KnownUser) => ppid)] : []),
          { title: say('User'), cell: ({ ppid }) => <UserName ppid={ppid} /> },
          { title: say('Status'), cell: ({ status }) => <Status status={status} /> },
          { title: say('Reason'), cell: ({ reason }) => reason ?? '–', isExtra: true },
          {
            title: say('Last change'),
            cell: ({ last_entry }) =>
              say('{what}, entry {seq}', {
                what: ENTRY_WORDS[last_entry.kind],
                seq: last_entry.seq,
              }),
            isExtra: true,
          },
          { title: say('Time'), cell: ({ last_entry }) => formatMoment(last_entry.at), isNumber: true },
        ]}
        {...(hasRows && {
          rowActions: ({ ppid, status }: KnownUser) =>
            status === 'active' ? (
              <RevokeRow siteId={siteId} target={{ kind: 'user', id: ppid, name: typedName(ppid) }} />
            ) : null,
        })}
        empty={{
          sentence: place.value.query.has('status')
            ? say('No user has this status.')
            : say('No user has been revoked, reinstated or signed out yet.'),
          command: toCli(['revoke-user', 'alice'], { site: siteId, reason: 'left the company' }),
        }}
      >
        <FindUser siteId={siteId} />
      </List>
      <UsersWithCredentials siteId={siteId} />
      {hasRows && (
        <SelectionBar
          selection={selection}
          siteId={siteId}
          noun="users"
          path={path}
          query={{ status: place.value.query.get('status') ?? undefined }}
        />
      )}
    </>
  )
}

/** The name that was typed in this tab, if there is one; otherwise the id. */
function UserName({ ppid }: { readonly ppid: string }): JSX.Element {
  const name = typedName(ppid)
  return name === undefined ? (
    <Id value={ppid} />
  ) : (
    <>
      <strong>{name}</strong> <Id value={ppid} />
    </>
  )
}

/** By the name that the company uses. It is sent in a body, and is in no address. */
function FindUser({ siteId }: SiteProps): JSX.Element {
  const [text, setText] = useState('')
  const [fault, setFault] = useState<string>()
  const find = async () => {
    try {
      open(sitePath(siteId, 'users', (await resolveUser(siteId, text.trim())).id))
    } catch (thrown) {
      setFault(describe(thrown))
    }
  }
  return (
    <search>
      <form
        class="find-user"
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== '') void find()
        }}
      >
        <label>
          <span class="visually-hidden">{say('User name or ppid')}</span>
          <input
            type="search"
            maxLength={256}
            autocomplete="off"
            spellcheck={false}
            placeholder={say('User name or ppid_…')}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="large" disabled={text.trim() === ''}>
          {say('Find user')}
        </button>
      </form>
      <Fault text={fault} />
    </search>
  )
}
