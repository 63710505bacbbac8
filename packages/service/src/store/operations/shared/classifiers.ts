import type { SiteId } from '@countersign/core'
import { number } from '../../columns.ts'
import { exec, lock, row, type Transaction } from '../../transaction.ts'

/** Until the end of the transaction, no other begins to classify the credentials of the site. */
export function* lockClassification(siteId: SiteId): Transaction<void> {
  yield* lock(`credential statuses ${siteId}`)
}

/**
 * Whether statuses that a view of the site at `viewSeq` gives may be written: no node with a later
 * view has begun to classify. Stays true until the end of the transaction. Until any node has begun
 * to classify, all credentials of the site are new, and no entry up to `viewSeq` has to be applied.
 */
export function* mayClassify(siteId: SiteId, viewSeq: number): Transaction<boolean> {
  yield* lockClassification(siteId)
  const claimed = yield* row('SELECT claimed_seq FROM credential_statuses WHERE site_id = $1', siteId)
  if (claimed !== undefined) return number(claimed, 'claimed_seq') <= viewSeq
  yield* exec(
    `INSERT INTO credential_statuses (site_id, seq, claimed_seq)
     SELECT site_id, CAST($2 AS BIGINT), CAST($2 AS BIGINT) FROM sites WHERE site_id = $1`,
    siteId,
    viewSeq,
  )
  return true
}
