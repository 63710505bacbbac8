import { type OpenedSignIn, openSignIn } from '../../actions/open-sign-in.ts'
import { requireTriesLeft } from '../../actions/present-for-sign-in.ts'
import type { RouteAnswer } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import { messages } from '../../pages/messages.ts'
import { signInPage as page, type SignInPage } from '../../pages/sign-in-page.ts'
import type { Route } from '../../route.ts'
import { deriveCsrfToken, findBrowserSecret, toBindingCookie } from '../shared/browser-cookie.ts'
import { toReturnUrl } from '../shared/return-url.ts'
import { withReturnLink } from '../shared/with-return-link.ts'

/** GET: where auth_url leads. */
export const signInPage: Route<'sign_in_page'> = async (request, deps) => {
  const { state } = request.query
  const { baseUrl } = deps.config
  return withReturnLink(request, state, deps, async () => {
    const opened = await openSignIn(deps, state, findBrowserSecret(request, state, baseUrl))
    requireTriesLeft(opened.signIn)
    const shown = toSignInPage(opened, state, deps)
    const cookie = opened.isNew ? { 'set-cookie': toBindingCookie(opened.browser, state, baseUrl) } : {}
    return { ...shown, status: 200, headers: { ...shown.headers, ...cookie } }
  })
}

/** The page of a sign-in, for the browser that is bound to it. */
export function toSignInPage(
  { signIn, site, browser }: OpenedSignIn,
  state: string,
  { config }: Pick<Deps, 'config'>,
  rejection?: SignInPage['rejection'],
): Omit<RouteAnswer, 'status'> {
  const cancel = new URLSearchParams({ state, error: 'access_denied' })
  return page({
    messages,
    state,
    csrfToken: deriveCsrfToken(browser),
    siteId: site.siteId,
    siteName: site.name,
    returnUrl: new URL(signIn.returnUrl),
    requestedScope: signIn.requestedScope,
    cancelUrl: `${config.baseUrl}/auth/sdk-callback?${cancel}`,
    overUrl: toReturnUrl(
      { returnUrl: signIn.returnUrl, clientState: undefined, outcome: { error: 'state_invalid' } },
      config.baseUrl,
    ),
    rejection,
  })
}
