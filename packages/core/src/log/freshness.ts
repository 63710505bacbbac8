import type { SiteId } from '../credential/ids.ts'

/**
 * That the log of a site ended at this entry at `asOfMs` or later. Made from a signed heartbeat or
 * snapshot, or by the store's own node.
 */
export interface ConfirmedHead {
  readonly siteId: SiteId
  readonly epoch: string
  readonly seq: number
  readonly hash: string
  readonly asOfMs: number
  /** The site's bound on the age of revocation data, as the head states it. */
  readonly maxAgeSeconds: number
}

/**
 * The two clocks of a process, read together. The monotonic one never jumps, but may stand still
 * while the machine sleeps.
 */
export interface Clocks {
  readonly wallMs: number
  readonly monotonicMs: number
}

/** How far ahead of our wall clock the time of a proof may be. */
export const AS_OF_AHEAD_MS_MAX = 5_000

/**
 * How old the last proof of the head is. Counts with both clocks and believes the less flattering:
 * the wall clock may have been set back, the monotonic one may have slept. What neither can see is
 * how long a proof was under way while the wall clock was slow by as much.
 */
export class Freshness {
  #asOfMs = Number.NEGATIVE_INFINITY
  #received: Clocks | undefined

  /** The time of the newest proof, or minus infinity. */
  get asOfMs(): number {
    return this.#asOfMs
  }

  /**
   * Only a newer `asOfMs` counts. An old proof that comes once more comes later by the monotonic
   * clock, and must not make anything younger.
   */
  confirm(asOfMs: number, received: Clocks): void {
    if (!(asOfMs > this.#asOfMs)) return
    this.#asOfMs = asOfMs
    this.#received = received
  }

  /**
   * Infinite until a proof comes that is newer than all before: a clock that was set back must not
   * make an old one count.
   */
  restart(): void {
    this.#received = undefined
  }

  /** Infinity before the first proof, and when a clock gives no number. Never negative. */
  ageMs({ wallMs, monotonicMs }: Clocks): number {
    if (this.#received === undefined) return Infinity
    const ageMs = Math.max(0, monotonicMs - this.#received.monotonicMs, wallMs - this.#asOfMs)
    return Number.isNaN(ageMs) ? Infinity : ageMs
  }
}
