import type { SiteId } from '../credential/ids.ts'

/**
 * A verified statement that the log of a site ended at this entry at `asOfMs` or later. It comes
 * from a signed heartbeat or snapshot, or from the node that reads the store.
 */
export interface ConfirmedHead {
  readonly siteId: SiteId
  readonly epoch: string
  readonly seq: number
  readonly hash: string
  readonly asOfMs: number
  /** The maximum age of revocation data that the site allows. */
  readonly maxAgeSeconds: number
}

/**
 * Both clocks of a process, read at the same moment. The monotonic clock never jumps, but may stop
 * while the machine sleeps.
 */
export interface Clocks {
  readonly wallMs: number
  readonly monotonicMs: number
}

/** How far the time of a proof may be ahead of our wall clock. */
export const AS_OF_AHEAD_MS_MAX = 5_000

/**
 * The age of the last proof of the head, by the clock that gives the higher value: the wall clock
 * may have been set back, and the monotonic clock may have stopped during sleep. If the wall clock
 * is slow, the time that a proof spent in transit may go unnoticed.
 */
export class Freshness {
  #asOfMs = Number.NEGATIVE_INFINITY
  #received: Clocks | undefined

  /** The time of the newest proof, or minus infinity. */
  get asOfMs(): number {
    return this.#asOfMs
  }

  /**
   * Ignores proofs that are not newer. A replayed proof arrives later by the monotonic clock and
   * must not reset the age.
   */
  confirm(asOfMs: number, received: Clocks): void {
    if (!(asOfMs > this.#asOfMs)) return
    this.#asOfMs = asOfMs
    this.#received = received
  }

  /**
   * Makes the age infinite until a proof arrives that is newer than all earlier ones. A clock that
   * was set back cannot make an old proof valid again.
   */
  restart(): void {
    this.#received = undefined
  }

  /** Never negative. Infinite before the first proof and if a clock returns NaN. */
  ageMs({ wallMs, monotonicMs }: Clocks): number {
    if (this.#received === undefined) return Infinity
    const ageMs = Math.max(0, monotonicMs - this.#received.monotonicMs, wallMs - this.#asOfMs)
    return Number.isNaN(ageMs) ? Infinity : ageMs
  }
}
