import type { ListedSession, Passkey, Person } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { send } from '../api/call.ts'
import { Sheet } from '../components/act-sheet.tsx'
import { Fault } from '../components/fault.tsx'
import { showNotice } from '../components/notice.ts'
import { describe } from '../revoke/state.ts'
import { say } from '../say.ts'
import { closeSheet } from '../sheet-place.ts'
import { formatMoment } from '../time.ts'
import { useOwnList } from './load-list.ts'
import { doorWords } from './own-sessions.tsx'
import { withStepUp } from './step-up.tsx'

/** Where another person is signed in, and with which passkeys. For operators, who can end each. */
export function SignInsSheet({ chosen }: { readonly chosen: Person }): JSX.Element {
  const { person_id, name } = chosen
  return (
    <Sheet title={say('Sessions and passkeys')} onClose={closeSheet}>
      <div class="body">
        <p class="lead">
          <strong>{name}</strong>
        </p>
        <Part<ListedSession>
          title={say('Sessions')}
          path="/console/sessions"
          personId={person_id}
          none={say('Not signed in now.')}
          verb={say('End')}
          done={say('The session was ended.')}
          toId={({ session_id }) => session_id}
          toTitle={({ door }) => doorWords[door] ?? door}
          toText={({ created_at, seen_at }) =>
            say('{time}, last used {used}', { time: formatMoment(created_at), used: formatMoment(seen_at) })
          }
        />
        <Part<Passkey>
          title={say('Passkeys')}
          path="/console/passkeys"
          personId={person_id}
          none={say('No passkey.')}
          verb={say('Remove')}
          done={say('The passkey was removed, and sessions that it opened have ended.')}
          toId={({ passkey_id }) => passkey_id}
          toTitle={(passkey) => passkey.name}
          toText={({ created_at, last_used_at }) =>
            last_used_at === null
              ? say('Added {time}, not used yet', { time: formatMoment(created_at) })
              : say('Added {time}, last used {used}', {
                  time: formatMoment(created_at),
                  used: formatMoment(last_used_at),
                })
          }
        />
        <p class="meta">
          {say(
            'A session ends on every node within two seconds. The person keeps their roles and can sign in again: use “End access” to prevent that.',
          )}
        </p>
      </div>
      <footer>
        <span class="grow" />
        <button type="button" data-first="" onClick={closeSheet}>
          {say('Close')}
        </button>
      </footer>
    </Sheet>
  )
}

interface PartProps<Item> {
  readonly title: string
  readonly path: string
  readonly personId: string
  readonly none: string
  readonly verb: string
  readonly done: string
  readonly toId: (item: Item) => string
  readonly toTitle: (item: Item) => string
  readonly toText: (item: Item) => string
}

function Part<Item>(props: PartProps<Item>): JSX.Element {
  const { title, path, personId, none, verb, done, toId, toTitle, toText } = props
  const { items, fault: loadFault, reload } = useOwnList<Item>(path, personId)
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const end = async (id: string) => {
    setBusy(true)
    setFault(undefined)
    try {
      await withStepUp(() =>
        send(`${path}/${encodeURIComponent(id)}`, { method: 'DELETE', query: { person_id: personId } }),
      )
      showNotice(done)
      await reload()
    } catch (thrown) {
      setFault(describe(thrown))
    }
    setBusy(false)
  }
  return (
    <section>
      <h3>{title}</h3>
      <Fault text={fault} />
      <Fault text={loadFault} onRetry={() => void reload()} />
      {items?.length === 0 && <p class="meta">{none}</p>}
      <ul class="own-list">
        {items?.map((item) => (
          <li key={toId(item)}>
            <span class="two-lines">
              <strong>{toTitle(item)}</strong>
              <span class="meta">{toText(item)}</span>
            </span>
            <button
              type="button"
              class="danger"
              disabled={isBusy}
              aria-label={`${verb}: ${toTitle(item)}, ${toText(item)}`}
              onClick={() => void end(toId(item))}
            >
              {verb}
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
