import { isDeepStrictEqual } from 'node:util'
import { LogCorrupted } from '../log-corrupted.ts'
import type { LogEnd, LoggedEntry } from '../operations/log.ts'

/** A part of the log, in order and without gaps. */
export interface LogPart {
  readonly entries: readonly LoggedEntry[]
  /** Whether the log ended with this part when the store was asked. */
  readonly isEnd: boolean
  /** Where the log ended at that moment, authenticated by its MAC. */
  readonly end: LogEnd
}

/**
 * The entries of a page after those that are known, or after `from`. Throws a `LogCorrupted` unless
 * the page begins with those that are known, and when one is missing.
 */
export function newEntries(
  page: readonly LoggedEntry[],
  known: readonly LoggedEntry[],
  from: number,
): readonly LoggedEntry[] {
  for (const [i, { position, entry }] of known.entries()) {
    const again = page[i]
    if (again?.position !== position)
      throw new LogCorrupted('missing', `entry ${position} of the log has gone`)
    if (!isDeepStrictEqual(again.entry, entry))
      throw new LogCorrupted('other_entries', `entry ${position} of the log has changed`)
  }
  let position = known.at(-1)?.position ?? from
  const entries = page.slice(known.length)
  for (const entry of entries) {
    if (entry.position !== ++position)
      throw new LogCorrupted('missing', `entry ${position} of the log is missing`)
  }
  return entries
}
