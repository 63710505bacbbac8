import type { SiteId } from '@countersign/core'
import { number, optionalNumber } from '../../columns.ts'
import { exec, lock, row, type Transaction } from '../../transaction.ts'

/** Until the end of the transaction, no other begins to classify the credentials of the site. */
export function* lockClassification(siteId: SiteId): Transaction<void> {
  yield* lock(`credential statuses ${siteId}`)
}

/**
 * Whether statuses that a view of the site at `viewSeq` gives may be written: the log goes that
 * far, and no node with a later view has begun to classify. A view that is ahead of the log is of
 * another epoch, from before a fail-over. Stays true until the end of the transaction. Until any
 * node has begun to classify, all credentials of the site are new, and no entry up to `viewSeq` has
 * to be applied.
 */
export function* mayClassify(siteId: SiteId, viewSeq: number): Transaction<boolean> {
  yield* lockClassification(siteId)
  const found = yield* row(
    `SELECT h.seq, s.claimed_seq FROM heads h LEFT JOIN credential_statuses s ON s.site_id = h.site_id
     WHERE h.site_id = $1`,
    siteId,
  )
  if (found === undefined || number(found, 'seq') < viewSeq) return false
  const claimedSeq = optionalNumber(found, 'claimed_seq')
  if (claimedSeq !== undefined) return claimedSeq <= viewSeq
  yield* exec(
    `INSERT INTO credential_statuses (site_id, seq, claimed_seq)
     SELECT site_id, CAST($2 AS BIGINT), CAST($2 AS BIGINT) FROM sites WHERE site_id = $1`,
    siteId,
    viewSeq,
  )
  return true
}
