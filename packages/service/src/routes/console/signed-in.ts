import { formatTime } from '@countersign/core'
import { type CurrentSession, type ListedSession, sessionDoors } from '@countersign/core/contract'
import type { Deps } from '../../deps.ts'
import type { SignedIn } from '../../keys/console-sessions.ts'
import { Problem } from '../../problem.ts'
import type { RouteRequest } from '../../route.ts'
import type { AuditContext } from '../../store/operations/audit.ts'
import type { ConsoleSession } from '../../store/operations/console-sessions.ts'

/** The pipeline answers requests without a session. */
export function requireSignedIn({ signedIn }: Pick<RouteRequest, 'signedIn'>): SignedIn {
  if (signedIn === undefined) throw new TypeError('a request without a session has reached the route')
  return signedIn
}

/**
 * The person whose sessions or passkeys are meant. Throws `role_insufficient` for another one,
 * except to operators.
 */
export function requirePersonId(request: Pick<RouteRequest, 'signedIn'>, asked: string | undefined): string {
  const { person } = requireSignedIn(request)
  const isOwn = asked === undefined || asked === person.personId
  if (isOwn || person.roles.some(({ role }) => role === 'operator')) return asked ?? person.personId
  throw new Problem(
    'role_insufficient',
    'Only operators see and end the sessions and passkeys of other people.',
  )
}

export function personContext(
  request: Pick<RouteRequest, 'signedIn' | 'requestId'>,
  { clock }: Pick<Deps, 'clock'>,
): AuditContext {
  const { person } = requireSignedIn(request)
  return { actor: `person:${person.personId}`, atMs: clock.nowMs(), requestId: request.requestId }
}

export function toCurrent({ session, person }: SignedIn, { clock, demoVerifiers }: Deps): CurrentSession {
  const isOperator = person.roles.some(({ role }) => role === 'operator')
  return {
    person_id: person.personId,
    name: person.name,
    roles: person.roles.map(({ siteId, role }) => ({ site_id: siteId, role })),
    sites: isOperator ? null : person.roles.flatMap(({ siteId }) => (siteId === null ? [] : [siteId])),
    has_demo_verifiers: demoVerifiers !== undefined,
    ...toMembers(session, clock.nowMs()),
  }
}

export function toMembers(session: ConsoleSession, nowMs: number): Omit<ListedSession, 'current'> {
  return {
    session_id: session.sessionId,
    door: sessionDoors.find((door) => session.door.split(':')[0] === door) ?? 'link',
    created_at: formatTime(session.createdAtMs),
    seen_at: formatTime(session.seenAtMs),
    expires_at: formatTime(session.expiresAtMs),
    elevated_until: session.elevatedUntilMs > nowMs ? formatTime(session.elevatedUntilMs) : null,
  }
}
