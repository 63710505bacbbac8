import { limits } from '@countersign/core/contract'
import { Problem } from '../problem.ts'

/** Who reports decisions. */
export interface Reporter {
  readonly keyId: string
  /** Its configured name. Several processes may share it. */
  readonly verifierId: string | undefined
  readonly instanceId: string | undefined
}

const SECONDS = limits.tally_report_seconds_min
/** One more than it should send: a guard that closes reports the rest. */
const REPORTS_MAX = 2
const INSTANCES_MAX = limits.feed_leases_per_key_max

/** How often the instances of each API key may report. One without an id counts by its name. */
export class ReportQuota {
  #counts = new Map<string, Map<string, number>>()
  #sinceMs = 0

  /**
   * Counts a report. Throws a Problem `rate_limited` when the instance has sent as many as it may,
   * or the key has as many instances. A guard keeps what it could not report and tries again.
   */
  consume({ keyId, verifierId = '', instanceId = '' }: Reporter, nowMs: number): void {
    if (Math.abs(nowMs - this.#sinceMs) >= SECONDS * 1000) {
      this.#counts = new Map()
      this.#sinceMs = nowMs
    }
    const counts = this.#counts.get(keyId) ?? new Map<string, number>()
    this.#counts.set(keyId, counts)
    const id = `${verifierId} ${instanceId}`
    const count = counts.get(id) ?? 0
    if (count >= REPORTS_MAX || (count === 0 && counts.size >= INSTANCES_MAX))
      throw new Problem(
        'rate_limited',
        `A verifier may report its decisions once in ${SECONDS} seconds. Send the counts together, later.`,
        {
          retryAfterSeconds: SECONDS,
          policy: { name: 'reports', quota: REPORTS_MAX, windowSeconds: SECONDS },
        },
      )
    counts.set(id, count + 1)
  }
}
