import { number, text } from '../../columns.ts'
import { exec, type Row, type Transaction } from '../../transaction.ts'
import { insertRow } from './mac-rows.ts'

export interface NewConsoleSession {
  /** The hash of the secret in the cookie. */
  readonly sha256: string
  /** The public name of the session. */
  readonly sessionId: string
  readonly expiresAtMs: number
  readonly elevatedUntilMs: number
}

export interface ConsoleSession extends NewConsoleSession {
  readonly personId: string
  /** How the person signed in: `link`, `oidc`, or `passkey:` with the id of the passkey. */
  readonly door: string
  readonly createdAtMs: number
  readonly seenAtMs: number
}

/**
 * Writes a session. `replaced` is the one that the browser had before, which ends. With more than
 * `sessionsMax` sessions of the person, the oldest ends. `providerSid` is the session at the
 * identity provider. The caller has locked `consoleLock`, and knows that the person is active.
 */
export function* insertSession(
  session: ConsoleSession,
  replaced: string | undefined,
  sessionsMax: number,
  providerSid?: string,
): Transaction<ConsoleSession> {
  const { personId } = session
  if (replaced !== undefined) yield* exec('DELETE FROM console_sessions WHERE sha256 = $1', replaced)
  yield* exec(
    `DELETE FROM console_sessions WHERE person_id = $1 AND session_id NOT IN
       (SELECT session_id FROM console_sessions WHERE person_id = $1 ORDER BY session_id DESC LIMIT $2)`,
    personId,
    sessionsMax - 1,
  )
  yield* insertRow('console_sessions', {
    sha256: session.sha256,
    session_id: session.sessionId,
    person_id: personId,
    door: session.door,
    provider_sid: providerSid ?? null,
    created_at: session.createdAtMs,
    expires_at: session.expiresAtMs,
    seen_at: session.seenAtMs,
    elevated_until: session.elevatedUntilMs,
  })
  return session
}

export function toSession(found: Row): ConsoleSession {
  return {
    sha256: text(found, 'sha256'),
    sessionId: text(found, 'session_id'),
    personId: text(found, 'person_id'),
    door: text(found, 'door'),
    createdAtMs: number(found, 'created_at'),
    expiresAtMs: number(found, 'expires_at'),
    seenAtMs: number(found, 'seen_at'),
    elevatedUntilMs: number(found, 'elevated_until'),
  }
}
