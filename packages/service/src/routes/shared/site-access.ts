import type { SiteId } from '@countersign/core'
import type { Caller } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import { Problem } from '../../problem.ts'
import type { Site } from '../../store/operations/sites.ts'

/**
 * The site in the path. Throws `not_found` when it does not exist and when it is not the caller's,
 * so that callers cannot distinguish the two.
 */
export async function requireSiteInPath(
  { caller, params }: { readonly caller: Caller; readonly params: { readonly site_id: SiteId } },
  { store }: Pick<Deps, 'store'>,
): Promise<Site> {
  requireOwnPath(caller, params.site_id)
  const site = await store.site(params.site_id)
  if (site === undefined) throw new Problem('not_found')
  return site
}

/** The same without a look at the store, for actions that check whether the site exists. */
export function requireOwnPath(caller: Caller, siteId: SiteId): void {
  if (!isOwnSite(caller, siteId)) throw new Problem('not_found')
}

/** Throws unless the caller has an operator key. The pipeline has checked that before. */
export function requireOperator(caller: Caller): void {
  if (caller.kind !== 'operator') throw new Problem('api_key_forbidden')
}

/** Whether the key of the caller is an operator's, or one of this site. */
export function isOwnSite(caller: Caller, siteId: SiteId): boolean {
  return caller.kind === 'operator' || (caller.kind === 'site' && caller.siteId === siteId)
}
