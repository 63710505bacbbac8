import type { SiteId } from '@countersign/core'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'

/** For how long signed heads of each site are valid: its setting `max_staleness_seconds_max`. */
export interface HeadAges {
  /**
   * Read from the store once this node had applied the last change of the site's settings. So a head with a later entry never has an older value. Throws
   * `not_found` when there is no such site.
   */
  seconds(siteId: SiteId): number | Promise<number>
}

const KEPT_MAX = 10_000

export function createHeadAges(store: Pick<Store, 'site'>, views: Pick<LiveViews, 'follow'>): HeadAges {
  const known = new Map<SiteId, number>()
  /** How often anything was forgotten: what was read before that is not kept. */
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
    if (before !== forgotten) return read(siteId)
    if (known.size >= KEPT_MAX) known.clear()
    known.set(siteId, site.maxStalenessSecondsMax)
    return site.maxStalenessSecondsMax
  }
  return { seconds: (siteId) => known.get(siteId) ?? read(siteId) }
}
