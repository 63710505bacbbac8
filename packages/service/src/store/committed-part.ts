import type { LogPart } from './checkpoints/log-part.ts'
import { number } from './columns.ts'
import type { LogEnd, LoggedEntry } from './operations/log.ts'
import { toEntry } from './operations/shared/log-rows.ts'
import type { Row } from './transaction.ts'

/** An entry that a transaction has appended: its row, and where the log ends with it. */
export interface AppendedRow {
  readonly row: Row
  readonly end: LogEnd
}

/**
 * The entries of a transaction that this process has committed, and the end of the log at that
 * moment: until the commit no other transaction can append.
 */
export interface CommittedPart extends LogPart {
  /** A moment before the commit, on the clock of `performance.now()`; -Infinity if unknown. */
  readonly beforeMs: number
}

/** Entries of a part. More of them are read from the store instead. */
export const COMMITTED_MAX = 64

/** Undefined when there are no entries, or too many. */
export function toCommittedPart(
  appended: readonly AppendedRow[],
  beforeMs: number,
): CommittedPart | undefined {
  const last = appended.at(-1)
  if (last === undefined || appended.length > COMMITTED_MAX) return undefined
  const entries: LoggedEntry[] = appended.map(({ row }) => ({
    position: number(row, 'position'),
    entry: toEntry(row),
  }))
  return { entries, isEnd: true, end: last.end, beforeMs }
}
