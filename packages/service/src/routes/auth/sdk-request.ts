import { limits, type SignInStarted } from '@countersign/core/contract'
import { startSignIn as start } from '../../actions/start-sign-in.ts'
import type { Deps } from '../../deps.ts'
import type { Route, RouteRequest } from '../../route.ts'

/** POST: for an integration that sends the browser on by itself. */
export const startSignIn: Route<'start_sign_in'> = async ({ body }, deps) => {
  const state = await begin(body, deps)
  const answer: SignInStarted = {
    state,
    auth_url: toAuthUrl(state, body.ui_locales, deps),
    expires_in: limits.sign_in_state_seconds,
  }
  return { status: 201, body: answer }
}

/** GET: for a plain link. */
export const startSignInByLink: Route<'start_sign_in_by_link'> = async ({ query }, deps) => ({
  status: 303,
  headers: { location: toAuthUrl(await begin(query, deps), query.ui_locales, deps) },
})

type Wanted = RouteRequest<'start_sign_in'>['body'] | RouteRequest<'start_sign_in_by_link'>['query']

function begin(
  { site_id, return_url, requested_scope, client_state, code_challenge }: Wanted,
  deps: Deps,
): Promise<string> {
  return start(deps, {
    siteId: site_id,
    returnUrl: return_url,
    requestedScope: requested_scope,
    clientState: client_state,
    codeChallenge: code_challenge,
  })
}

function toAuthUrl(state: string, uiLocales: string | undefined, { config }: Pick<Deps, 'config'>): string {
  const query = new URLSearchParams({ state, ...(uiLocales === undefined ? {} : { ui_locales: uiLocales }) })
  return `${config.baseUrl}/auth/sign-in?${query}`
}
