import { number, text } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { type Person, peopleById, person } from './people.ts'
import { consoleLock } from './shared/console-lock.ts'
import {
  type ConsoleSession,
  insertSession,
  type NewConsoleSession,
  toSession,
} from './shared/console-rows.ts'
import { GRANTING_LOCK } from './shared/granting-rows.ts'
import { insertRow, intact, intactPage, isIntact, updateRow } from './shared/mac-rows.ts'
import { padList } from './shared/pad-list.ts'
import { mayChangePeople } from './shared/person-rows.ts'
import { recordAudit } from './shared/record-audit.ts'

export type { ConsoleSession, NewConsoleSession } from './shared/console-rows.ts'

/** A one-time link with which a person signs in. */
export interface NewConsoleLink {
  readonly sha256: string
  readonly personId: string
  readonly expiresAtMs: number
}

/**
 * Creates a link, and ends the links that the person had before. `no_person` unless there is such a
 * person, and is active; `not_operator` when the person who acts is no longer an operator.
 */
export function* createConsoleLink(
  link: NewConsoleLink,
  context: AuditContext,
): Transaction<'created' | 'no_person' | 'not_operator'> {
  const { sha256, personId, expiresAtMs } = link
  yield* lock(GRANTING_LOCK, consoleLock(personId))
  if (!(yield* mayChangePeople(context))) return 'not_operator'
  if ((yield* person(personId))?.status !== 'active') return 'no_person'
  yield* exec('DELETE FROM console_links WHERE person_id = $1', personId)
  yield* insertRow('console_links', { sha256, person_id: personId, expires_at: expiresAtMs })
  yield* recordAudit({ siteId: null, action: 'person.link', target: personId, context })
  return 'created'
}

/**
 * Uses a link, once, and opens a session for its person. `replaced` is the session that the browser
 * had before, which ends. With more than `sessionsMax` sessions of the person, the oldest ends.
 * Undefined when the link is unknown, expired or used, or its person was ended.
 */
export function* openConsoleSession(
  linkSha256: string,
  session: NewConsoleSession,
  replaced: string | undefined,
  sessionsMax: number,
  { atMs, requestId }: Pick<AuditContext, 'atMs' | 'requestId'>,
): Transaction<{ readonly session: ConsoleSession; readonly person: Person } | undefined> {
  const named = yield* row('SELECT person_id FROM console_links WHERE sha256 = $1', linkSha256)
  if (named === undefined) return undefined
  const personId = text(named, 'person_id')
  yield* lock(consoleLock(personId))
  const used = yield* row(
    'UPDATE console_links SET used_at = $2 WHERE sha256 = $1 AND used_at IS NULL AND expires_at > $2 RETURNING *',
    linkSha256,
    atMs,
  )
  if ((yield* intact('console_links', used)) === undefined || used?.person_id !== personId) return undefined
  const owner = yield* person(personId)
  if (owner?.status !== 'active') return undefined
  const context = { actor: `person:${personId}`, atMs, requestId }
  const created = yield* insertSession(
    { ...session, personId, door: 'link', createdAtMs: atMs, seenAtMs: atMs },
    { replaced, sessionsMax, context },
  )
  const detail = { door: 'link' }
  yield* recordAudit({ siteId: null, action: 'session.open', target: session.sessionId, detail, context })
  return { session: created, person: owner }
}

/**
 * A session with its person. Undefined for one that the service did not write, has ended or is of a
 * person who was ended. The caller checks the times.
 */
export const consoleSession = read(function* (
  sha256: string,
): Transaction<{ readonly session: ConsoleSession; readonly person: Person } | undefined> {
  const found = yield* row('SELECT * FROM console_sessions WHERE sha256 = $1', sha256)
  const kept = yield* intact('console_sessions', found)
  if (kept === undefined) return undefined
  const owner = yield* person(text(kept, 'person_id'))
  const session = toSession(kept)
  return owner !== undefined && isValid(session, owner) ? { session, person: owner } : undefined
})

/** The same for several sessions. What `consoleSession` would not find is missing. */
export const consoleSessionsBySha256 = read(function* (
  sha256s: readonly string[],
): Transaction<readonly { readonly session: ConsoleSession; readonly person: Person }[]> {
  if (sha256s.length === 0) return []
  const asked = padList(sha256s)
  const found = yield* rows(
    `SELECT * FROM console_sessions WHERE sha256 IN (${asked.map((_, i) => `$${i + 1}`).join(', ')})`,
    ...asked,
  )
  const sessions: ConsoleSession[] = []
  for (const each of found) if (yield* isIntact('console_sessions', each)) sessions.push(toSession(each))
  const owners = yield* peopleById([...new Set(sessions.map(({ personId }) => personId))])
  const byId = new Map(owners.map((owner) => [owner.personId, owner]))
  return sessions.flatMap((session) => {
    const owner = byId.get(session.personId)
    return owner !== undefined && isValid(session, owner) ? [{ session, person: owner }] : []
  })
})

/**
 * A copy of a row that was deleted when the person was ended may be put back after the person is
 * active again. The time of the end is covered by the MAC of the person.
 */
function isValid({ createdAtMs }: ConsoleSession, { status, endedAtMs = -1 }: Person): boolean {
  return status === 'active' && createdAtMs > endedAtMs
}

/** Records that a session was used. */
export function* touchConsoleSession(sha256: string, seenAtMs: number): Transaction<void> {
  const found = yield* row('SELECT * FROM console_sessions WHERE sha256 = $1', sha256)
  if (found === undefined) return
  yield* lock(consoleLock(text(found, 'person_id')))
  const current = yield* row('SELECT * FROM console_sessions WHERE sha256 = $1', sha256)
  const kept = yield* intact('console_sessions', current)
  if (kept === undefined || number(kept, 'seen_at') >= seenAtMs) return
  yield* updateRow('console_sessions', kept, { seen_at: seenAtMs })
}

/** Ends a session of that person. False when there is none of that name. */
export function* endConsoleSession(
  personId: string,
  sessionId: string,
  context: AuditContext,
): Transaction<boolean> {
  yield* lock(consoleLock(personId))
  const gone = yield* row(
    'DELETE FROM console_sessions WHERE person_id = $1 AND session_id = $2 RETURNING session_id',
    personId,
    sessionId,
  )
  if (gone === undefined) return false
  const detail = { person: personId }
  yield* recordAudit({ siteId: null, action: 'session.end', target: sessionId, detail, context })
  return true
}

/** The sessions of a person by id, which is the order in which they were opened. */
export const consoleSessions = read(function* (
  personId: string,
  page: Page,
): Transaction<readonly ConsoleSession[]> {
  const loadPage = (after: string, limit: number) =>
    rows(
      'SELECT * FROM console_sessions WHERE person_id = $1 AND session_id > $2 ORDER BY session_id LIMIT $3',
      personId,
      after,
      limit,
    )
  const toName = (found: Row) => text(found, 'session_id')
  return (yield* intactPage('console_sessions', page, loadPage, toName)).map(toSession)
})
