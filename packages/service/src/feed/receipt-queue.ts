import type { SiteId } from '@countersign/core'
import type { ReceiptProgress, SiteEntries } from '../store/operations/receipts.ts'

/** Entries of a site that get their receipts next: at most `limit` after `afterSeq`. */
export interface ReceiptShare {
  readonly siteId: SiteId
  readonly afterSeq: number
  readonly toSeq: number
  readonly limit: number
}

interface Waiting {
  afterSeq: number
  toSeq: number
  /** The entries of the site up to this position need nothing more. */
  position: number
}

/**
 * The entries without receipts, by site. Sites take turns, so one with very many entries does not
 * delay the receipts of the others. It keeps ranges, and no entries.
 */
export class ReceiptQueue {
  readonly epoch: string
  /** Up to where it knows which sites have entries. */
  scannedTo: number
  /** What the store has as progress. */
  progress: number
  /** In the order of their turns. */
  readonly #sites = new Map<SiteId, Waiting>()

  constructor({ epoch, position }: ReceiptProgress) {
    this.epoch = epoch
    this.scannedTo = position
    this.progress = position
  }

  get isEmpty(): boolean {
    return this.#sites.size === 0
  }

  /** All entries up to here need nothing more. */
  get donePosition(): number {
    let least = this.scannedTo
    for (const { position } of this.#sites.values()) least = Math.min(least, position)
    return least
  }

  /** The sites with entries up to a position, after what was scanned before. */
  add(found: readonly SiteEntries[], scannedTo: number): void {
    for (const { siteId, fromSeq, toSeq, fromPosition } of found) {
      const known = this.#sites.get(siteId)
      if (known === undefined)
        this.#sites.set(siteId, { afterSeq: fromSeq - 1, toSeq, position: fromPosition - 1 })
      else known.toSeq = Math.max(known.toSeq, toSeq)
    }
    this.scannedTo = scannedTo
  }

  /** The next entries, at most `max` in all. What one site does not need, the others get. */
  next(max: number): readonly ReceiptShare[] {
    const first = [...this.#sites].slice(0, max)
    const limits = new Map<SiteId, number>()
    let left = max
    // Those with the fewest first, so that what they leave is shared by all others.
    for (const [siteId, { afterSeq, toSeq }] of first.toSorted(byCount)) {
      const limit = Math.min(toSeq - afterSeq, Math.ceil(left / (first.length - limits.size)))
      limits.set(siteId, limit)
      left -= limit
    }
    return first.map(([siteId, { afterSeq, toSeq }]) => ({
      siteId,
      afterSeq,
      toSeq,
      limit: limits.get(siteId) ?? 0,
    }))
  }

  /**
   * The entries of a share up to `seq` need nothing more; undefined when there were none left. The
   * site has its next turn after all others.
   */
  finish(
    { siteId, toSeq }: ReceiptShare,
    last: { readonly seq: number; readonly position: number } | undefined,
  ) {
    const waiting = this.#sites.get(siteId)
    if (waiting === undefined) return
    this.#sites.delete(siteId)
    waiting.afterSeq = last?.seq ?? toSeq
    waiting.position = Math.max(waiting.position, last?.position ?? 0)
    if (waiting.afterSeq < waiting.toSeq) this.#sites.set(siteId, waiting)
  }
}

function byCount([, one]: [SiteId, Waiting], [, other]: [SiteId, Waiting]): number {
  return one.toSeq - one.afterSeq - (other.toSeq - other.afterSeq)
}
