import { formatTime } from '@countersign/core'
import type { OfferDetails } from '@countersign/core/contract'
import { readOffer as read } from '../../actions/offers.ts'
import { toBrandBody } from '../../brand/shown-brand.ts'
import type { Route } from '../../route.ts'

/** The code comes in the body: it must not be in a URL, which servers and proxies log. */
export const readOffer: Route<'read_offer'> = async ({ body }, deps) => {
  const { site, scope, ttlSeconds, issuer, expiresAtMs } = await read(deps, body.offer)
  const answer: OfferDetails = {
    site_id: site.siteId,
    name: site.name ?? null,
    scope: [...scope],
    ttl_seconds: ttlSeconds,
    issuer,
    expires_at: formatTime(expiresAtMs),
    site_url: site.returnUrls[0] === undefined ? null : new URL(site.returnUrls[0]).origin,
    ...toBrandBody(site),
  }
  return { status: 200, body: answer }
}
