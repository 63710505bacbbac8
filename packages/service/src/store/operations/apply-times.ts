import type { SiteId } from '@countersign/core'
import { number, text } from '../columns.ts'
import { type Row, read, rows, type Transaction } from '../transaction.ts'

/** How many acknowledgements of a verifier were in a bucket, and the slowest of them. */
export interface ApplyTimeCount {
  /** Empty for verifiers without a configured name. */
  readonly verifierId: string
  /** See `toBucket`. */
  readonly bucket: number
  readonly count: number
  readonly msMax: number
}

/** More than a site has verifiers and buckets in use. */
const ROWS_MAX = 20_000

/** What verifiers of a site acknowledged for entries since then, by verifier and bucket. */
export const applyTimes = read(function* (
  siteId: SiteId,
  sinceMs: number,
): Transaction<readonly ApplyTimeCount[]> {
  const found = yield* rows(
    `SELECT verifier_id, bucket, CAST(SUM(count) AS BIGINT) AS count, MAX(ms_max) AS ms_max FROM apply_times
     WHERE site_id = $1 AND slot >= $2 GROUP BY verifier_id, bucket ORDER BY verifier_id, bucket LIMIT $3`,
    siteId,
    sinceMs,
    ROWS_MAX,
  )
  return found.map(toCount)
})

function toCount(found: Row): ApplyTimeCount {
  return {
    verifierId: text(found, 'verifier_id'),
    bucket: number(found, 'bucket'),
    count: number(found, 'count'),
    msMax: number(found, 'ms_max'),
  }
}
