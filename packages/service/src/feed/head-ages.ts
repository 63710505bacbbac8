import type { SiteId } from '@countersign/core'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'

/** For how long signed heads of each site are valid: its setting `max_staleness_seconds_max`. */
export interface HeadAges {
  /**
   * The value that belongs to this node's view of the site, and neither an older nor a newer one: a
   * node that lags must not sign a head with a raised value and without the revocations before the
   * raise, because receipts were made with the lower value. After waiting for it, use it only with
   * the view of that moment. Throws `not_found` when there is no such site, and
   * `revocation_view_stale` when this node does not catch up with the store.
   */
  seconds(siteId: SiteId): number | Promise<number>
}

const KEPT_MAX = 10_000

export function createHeadAges(
  store: Pick<Store, 'site' | 'logPosition'>,
  views: Pick<LiveViews, 'follow' | 'waitFor'>,
): HeadAges {
  const known = new Map<SiteId, number>()
  /** How often an entry was dropped: a value that was read before that is not kept. */
  let forgotten = 0
  const forget = (siteId?: SiteId) => {
    forgotten++
    if (siteId === undefined) known.clear()
    else known.delete(siteId)
  }
  views.follow({
    applied: (entries) => {
      for (const { entry } of entries) if (entry.kind === 'site.changed') forget(entry.site_id)
    },
    lost: () => forget(),
  })
  const read = async (siteId: SiteId): Promise<number> => {
    const before = forgotten
    const site = await store.site(siteId)
    if (site === undefined) throw new Problem('not_found')
    // The entry that set this value is at this position or before it.
    await views.waitFor(await store.logPosition())
    if (before !== forgotten) return read(siteId)
    if (known.size >= KEPT_MAX) known.clear()
    known.set(siteId, site.maxStalenessSecondsMax)
    return site.maxStalenessSecondsMax
  }
  return { seconds: (siteId) => known.get(siteId) ?? read(siteId) }
}
