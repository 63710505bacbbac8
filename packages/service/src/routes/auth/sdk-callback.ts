import { problems } from '@countersign/core/contract'
import { type FinishedSignIn, finishSignIn } from '../../actions/finish-sign-in.ts'
import type { Deps } from '../../deps.ts'
import { Problem } from '../../problem.ts'
import type { Route, RouteAnswer, RouteRequest } from '../route.ts'
import { endedCookie, heldBrowser } from './browser-cookie.ts'

/** GET: the browser on its way back. */
export const signInCallback: Route<'sign_in_callback'> = (request, deps) => comeBack(request, request.query, deps)

/** POST: the same as a form. */
export const signInCallbackByForm: Route<'sign_in_callback_by_form'> = (request, deps) => comeBack(request, request.body, deps)

async function comeBack(
  request: Pick<RouteRequest, 'lines'>,
  { state, payload }: RouteRequest<'sign_in_callback'>['query'],
  deps: Deps,
): Promise<RouteAnswer> {
  const { baseUrl } = deps.config
  const browser = heldBrowser(request, state, baseUrl)
  if (browser === undefined) throw new Problem('state_invalid')
  const finished = await finishSignIn(deps, { state, browser, payload })
  return { status: 303, headers: { location: wayBack(finished, baseUrl), 'set-cookie': endedCookie(state, baseUrl) } }
}

/** The registered URL as it stands, byte for byte, and behind it what the integration is told. */
function wayBack({ returnUrl, clientState, outcome }: FinishedSignIn, baseUrl: string): string {
  const told = 'code' in outcome ? { code: outcome.code } : { error: outcome.refused, error_description: reasonOf(outcome.refused) }
  const parameters = new URLSearchParams({ ...told, ...(clientState === undefined ? {} : { state: clientState }), iss: baseUrl })
  return `${returnUrl}${returnUrl.includes('?') ? '&' : '?'}${parameters}`
}

function reasonOf(refused: Extract<FinishedSignIn['outcome'], { refused: unknown }>['refused']): string {
  return refused === 'access_denied' ? 'The user has cancelled.' : problems[refused].meaning
}
