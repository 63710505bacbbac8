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

/** The entries after `last`, or after `from`. Throws a `LogCorrupted` when one is missing. */
export function newEntries(
  page: readonly LoggedEntry[],
  last: LoggedEntry | undefined,
  from: number,
): readonly LoggedEntry[] {
  let position = from
  if (last !== undefined) {
    const again = page[0]
    if (again?.position !== last.position)
      throw new LogCorrupted('missing', `entry ${last.position} of the log has gone`)
    if (again.entry.hash !== last.entry.hash)
      throw new LogCorrupted('other_entries', `entry ${last.position} of the log has changed`)
    position = last.position
  }
  const entries = last === undefined ? page : page.slice(1)
  for (const entry of entries) {
    if (entry.position !== ++position)
      throw new LogCorrupted('missing', `entry ${position} of the log is missing`)
  }
  return entries
}
