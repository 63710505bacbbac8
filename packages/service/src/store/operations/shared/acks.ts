import { json } from '../../columns.ts'
import type { Row } from '../../transaction.ts'

/** Everything up to `seq` was applied; `atMs` is when the acknowledgement arrived. */
export interface Acknowledged {
  readonly seq: number
  readonly atMs: number
}

/** Acknowledgements kept for a stream: enough to state when the last few entries were applied. */
export const ACKS_KEPT = 16
/** The same for times that a verifier has reported. An acknowledgement may carry 16 of them. */
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

/** Pairs of seq and time, oldest first, as stored in a column. */
export function toAcksText(acks: readonly Acknowledged[]): string {
  return toTimesText(acks.slice(-ACKS_KEPT))
}

export function toTimesText(times: readonly Acknowledged[]): string {
  return JSON.stringify(times.map(({ seq, atMs }) => [seq, Math.floor(atMs)]))
}

/** The opposite of `toAcksText` and `toTimesText`. */
export function toAcks(row: Row, column = 'acks'): readonly Acknowledged[] {
  return json<[number, number][]>(row, column).map(([seq, atMs]) => ({ seq, atMs }))
}
