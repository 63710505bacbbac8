import type { SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { createPairwiseSecret } from '../keys/ids.ts'
import { Problem } from '../problem.ts'
import { pairwisePurpose } from '../sealing/purposes.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { BrandChanges } from '../store/operations/shared/brand-rows.ts'
import type { NewSite, Site } from '../store/operations/sites.ts'
import { ensureOwnIssuer } from './own-issuer.ts'

/**
 * Creates a site with its own pairwise secret, which trusts the service as an issuer from the
 * start. When this returns, this node knows the site. Throws `already_exists` when its id is
 * taken.
 */
export async function createSite(
  deps: Pick<Deps, 'store' | 'keys' | 'views'>,
  site: Omit<NewSite, 'pairwiseSecretSealed'>,
  context: AuditContext,
  brand: BrandChanges = {},
): Promise<Site> {
  const pairwiseSecretSealed = deps.keys.seal(pairwisePurpose(site.siteId), createPairwiseSecret())
  const created = await deps.store.createSite({ ...site, pairwiseSecretSealed }, context, brand)
  if (created === 'exists') throw siteExists(site.siteId)
  const { position } = await ensureOwnIssuer(deps, site.siteId, context)
  await deps.views.waitFor(Math.max(position, created.position))
  return created
}

/** The problem of an id that is taken. */
export function siteExists(siteId: SiteId): Problem {
  return new Problem('already_exists', `The site ${siteId} already exists. Change it with PATCH.`)
}
