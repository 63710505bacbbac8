import { type GuardClock, systemClock } from '../feed/clock.ts'
import { ServiceError, type TalliedVerdict } from '../feed/verifier-api.ts'

/** Counts the decisions of a guard and reports them to the service now and then. */
export interface VerdictTally {
  count(presented: TalliedVerdict['presented'], outcome: string): void
  /** Reports the rest, and waits at most a second for that. */
  close(): Promise<void>
}

const REPORT_MS = 10_000
const AFTER_FAILURE_MS = 60_000
const CLOSE_MS_MAX = 1_000
/** As in the contract. */
const TALLIES_MAX = 64
const COUNT_MAX = 10_000_000

interface Counted extends TalliedVerdict {
  count: number
}

/**
 * Nothing but statistics depends on a report. One whose answer is lost is sent again, and may be
 * counted twice: zero must mean zero. A service that does not know reports gets no more.
 */
export function createVerdictTally(
  send: (tallies: readonly TalliedVerdict[]) => Promise<void>,
  clock: GuardClock,
): VerdictTally {
  let counts = new Map<string, Counted>()
  /** That of the verdict before: most are alike, and then need no key. */
  let last: Counted | undefined
  let cancel: (() => void) | undefined
  let isOff = false

  const add = (presented: TalliedVerdict['presented'], outcome: string, count: number) => {
    if (last?.presented !== presented || last.outcome !== outcome) {
      const key = `${presented} ${outcome}`
      last = counts.get(key) ?? { presented, outcome, count: 0 }
      counts.set(key, last)
    }
    last.count = Math.min(last.count + count, COUNT_MAX)
  }
  const report = async (): Promise<number> => {
    const sent = [...counts.values()].slice(0, TALLIES_MAX)
    for (const { presented, outcome } of sent) counts.delete(`${presented} ${outcome}`)
    last = undefined
    try {
      await send(sent)
      return REPORT_MS
    } catch (error) {
      isOff ||= error instanceof ServiceError && [403, 404, 405, 422].includes(error.status)
      if (isOff) counts = new Map()
      else for (const { presented, outcome, count } of sent) add(presented, outcome, count)
      return AFTER_FAILURE_MS
    }
  }
  const plan = (ms: number) => {
    cancel = clock.after(ms, () => {
      if (isOff || counts.size === 0) cancel = undefined
      else void report().then(plan)
    })
  }

  return {
    count(presented, outcome) {
      if (isOff) return
      add(presented, outcome, 1)
      if (cancel === undefined) plan(REPORT_MS)
    },
    async close() {
      cancel?.()
      if (!isOff && counts.size > 0) {
        // A real timer: a process that ends must not wait for an unreachable service.
        await Promise.race([
          report(),
          new Promise((resolve) => systemClock.after(CLOSE_MS_MAX, () => resolve(0))),
        ])
      }
      isOff = true
    },
  }
}
