import type { SiteSummary } from '@countersign/core/contract'
import { BoundedMap } from '../bounded-map.ts'

interface Recent {
  readonly summary: Promise<SiteSummary>
  /** Infinite while it is being computed. */
  untilMs: number
}

const SUMMARIES_MAX = 300
const SHARED_MS = 5000

/**
 * Shares each summary between all requests while it is computed and for five seconds, because it
 * reads many rows. One that fails is not kept.
 */
export class RecentSummaries {
  readonly #monotonicMs: () => number
  readonly #sharedMs: number
  readonly #recent = new BoundedMap<string, Recent>(SUMMARIES_MAX)

  constructor(monotonicMs: () => number, sharedMs: number = SHARED_MS) {
    this.#monotonicMs = monotonicMs
    this.#sharedMs = sharedMs
  }

  async share(key: string, compute: () => Promise<SiteSummary>): Promise<SiteSummary> {
    const known = this.#recent.get(key)
    if (known !== undefined && this.#monotonicMs() < known.untilMs) return known.summary
    const recent: Recent = { summary: compute(), untilMs: Infinity }
    this.#recent.set(key, recent)
    try {
      const summary = await recent.summary
      recent.untilMs = this.#monotonicMs() + this.#sharedMs
      return summary
    } catch (error) {
      recent.untilMs = 0
      throw error
    }
  }
}
