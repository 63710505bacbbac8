import type { Acknowledged } from './operations/shared/acks.ts'

/** Times of each kind that are kept. An acknowledgement may carry 16 of them. */
const TIMES_KEPT = 32

/** What a verifier has reported about its own speed, by entry, oldest first. */
export interface ReportedTimes {
  /** All entries up to `seq` had been applied by then. */
  readonly applied: readonly Acknowledged[]
  /** What the entry `seq` revoked was first denied then. */
  readonly denied: readonly Acknowledged[]
}

export const NO_TIMES: ReportedTimes = { applied: [], denied: [] }

/** Adds what was reported later. What was said first about an entry stays. */
export function addTimes(before: ReportedTimes, news: ReportedTimes): ReportedTimes {
  const lastSeq = before.applied.at(-1)?.seq ?? 0
  const known = new Set(before.denied.map(({ seq }) => seq))
  const applied = news.applied.filter(({ seq }) => seq > lastSeq)
  const denied = news.denied.filter(({ seq }) => !known.has(seq))
  return {
    applied: applied.length === 0 ? before.applied : [...before.applied, ...applied].slice(-TIMES_KEPT),
    denied: denied.length === 0 ? before.denied : [...before.denied, ...denied].slice(-TIMES_KEPT),
  }
}
