import { messages } from '../pages/messages.ts'
import { walletPage as page } from '../pages/wallet-page.ts'
import type { Route } from '../route.ts'

/** GET /wallet: the same for every person; what it shows is in the browser. */
export const walletPage: Route<'wallet_page'> = async (_request, { config }) => ({
  ...page(config.baseUrl, messages),
  status: 200,
})
