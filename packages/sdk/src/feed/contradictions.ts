import { type Clocks, formatTime } from '@countersign/core'

/** Counts how often the service's signed heads contradicted what a guard had received. */
export interface Contradictions {
  record(now: Clocks): void
  clear(): void
  /**
   * A problem to report while contradictions repeat and for a while after the last one, although
   * the guard has recovered from each.
   */
  problem(now: Clocks): { readonly code: string; readonly detail: string } | undefined
}

const REPEATED_MIN = 2
const REPORTED_MS = 600_000

export function createContradictions(): Contradictions {
  let count = 0
  let sinceMs = 0
  let lastMonotonicMs = -Infinity
  return {
    record({ wallMs, monotonicMs }) {
      if (monotonicMs - lastMonotonicMs > REPORTED_MS) {
        count = 0
        sinceMs = wallMs
      }
      count++
      lastMonotonicMs = monotonicMs
    },
    clear() {
      count = 0
    },
    problem({ monotonicMs }) {
      if (count < REPEATED_MIN || monotonicMs - lastMonotonicMs > REPORTED_MS) return undefined
      return {
        code: 'log_contradicted',
        detail:
          `The service contradicted what this guard had received ${count} times since ${formatTime(sinceMs)}. ` +
          'Something between them changes the feed, or the service has lost entries. ' +
          'Nothing unsigned was accepted. Check the proxies on the way, and run `countersign audit-log` on the service.',
      }
    },
  }
}
