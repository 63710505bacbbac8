import type { SiteId, SiteView } from '@countersign/core'
import { requireFresh, staleProblem } from '../access/require-fresh.ts'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'

/**
 * This node's view of a site, also of a site that another node has made just now. Throws a Problem:
 * `not_found` when there is no such site, `revocation_view_stale` when this node may not speak for
 * its store at the moment.
 */
export async function freshView(
  { store, views }: { readonly store: Pick<Store, 'site' | 'logPosition'>; readonly views: LiveViews },
  siteId: SiteId,
): Promise<SiteView> {
  requireFresh(views)
  const known = views.view(siteId)
  if (known !== undefined) return known
  if ((await store.site(siteId)) === undefined) throw new Problem('not_found')
  await views.reached(await store.logPosition())
  const made = views.view(siteId)
  if (made === undefined) throw staleProblem()
  return made
}
