import { number, text } from '../../columns.ts'
import { type Row, rows, type Transaction } from '../../transaction.ts'
import type { AuditContext } from '../audit.ts'
import { insertRow } from './mac-rows.ts'
import { recordAudit } from './record-audit.ts'

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

/** How a session is opened besides what the row says. */
export interface SessionOrder {
  /** The hash of the session that the browser had before, which ends. */
  readonly replaced: string | undefined
  /** With more sessions of the person, the oldest ends. */
  readonly sessionsMax: number
  /** The session at the identity provider. */
  readonly providerSid?: string | undefined
  readonly context: AuditContext
}

/**
 * Writes a session. Each session that ends because of it has a row in the audit. The caller has
 * locked `consoleLock`, and knows that the person is active.
 */
export function* insertSession(
  session: ConsoleSession,
  { replaced, sessionsMax, providerSid, context }: SessionOrder,
): Transaction<ConsoleSession> {
  const { personId } = session
  if (replaced !== undefined) {
    const gone = yield* rows(
      'DELETE FROM console_sessions WHERE sha256 = $1 RETURNING session_id, person_id',
      replaced,
    )
    yield* recordEnds(gone, 'replaced', context)
  }
  const oldest = yield* rows(
    `DELETE FROM console_sessions WHERE person_id = $1 AND session_id NOT IN
       (SELECT session_id FROM console_sessions WHERE person_id = $1 ORDER BY session_id DESC LIMIT $2) RETURNING session_id, person_id`,
    personId,
    sessionsMax - 1,
  )
  yield* recordEnds(oldest, 'limit', context)
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

function* recordEnds(
  ended: readonly Row[],
  reason: 'replaced' | 'limit',
  context: AuditContext,
): Transaction<void> {
  for (const each of ended) {
    const [target, detail] = [text(each, 'session_id'), { person: text(each, 'person_id') }]
    yield* recordAudit({ siteId: null, action: 'session.end', target, reason, detail, context })
  }
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
