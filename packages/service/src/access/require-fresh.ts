import type { SiteId, SiteView } from '@countersign/core'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'

type StaleCode = 'revocation_view_stale' | 'store_unavailable'

/**
 * Throws when this node cannot say what is revoked: its view is stale, its log is corrupt, or its
 * clock is wrong. Endpoints whose contract does not list `revocation_view_stale` pass
 * `store_unavailable`.
 */
export function requireFresh(views: Pick<LiveViews, 'readiness'>, code?: StaleCode): void {
  if (!views.readiness().ready) throw staleProblem(code)
}

/**
 * Returns this node's view of a site, also of a site that another node has just created. Throws a
 * Problem: `not_found` when there is no such site, `revocation_view_stale` when the view is stale.
 */
export async function requireFreshView(
  {
    store,
    views,
  }: {
    readonly store: Pick<Store, 'site' | 'logPosition'>
    readonly views: Pick<LiveViews, 'readiness' | 'view' | 'waitFor'>
  },
  siteId: SiteId,
): Promise<SiteView> {
  requireFresh(views)
  const known = views.view(siteId)
  if (known !== undefined) return known
  if ((await store.site(siteId)) === undefined) throw new Problem('not_found')
  await views.waitFor(await store.logPosition())
  const created = views.view(siteId)
  if (created === undefined) throw staleProblem()
  return created
}

export function staleProblem(code: StaleCode = 'revocation_view_stale'): Problem {
  return new Problem(
    code,
    'This node has not heard from its store. Try again in a moment, or use another node.',
    { retryAfterSeconds: 1 },
  )
}
