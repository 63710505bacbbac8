import type { SiteId } from '@countersign/core'
import { number, optionalNumber } from '../columns.ts'
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
  // An entry that was removed was committed before the base. The time is not joined: PostgreSQL
  // would read the times from the beginning of the epoch.
  const found = yield* row(
    `SELECT placed.position, (
         SELECT t.at FROM log_times t WHERE t.epoch = $1 AND t.position >= placed.position
         ORDER BY t.position LIMIT 1
       ) AS at FROM (
         SELECT position FROM entries WHERE epoch = $1 AND site_id = $2 AND seq = $3
         UNION ALL
         SELECT c.base_position FROM checkpoint c JOIN checkpoint_sites s ON s.site_id = $2 AND s.base_seq >= $3 WHERE c.one = 1 AND c.epoch = $1
       ) placed
     ORDER BY placed.position LIMIT 1`,
    epoch,
    siteId,
    seq,
  )
  if (found === undefined) return undefined
  const atMs = optionalNumber(found, 'at')
  return atMs === undefined ? undefined : { position: number(found, 'position'), atMs }
})
