import type { SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { FetchedLogo } from '../store/operations/shared/brand-rows.ts'

/**
 * The logo at a URL that a site has chosen. Throws `logo_rejected` when the logo cannot be fetched
 * or is not a picture within the limits.
 */
export async function loadLogo(
  { logos, log }: Pick<Deps, 'logos' | 'log'>,
  siteId: SiteId,
  url: URL,
): Promise<FetchedLogo> {
  const fetched = await logos.fetch(url, siteId)
  if (!('fault' in fetched)) return fetched
  const { fault, cause } = fetched
  log.info({ site_id: siteId, err: cause, fault }, 'a logo was not accepted')
  throw new Problem('logo_rejected', `The logo is not accepted: ${fault}. Nothing was changed.`, {
    cause,
    errors: [{ path: 'logo_url', message: fault }],
  })
}
