import type { ReceiptSummary } from '@countersign/core/contract'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const listReceipts: Route<'list_receipts'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { state } = request.query
  return answerPage(
    request,
    deps,
    `receipts ${siteId} ${state ?? ''}`,
    (page) => deps.store.receipts(siteId, { state }, page),
    ({ seq }) => String(seq),
    (receipt): ReceiptSummary => receipt,
  )
}

export const readReceipt: Route<'read_receipt'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const receipt = await deps.store.receipt(siteId, request.params.seq)
  if (receipt === undefined)
    throw new Problem(
      'not_found',
      'This entry has no receipt. It is written about a second after the entry; the propagation endpoint returns the current state before that.',
    )
  return { status: 200, body: receipt }
}
