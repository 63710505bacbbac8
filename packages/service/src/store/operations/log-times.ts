import type { SiteId } from '@countersign/core'
import { number } from '../columns.ts'
import { exec, readLog, row, type Transaction } from '../transaction.ts'

/**
 * The log of this epoch was committed up to `position` by that time. The first time for a position
 * stays.
 */
export function* recordLogTime(epoch: string, position: number, atMs: number): Transaction<void> {
  yield* exec(
    'INSERT INTO log_times (epoch, position, at) VALUES ($1, $2, $3) ON CONFLICT (epoch, position) DO NOTHING',
    epoch,
    position,
    atMs,
  )
}

/**
 * The position of an entry and a recorded time by which it had been committed. Undefined when no
 * time has been recorded since.
 */
export const committedBy = readLog(function* (
  epoch: string,
  siteId: SiteId,
  seq: number,
): Transaction<{ readonly position: number; readonly atMs: number } | undefined> {
  const found = yield* row(
    `SELECT e.position, t.at FROM entries e JOIN log_times t ON t.epoch = e.epoch AND t.position >= e.position
     WHERE e.epoch = $1 AND e.site_id = $2 AND e.seq = $3 ORDER BY t.position LIMIT 1`,
    epoch,
    siteId,
    seq,
  )
  return found && { position: number(found, 'position'), atMs: number(found, 'at') }
})
