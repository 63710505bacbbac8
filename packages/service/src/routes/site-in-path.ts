import type { SiteId } from '@countersign/core'
import type { Caller } from '../answer.ts'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { Site } from '../store/store.ts'

/**
 * The site that a path names. One that is not the caller's, and one that does not exist, are
 * `not_found` alike.
 */
export async function siteInPath(
  { caller, params }: { readonly caller: Caller; readonly params: { readonly site_id: SiteId } },
  { store }: Pick<Deps, 'store'>,
): Promise<Site> {
  requireOwnPath(caller, params.site_id)
  const site = await store.site(params.site_id)
  if (site === undefined) throw new Problem('not_found')
  return site
}

/** The same without asking whether there is such a site, where whatever comes next will tell. */
export function requireOwnPath(caller: Caller, siteId: SiteId): void {
  const isOwn = caller.kind === 'operator' || (caller.kind === 'site' && caller.siteId === siteId)
  if (!isOwn) throw new Problem('not_found')
}
