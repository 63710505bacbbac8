import { type OpenedSignIn, openSignIn } from '../../actions/open-sign-in.ts'
import { requireTriesLeft } from '../../actions/present-for-sign-in.ts'
import type { RouteAnswer } from '../../answer.ts'
import { toShownBrand } from '../../brand/shown-brand.ts'
import type { Deps } from '../../deps.ts'
import type { Messages } from '../../pages/messages.ts'
import { rememberLanguage, requestLanguage } from '../../pages/request-language.ts'
import { signInPage as page, type SignInPage } from '../../pages/sign-in-page.ts'
import type { Route } from '../../route.ts'
import { deriveCsrfToken, findBrowserSecret, toBindingCookie } from '../shared/browser-cookie.ts'
import { toReturnUrl } from '../shared/return-url.ts'
import { withReturnLink } from '../shared/with-return-link.ts'

/** GET: where auth_url leads. */
export const signInPage: Route<'sign_in_page'> = async (request, deps) => {
  const { state, ui_locales } = request.query
  const messages = requestLanguage(request.lines, ui_locales)
  const { baseUrl } = deps.config
  return withReturnLink({ ...request, messages }, state, deps, async () => {
    const opened = await openSignIn(deps, state, findBrowserSecret(request, state, baseUrl))
    requireTriesLeft(opened.signIn)
    const shown = toSignInPage(opened, state, deps, messages)
    const binding = opened.isNew ? [toBindingCookie(opened.browser, state, baseUrl)] : []
    const cookies = [...binding, ...rememberLanguage(request.lines, ui_locales, baseUrl)]
    return { ...shown, status: 200, cookies }
  })
}

/** The page of a sign-in, for the browser that is bound to it. */
export function toSignInPage(
  { signIn, site, browser }: OpenedSignIn,
  state: string,
  { config, clock }: Pick<Deps, 'config' | 'clock'>,
  messages: Messages,
  rejection?: SignInPage['rejection'],
): Omit<RouteAnswer, 'status'> {
  const cancel = new URLSearchParams({ state, error: 'access_denied' })
  return page({
    messages,
    state,
    csrfToken: deriveCsrfToken(browser),
    siteId: site.siteId,
    siteName: site.name,
    brand: toShownBrand(site),
    returnUrl: new URL(signIn.returnUrl),
    requestedScope: signIn.requestedScope,
    expiresInSeconds: Math.max(0, Math.floor((signIn.expiresAtMs - clock.nowMs()) / 1000)),
    cancelUrl: `${config.baseUrl}/auth/sdk-callback?${cancel}`,
    overUrl: toReturnUrl(
      { returnUrl: signIn.returnUrl, clientState: undefined, outcome: { error: 'state_invalid' } },
      config.baseUrl,
    ),
    rejection,
  })
}
