import type { ListedSession } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { send } from '../api/call.ts'
import { signOut } from '../api/session.ts'
import { Fault } from '../components/fault.tsx'
import { showNotice } from '../components/notice.ts'
import { Pill } from '../components/state.tsx'
import { describe } from '../revoke/state.ts'
import { say } from '../say.ts'
import { formatMoment } from '../time.ts'
import { useOwnList } from './load-list.ts'

/** How a session was opened. */
export const doorWords: Readonly<Record<string, string>> = {
  link: say('Signed in with a link'),
  passkey: say('Signed in with a passkey'),
  oidc: say('Signed in with the identity provider'),
}

/** Where the person is signed in. */
export function Sessions(): JSX.Element {
  const { items, fault: loadFault, reload } = useOwnList<ListedSession>('/console/sessions')
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const run = async (act: () => Promise<void>) => {
    setBusy(true)
    setFault(undefined)
    try {
      await act()
    } catch (thrown) {
      setFault(describe(thrown))
    }
    setBusy(false)
  }
  const end = (sessionId: string) => send(`/console/sessions/${sessionId}`, { method: 'DELETE' })
  const endOne = (sessionId: string) =>
    run(async () => {
      await end(sessionId)
      showNotice(say('The session was ended.'))
      await reload()
    })
  /** This one last, so that a fault leaves a way to try again. */
  const endAll = () =>
    run(async () => {
      for (const { session_id, current } of items ?? []) if (!current) await end(session_id)
      await signOut()
    })
  return (
    <section class="card" aria-labelledby="sessions">
      <header class="card-head">
        <div>
          <h2 id="sessions">{say('Sessions')}</h2>
          <p class="meta">{say('A session ends on every node within two seconds.')}</p>
        </div>
        {items !== undefined && (
          <button type="button" class="danger" disabled={isBusy} onClick={() => void endAll()}>
            {say('Sign out everywhere')}
          </button>
        )}
      </header>
      <Fault text={fault} />
      <Fault text={loadFault} onRetry={() => void reload()} />
      <ul class="own-list">
        {items?.map(({ session_id, door, created_at, seen_at, current }) => (
          <li key={session_id}>
            <span class="two-lines">
              <strong>{doorWords[door] ?? door}</strong>
              <span class="meta">
                {say('{time}, last used {used}', {
                  time: formatMoment(created_at),
                  used: formatMoment(seen_at),
                })}
              </span>
            </span>
            {current ? (
              <Pill tone="good">{say('This session')}</Pill>
            ) : (
              <button
                type="button"
                disabled={isBusy}
                aria-label={say('End the session of {time}', { time: formatMoment(created_at) })}
                onClick={() => void endOne(session_id)}
              >
                {say('End')}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
