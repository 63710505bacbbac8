import { json } from '../../columns.ts'
import type { Row } from '../../transaction.ts'

/** That everything up to `seq` was applied, and when that was heard. */
export interface Acknowledged {
  readonly seq: number
  readonly atMs: number
}

/**
 * How many acknowledgements of a stream are kept: enough to tell of the last few entries when they
 * were applied.
 */
export const ACKS_KEPT = 16

/** Pairs of seq and time, oldest first, as a column holds them. */
export function toAcksText(acks: readonly Acknowledged[]): string {
  return JSON.stringify(acks.slice(-ACKS_KEPT).map(({ seq, atMs }) => [seq, Math.floor(atMs)]))
}

/** The opposite of `toAcksText`. */
export function toAcks(row: Row): readonly Acknowledged[] {
  return json<[number, number][]>(row, 'acks').map(([seq, atMs]) => ({ seq, atMs }))
}
