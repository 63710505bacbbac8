import type { ListedSession } from '@countersign/core/contract'
import { endSession as end, openSession as open } from '../../actions/console-sessions.ts'
import { findSessionSecret, toEndedCookie, toSessionCookie } from '../../http/console-place.ts'
import { Problem } from '../../problem.ts'
import type { Route } from '../../route.ts'
import type { ConsoleSession } from '../../store/operations/console-sessions.ts'
import { answerPage } from '../shared/paging.ts'
import { personContext, requirePersonId, requireSignedIn, toCurrent, toMembers } from './signed-in.ts'

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
  const { session } = requireSignedIn(request)
  // A stolen session could otherwise keep every other person from acting.
  if (personId !== session.personId && session.elevatedUntilMs <= deps.clock.nowMs())
    throw new Problem('step_up_required')
  await end(deps, personId, params.session_id, personContext(request, deps))
  return { status: 204 }
}
