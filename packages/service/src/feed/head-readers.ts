import type { SiteId } from '@countersign/core'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'

/**
 * Which sites have readers without a lease. A signed head that such a reader is given may live on
 * in a relay or cache, so receipts must know of it: it is written before the head is given out, and
 * some time ahead so that a stream costs a write only now and then.
 */
export interface HeadReaders {
  /**
   * When this returns, heads of the site may be given to readers without a lease for a while.
   * Rejects when the store cannot be written.
   */
  cover(siteId: SiteId): Promise<void>
  /**
   * Whether heads may be given to them now. Renews in the background when the time is soon over.
   */
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
