import type { Clocks } from '@countersign/core'
import type { LogPart } from './checkpoints/log-part.ts'
import type { EntryContent } from './entry-hash.ts'
import type { LogAfter, LogBefore } from './extend-log.ts'
import { LogCorrupted } from './log-corrupted.ts'
import type { LogEnd } from './operations/log.ts'
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
  /** The clocks of the machine before the transaction began. */
  readonly before: Clocks
}

/**
 * Entries of a part. More of them are read from the store instead: what is handed over is parsed a
 * second time when the store is read again, and a busy node has no time for that.
 */
export const COMMITTED_MAX = 8

/** Undefined without entries, with too many, and with an unreadable one, which the tail reports. */
export function toCommittedPart(appended: readonly AppendedRow[], before: Clocks): CommittedPart | undefined {
  const last = appended.at(-1)
  if (last === undefined || appended.length > COMMITTED_MAX) return undefined
  try {
    const entries = appended.map(({ row, end }) => ({ position: end.position, entry: toEntry(row) }))
    return { entries, isEnd: true, end: last.end, before }
  } catch (fault) {
    if (fault instanceof LogCorrupted) return undefined
    throw fault
  }
}

/** The row of an entry, as it was stored. */
export function toAppendedRow(
  { epoch, siteId, kind, bodyJson, at }: Omit<EntryContent, 'seq' | 'prevHash'>,
  { keysDeleted, hash: prev_hash }: LogBefore,
  { position, digest, seq, hash }: LogAfter,
): AppendedRow {
  const row = { epoch, position, site_id: siteId, seq, kind, body: bodyJson, at, prev_hash, hash }
  return { row, end: { position, digest, keysDeleted } }
}
