import type { SiteId } from '@countersign/core'
import { number, text } from '../columns.ts'
import { type Row, read, rows, type Transaction } from '../transaction.ts'
import type { ApplyTime } from './shared/apply-time-rows.ts'

/** How many times of a verifier were in a bucket, and the longest of them. */
export interface ApplyTimeCount {
  /** Empty for verifiers without a configured name. */
  readonly verifierId: string
  readonly measure: ApplyTime['measure']
  /** See `toBucket`. */
  readonly bucket: number
  readonly count: number
  readonly msMax: number
}

/** More than a site has verifiers and buckets in use. */
const ROWS_MAX = 20_000

/** How long verifiers of a site took for entries since then, by verifier, measure and bucket. */
export const applyTimes = read(function* (
  siteId: SiteId,
  sinceMs: number,
): Transaction<readonly ApplyTimeCount[]> {
  const found = yield* rows(
    `SELECT verifier_id, measure, bucket, CAST(SUM(count) AS BIGINT) AS count, MAX(ms_max) AS ms_max FROM apply_times
     WHERE site_id = $1 AND slot >= $2 GROUP BY verifier_id, measure, bucket ORDER BY verifier_id, measure, bucket LIMIT $3`,
    siteId,
    sinceMs,
    ROWS_MAX,
  )
  return found.map(toCount)
})

function toCount(found: Row): ApplyTimeCount {
  return {
    verifierId: text(found, 'verifier_id'),
    measure: text(found, 'measure') as ApplyTime['measure'],
    bucket: number(found, 'bucket'),
    count: number(found, 'count'),
    msMax: number(found, 'ms_max'),
  }
}
