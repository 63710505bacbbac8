import type { SiteId } from '@countersign/core'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'

/**
 * Records which sites have readers without a lease. Such a reader may pass its signed head on to a
 * relay or cache, so receipts must take it into account. The record is written before the head is
 * given out, and covers some time ahead, so that a stream needs a write only now and then.
 */
export interface HeadReaders {
  /**
   * When this returns, heads of the site may be given to readers without a lease for a while.
   * Rejects when the store is unavailable.
   */
  cover(siteId: SiteId): Promise<void>
  /** Whether heads may be given to them now. Renews the record in the background. */
  isCovered(siteId: SiteId): boolean
}

const AHEAD_MS = 30_000
const RENEW_MS = 15_000

export function createHeadReaders(
  store: Pick<Store, 'recordHeadReaders'>,
  clock: Pick<Clock, 'clocks'>,
): HeadReaders {
  /** On the monotonic clock, by site. */
  const covered = new Map<SiteId, number>()
  const running = new Map<SiteId, Promise<void>>()
  const write = (siteId: SiteId): Promise<void> => {
    const known = running.get(siteId)
    if (known !== undefined) return known
    const { wallMs, monotonicMs } = clock.clocks()
    const writing = store
      .recordHeadReaders([siteId], Math.ceil(wallMs + AHEAD_MS))
      .then(() => void covered.set(siteId, monotonicMs + AHEAD_MS))
      .finally(() => running.delete(siteId))
    running.set(siteId, writing)
    return writing
  }
  const leftMs = (siteId: SiteId) => (covered.get(siteId) ?? -Infinity) - clock.clocks().monotonicMs
  return {
    cover: async (siteId) => {
      if (leftMs(siteId) <= RENEW_MS) await write(siteId)
    },
    isCovered(siteId) {
      const left = leftMs(siteId)
      if (left <= RENEW_MS) write(siteId).catch(() => undefined)
      if (left <= 0) covered.delete(siteId)
      return left > 0
    },
  }
}
