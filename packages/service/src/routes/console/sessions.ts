import { formatTime } from '@countersign/core'
import type { CurrentSession, ListedSession } from '@countersign/core/contract'
import { endSession as end, openSession as open } from '../../actions/console-sessions.ts'
import type { Deps } from '../../deps.ts'
import { findSessionSecret, toEndedCookie, toSessionCookie } from '../../http/console-place.ts'
import type { SignedIn } from '../../keys/console-sessions.ts'
import { Problem } from '../../problem.ts'
import type { Route, RouteRequest } from '../../route.ts'
import type { AuditContext } from '../../store/operations/audit.ts'
import type { ConsoleSession } from '../../store/operations/console-sessions.ts'
import { answerPage } from '../shared/paging.ts'

export const openSession: Route<'open_session'> = async (request, deps) => {
  const { body, place, requestId } = request
  const nowMs = deps.clock.nowMs()
  const before = findSessionSecret(request, place)
  const { secret, ...signedIn } = await open(deps, body.link, before, { atMs: nowMs, requestId })
  return {
    status: 201,
    body: toCurrent(signedIn, deps),
    headers: { 'set-cookie': toSessionCookie(secret, place) },
  }
}

export const readSession: Route<'read_session'> = async (request, deps) => ({
  status: 200,
  body: toCurrent(requireSignedIn(request), deps),
})

export const endSession: Route<'end_session'> = async (request, deps) => {
  const { session } = requireSignedIn(request)
  await end(deps, session.personId, session.sessionId, personContext(request, deps))
  return { status: 204, headers: { 'set-cookie': toEndedCookie(request.place) } }
}

export const listSessions: Route<'list_sessions'> = async (request, deps) => {
  const { session: current } = requireSignedIn(request)
  const personId = requirePersonId(request, request.query.person_id)
  const nowMs = deps.clock.nowMs()
  const toItem = (session: ConsoleSession): ListedSession => ({
    ...toMembers(session, nowMs),
    current: session.sessionId === current.sessionId,
  })
  return answerPage(
    request,
    deps,
    `sessions ${personId}`,
    (page) => deps.store.consoleSessions(personId, page),
    ({ sessionId }) => sessionId,
    toItem,
  )
}

export const endListedSession: Route<'end_listed_session'> = async (request, deps) => {
  const { params, query } = request
  const personId = requirePersonId(request, query.person_id)
  await end(deps, personId, params.session_id, personContext(request, deps))
  return { status: 204 }
}

/** The pipeline answers requests without a session. */
function requireSignedIn({ signedIn }: Pick<RouteRequest, 'signedIn'>): SignedIn {
  if (signedIn === undefined) throw new TypeError('a request without a session has reached the route')
  return signedIn
}

/**
 * The person whose sessions are meant. Throws `role_insufficient` for another one, except to
 * operators.
 */
function requirePersonId(request: Pick<RouteRequest, 'signedIn'>, asked: string | undefined): string {
  const { person } = requireSignedIn(request)
  const isOwn = asked === undefined || asked === person.personId
  if (isOwn || person.roles.some(({ role }) => role === 'operator')) return asked ?? person.personId
  throw new Problem('role_insufficient', 'Only operators see and end the sessions of other people.')
}

function personContext(
  request: Pick<RouteRequest, 'signedIn' | 'requestId'>,
  { clock }: Pick<Deps, 'clock'>,
): AuditContext {
  const { person } = requireSignedIn(request)
  return { actor: `person:${person.personId}`, atMs: clock.nowMs(), requestId: request.requestId }
}

function toCurrent({ session, person }: SignedIn, { clock, demoVerifiers }: Deps): CurrentSession {
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

function toMembers(session: ConsoleSession, nowMs: number): Omit<ListedSession, 'current'> {
  return {
    session_id: session.sessionId,
    door: 'link',
    created_at: formatTime(session.createdAtMs),
    seen_at: formatTime(session.seenAtMs),
    expires_at: formatTime(session.expiresAtMs),
    elevated_until: session.elevatedUntilMs > nowMs ? formatTime(session.elevatedUntilMs) : null,
  }
}
