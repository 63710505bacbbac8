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
 * The position of an entry and a recorded time by which it had been committed; for an entry that is
 * no longer kept, the position of the base. Undefined when no time has been recorded since.
 */
export const committedBy = readLog(function* (
  epoch: string,
  siteId: SiteId,
  seq: number,
): Transaction<{ readonly position: number; readonly atMs: number } | undefined> {
  // An entry that was removed was committed before the base.
  const found = yield* row(
    `SELECT at.position, t.at FROM (
         SELECT position FROM entries WHERE epoch = $1 AND site_id = $2 AND seq = $3
         UNION ALL
         SELECT c.base_position FROM checkpoint c JOIN checkpoint_sites s ON s.site_id = $2 AND s.base_seq >= $3 WHERE c.one = 1 AND c.epoch = $1
       ) at JOIN log_times t ON t.epoch = $1 AND t.position >= at.position
     ORDER BY t.position LIMIT 1`,
    epoch,
    siteId,
    seq,
  )
  return found && { position: number(found, 'position'), atMs: number(found, 'at') }
})
