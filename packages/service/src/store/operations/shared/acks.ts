import { json } from '../../columns.ts'
import type { Row } from '../../transaction.ts'

/** Everything up to `seq` was applied; `atMs` is when the acknowledgement arrived. */
export interface Acknowledged {
  readonly seq: number
  readonly atMs: number
}

/** Acknowledgements kept for a stream: enough to state when the last few entries were applied. */
export const ACKS_KEPT = 16

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
