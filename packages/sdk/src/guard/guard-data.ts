import { type RevocationData, SignatureCache, type SiteView, type ViewStamp } from '@countersign/core'
import type { LogFollower } from '../feed/log-follower.ts'
import type { FailingOpen } from './verdict.ts'

/**
 * The revocation data that a guard decides by, and how fresh it is. Everything is read when asked
 * for, because a decision may wait, and must see what has changed meanwhile.
 */
export class GuardData implements RevocationData {
  readonly site: SiteView
  readonly signatures = new SignatureCache()
  readonly #follower: LogFollower
  readonly #ageMsMax: number
  readonly #failsOpen: boolean

  constructor(follower: LogFollower, ageMsMax: number, failsOpen: boolean) {
    this.site = follower.view
    this.#follower = follower
    this.#ageMsMax = ageMsMax
    this.#failsOpen = failsOpen
  }

  get ageMs(): number {
    return this.#follower.ageMs()
  }

  /** The bound for a decision: none in practice if the guard fails open. */
  get ageMsMax(): number {
    return this.#failsOpen ? Number.MAX_VALUE : this.freshMsMax
  }

  /** The guard's own setting, or the smaller bound that the site's signed heads state. */
  get freshMsMax(): number {
    return Math.min(this.#ageMsMax, this.site.maxAgeMs)
  }

  get isFresh(): boolean {
    return this.ageMs <= this.freshMsMax && this.nowMs() !== undefined
  }

  /** How verdicts are marked; undefined unless the guard fails open. */
  get failOpen(): FailingOpen | undefined {
    if (!this.#failsOpen) return undefined
    return { failOpen: this.isFresh ? 'fresh' : 'stale' }
  }

  get stamp(): ViewStamp {
    const { epoch, seq } = this.site.head
    return { epoch, seq, ageMs: this.ageMs }
  }

  /**
   * The time to decide by; undefined after a jump of the clock that no heartbeat has confirmed yet.
   */
  nowMs(): number | undefined {
    return this.#follower.nowMs()
  }
}
