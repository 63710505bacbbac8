import { finishSignIn } from '../../actions/finish-sign-in.ts'
import type { RouteAnswer } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import { requestLanguage } from '../../pages/request-language.ts'
import { Problem } from '../../problem.ts'
import type { Route, RouteRequest } from '../../route.ts'
import { findBrowserSecret, toExpiredCookie } from '../shared/browser-cookie.ts'
import { toReturnUrl } from '../shared/return-url.ts'
import { withReturnLink } from '../shared/with-return-link.ts'

/** GET: the browser on its way back. */
export const signInCallback: Route<'sign_in_callback'> = (request, deps) =>
  answerCallback(request, request.query, deps)

/** POST: the same as a form. */
export const signInCallbackByForm: Route<'sign_in_callback_by_form'> = (request, deps) =>
  answerCallback(request, request.body, deps)

async function answerCallback(
  request: Pick<RouteRequest, 'lines' | 'requestId'>,
  { state, payload }: RouteRequest<'sign_in_callback'>['query'],
  deps: Deps,
): Promise<RouteAnswer> {
  const { baseUrl } = deps.config
  const messages = requestLanguage(request.lines)
  return withReturnLink({ ...request, messages }, state, deps, async () => {
    const browser = findBrowserSecret(request, state, baseUrl)
    if (browser === undefined) throw new Problem('state_invalid')
    const finished = await finishSignIn(deps, { state, browser, payload })
    return {
      status: 303,
      headers: { location: toReturnUrl(finished, baseUrl), 'set-cookie': toExpiredCookie(state, baseUrl) },
    }
  })
}
