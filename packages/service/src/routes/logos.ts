import { Problem } from '../problem.ts'
import type { Route } from '../route.ts'

/** The bytes may be anything that looks like a picture, so browsers may only draw them. */
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

/** GET /logos/…: the logo of a site, from the store. */
export const siteLogo: Route<'site_logo'> = async ({ params }, { store }) => {
  const logo = await store.siteLogo(params.site_id, params.sha256)
  if (logo === undefined) throw new Problem('not_found')
  return { status: 200, contentType: logo.type, headers: HEADERS, body: logo.bytes }
}
