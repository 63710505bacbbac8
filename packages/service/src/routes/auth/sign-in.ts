import { type OpenedSignIn, openSignIn } from '../../actions/open-sign-in.ts'
import type { Deps } from '../../deps.ts'
import { signInPage as page, type SignInPage } from '../../pages/sign-in-page.ts'
import { texts } from '../../pages/texts.ts'
import type { Route, RouteAnswer } from '../route.ts'
import { bindingCookie, csrfTokenOf, heldBrowser } from './browser-cookie.ts'

/** GET: where auth_url leads. */
export const signInPage: Route<'sign_in_page'> = async (request, deps) => {
  const { state } = request.query
  const { baseUrl } = deps.config
  const opened = await openSignIn(deps, state, heldBrowser(request, state, baseUrl))
  const shown = shownSignIn(opened, state, deps)
  const cookie = opened.isNew ? { 'set-cookie': bindingCookie(opened.browser, state, baseUrl) } : {}
  return { ...shown, status: 200, headers: { ...shown.headers, ...cookie } }
}

/** The page of a sign-in, for the browser that is bound to it. */
export function shownSignIn(
  { signIn, site, browser }: OpenedSignIn,
  state: string,
  { config }: Pick<Deps, 'config'>,
  refusal?: SignInPage['refusal'],
): Omit<RouteAnswer, 'status'> {
  const cancel = new URLSearchParams({ state, error: 'access_denied' })
  return page({
    texts,
    state,
    csrfToken: csrfTokenOf(browser),
    siteId: site.siteId,
    siteName: site.name,
    returnUrl: new URL(signIn.returnUrl),
    requestedScope: signIn.requestedScope,
    cancelUrl: `${config.baseUrl}/auth/sdk-callback?${cancel}`,
    ...(refusal === undefined ? {} : { refusal }),
  })
}
