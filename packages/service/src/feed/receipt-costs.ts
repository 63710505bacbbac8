import type { SiteId } from '@countersign/core'

/** Receipts of a site that may be written in a round: at most `limit`. */
interface Share {
  readonly siteId: SiteId
  readonly limit: number
}

/** About 100 ms of work on a slow machine. */
const READERS_PER_ROUND = 20_000
/** The event loop is free again after so many: 4 ms. */
const READERS_PER_GROUP = 2000
/** A small receipt takes as long as so many readers: most of it is its signature. */
const READERS_MIN = 500
const SITES_MAX = 10_000

/**
 * What a receipt of each site costs: the number of readers that it looks at. Limits the work of a
 * round, of which each site gets an equal part.
 */
export class ReceiptCosts {
  readonly #readers = new Map<SiteId, number>()

  /** A receipt of this site looks at so many readers. */
  record(siteId: SiteId, readers: number): void {
    if (this.#readers.size >= SITES_MAX && !this.#readers.has(siteId)) this.#readers.clear()
    this.#readers.set(siteId, Math.max(READERS_MIN, readers))
  }

  /** Makes the costs of these sites known. */
  async load(sites: Iterable<SiteId>, count: (siteId: SiteId) => Promise<number>): Promise<void> {
    const unknown = [...new Set(sites)].filter((siteId) => !this.#readers.has(siteId))
    await Promise.all(unknown.map(async (siteId) => this.record(siteId, await count(siteId))))
  }

  /**
   * What of these shares fits into a round. Sites that are not reached come first in the next one,
   * so the caller keeps their order. There is always at least one receipt.
   */
  fit<Each extends Share>(shares: readonly Each[]): readonly Each[] {
    const part = READERS_PER_ROUND / Math.max(1, shares.length)
    const fitted: Each[] = []
    let left = READERS_PER_ROUND
    for (const share of shares) {
      if (left <= 0) break
      const cost = this.#find(share.siteId)
      const limit = Math.min(share.limit, Math.max(1, Math.floor(part / cost)))
      fitted.push({ ...share, limit })
      left -= limit * cost
    }
    return fitted
  }

  /** Splits receipts into groups. Between two of them others get their turn. */
  toGroups<Each>(items: readonly Each[], toSite: (item: Each) => SiteId): readonly (readonly Each[])[] {
    const groups: Each[][] = []
    let left = 0
    for (const item of items) {
      const cost = this.#find(toSite(item))
      if (left < cost) {
        groups.push([])
        left = READERS_PER_GROUP
      }
      groups.at(-1)?.push(item)
      left -= cost
    }
    return groups
  }

  #find(siteId: SiteId): number {
    return this.#readers.get(siteId) ?? READERS_MIN
  }
}
