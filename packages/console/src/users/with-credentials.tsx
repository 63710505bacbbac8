import type { KnownCredential } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { call } from '../api/call.ts'
import { useLoad } from '../api/use-load.ts'
import { Id } from '../components/id.tsx'
import { entriesSeen } from '../live.ts'
import { typedName } from '../revoke/state.ts'
import { sitePath } from '../router.ts'
import { say, sayCount } from '../say.ts'
import type { SiteProps } from '../site-props.ts'

const NEWEST = 200
const SHOWN_MAX = 12

/** Users that the log does not name: those of the newest credentials. */
export function UsersWithCredentials({ siteId }: SiteProps): JSX.Element | null {
  const { value } = useLoad(
    siteId,
    (signal) =>
      call<{ items: readonly KnownCredential[] }>(`/api/sites/${siteId}/credentials`, {
        site: siteId,
        query: { status: 'active', limit: NEWEST },
        signal,
      }),
    { again: entriesSeen.value },
  )
  const users = [...Map.groupBy(value?.items ?? [], ({ ppid }) => ppid)]
  if (users.length === 0) return null
  return (
    <section class="card flush with-credentials">
      <header>
        <h2>{say('With active credentials')}</h2>
        <a href={sitePath(siteId, 'credentials')}>{say('All')}</a>
      </header>
      <ul class="own-list">
        {users.slice(0, SHOWN_MAX).map(([ppid, credentials]) => (
          <li key={ppid}>
            <a href={sitePath(siteId, 'users', ppid)}>
              {typedName(ppid) !== undefined && <strong>{typedName(ppid)} </strong>}
              <Id value={ppid} />
            </a>
            <span class="meta">
              {sayCount(credentials.length, '{count} credential', '{count} credentials')}
            </span>
          </li>
        ))}
      </ul>
      <p class="caption">
        {users.length > SHOWN_MAX
          ? say('The first {count} of the newest credentials. Find others by name.', {
              count: SHOWN_MAX,
            })
          : say(
              'Of the newest credentials. The service stores no names: find users by those of your systems.',
            )}
      </p>
    </section>
  )
}
