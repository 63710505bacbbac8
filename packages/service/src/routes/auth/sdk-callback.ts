import { finishSignIn } from '../../actions/finish-sign-in.ts'
import type { RouteAnswer } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import { Problem } from '../../problem.ts'
import type { Route, RouteRequest } from '../../route.ts'
import { endedCookie, heldBrowser } from './browser-cookie.ts'
import { returnUrlWith } from './return-url.ts'
import { withWayBack } from './with-way-back.ts'

/** GET: the browser on its way back. */
export const signInCallback: Route<'sign_in_callback'> = (request, deps) =>
  comeBack(request, request.query, deps)

/** POST: the same as a form. */
export const signInCallbackByForm: Route<'sign_in_callback_by_form'> = (request, deps) =>
  comeBack(request, request.body, deps)

async function comeBack(
  request: Pick<RouteRequest, 'lines' | 'requestId'>,
  { state, payload }: RouteRequest<'sign_in_callback'>['query'],
  deps: Deps,
): Promise<RouteAnswer> {
  const { baseUrl } = deps.config
  return withWayBack(request, state, deps, async () => {
    const browser = heldBrowser(request, state, baseUrl)
    if (browser === undefined) throw new Problem('state_invalid')
    const finished = await finishSignIn(deps, { state, browser, payload })
    return {
      status: 303,
      headers: { location: returnUrlWith(finished, baseUrl), 'set-cookie': endedCookie(state, baseUrl) },
    }
  })
}
