import type { Receipt, ReceiptSummary } from '@countersign/core/contract'
import { call } from '../api/call.ts'

const LISTED = 50

/**
 * The receipts of new entries that are written already, by seq. The list says which ones are:
 * asking for one that does not exist is an error in the console of the browser.
 */
export async function loadWritten(
  siteId: string,
  seqs: readonly number[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<number, Receipt>> {
  const options = { site: siteId, ...(signal && { signal }) }
  const path = `/api/sites/${siteId}/receipts`
  const page = await call<{ items: readonly ReceiptSummary[] }>(path, {
    ...options,
    query: { limit: LISTED },
  })
  const oldest = page.items.length < LISTED ? 0 : Math.min(...page.items.map(({ seq }) => seq))
  const written = seqs.filter((seq) => seq < oldest || page.items.some((each) => each.seq === seq))
  const found = await Promise.all(
    written.map((seq) => call<Receipt>(`${path}/${seq}`, options).catch(() => undefined)),
  )
  return new Map(found.flatMap((receipt) => (receipt === undefined ? [] : [[receipt.seq, receipt]])))
}
