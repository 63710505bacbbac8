import type { SiteId } from '@countersign/core'
import { type Row, rows, type Transaction } from '../../transaction.ts'

/** The next entries of a site in the current epoch: epoch, seq and kind. */
export function* entriesAfter(siteId: SiteId, seq: number, limit: number): Transaction<readonly Row[]> {
  // A join with the log would give PostgreSQL no order by seq: it would read and sort all of them.
  return yield* rows(
    `SELECT epoch, seq, kind FROM entries WHERE epoch = (SELECT log.epoch FROM log WHERE log.one = 1)
       AND site_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
    siteId,
    seq,
    limit,
  )
}
