import type { SiteId, SiteView } from '@countersign/core'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'
import type { LiveViews } from './live-views.ts'

/**
 * The view of a site after it has caught up with the log. Throws a Problem when that takes too
 * long, and when the log has no such site.
 */
export async function loadCurrentView(
  {
    store,
    views,
  }: { readonly store: Pick<Store, 'logPosition'>; readonly views: Pick<LiveViews, 'waitFor' | 'view'> },
  siteId: SiteId,
): Promise<SiteView> {
  await views.waitFor(await store.logPosition())
  const view = views.view(siteId)
  if (view === undefined) throw new Problem('revocation_view_stale', undefined, { retryAfterSeconds: 1 })
  return view
}
