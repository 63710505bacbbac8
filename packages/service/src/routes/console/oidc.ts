import {
  finishProviderSignIn as finish,
  receiveProviderLogout as receive,
  startProviderSignIn as start,
} from '../../actions/provider-sign-in.ts'
import type { RouteAnswer } from '../../answer.ts'
import {
  findPageOrigin,
  findRoundTrip,
  findSessionSecret,
  toEndedRoundTrip,
  toRoundTripCookie,
  toSessionCookie,
} from '../../http/console-place.ts'
import { consoleProblemPage } from '../../pages/console-problem-page.ts'
import { Problem } from '../../problem.ts'
import type { Route, RouteRequest } from '../../route.ts'

/** Another site must not begin a sign-in: it would be that of the account at the provider. */
const STARTED_BY = [undefined, 'same-origin', 'none']

/** GET /console/oidc/start */
export const startProviderSignIn: Route<'start_provider_sign_in'> = (request, deps) =>
  withPage(request, {}, async () => {
    const { query, place, lines } = request
    if (!STARTED_BY.includes(lines('sec-fetch-site')?.join())) throw new Problem('csrf_invalid')
    const secret = findSessionSecret(request, place)
    const trip = {
      redirectUri: `${findPageOrigin(request, place)}/console/oidc/callback`,
      returnTo: query.return,
      isStepUp: query.step_up !== undefined,
      signedIn:
        secret === undefined ? undefined : await deps.consoleSessions.find(secret, deps.clock.nowMs()),
    }
    const { location, sealed } = await start(deps, trip, request)
    return { status: 303, headers: { location, 'set-cookie': toRoundTripCookie(sealed, place) } }
  })

/** GET /console/oidc/callback */
export const finishProviderSignIn: Route<'finish_provider_sign_in'> = (request, deps) => {
  const { query, place } = request
  const ended = toEndedRoundTrip(place)
  return withPage(request, { 'set-cookie': ended }, async () => {
    const { state, code, iss, error } = query
    const answer = { sealed: findRoundTrip(request, place), state, code, iss, error }
    const { secret, returnTo } = await finish(deps, answer, request)
    return {
      status: 303,
      headers: { location: returnTo },
      cookies: [ended, toSessionCookie(secret, place)],
    }
  })
}

/** POST /console/oidc/logout */
export const receiveProviderLogout: Route<'receive_provider_logout'> = async (request, deps) => {
  await receive(deps, request.body.logout_token, request)
  return { status: 200 }
}

/** A rejection gets the page of the console for it, and these headers. */
async function withPage(
  { requestId }: Pick<RouteRequest, 'requestId'>,
  headers: Readonly<Record<string, string>>,
  answer: () => Promise<RouteAnswer>,
): Promise<RouteAnswer> {
  try {
    return await answer()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const page = consoleProblemPage(error, requestId)
    throw new Problem(error.code, error.detail, { ...error.facts, headers, page })
  }
}
