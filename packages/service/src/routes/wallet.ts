import { rememberLanguage, requestLanguage } from '../pages/request-language.ts'
import { walletPage as page } from '../pages/wallet-page.ts'
import type { Route } from '../route.ts'

/** GET /wallet: the same for every person; what it shows is in the browser. */
export const walletPage: Route<'wallet_page'> = async ({ query, lines }, { config }) => ({
  ...page(config.baseUrl, requestLanguage(lines, query.ui_locales)),
  status: 200,
  cookies: rememberLanguage(lines, query.ui_locales, config.baseUrl),
})
