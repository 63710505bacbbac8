import type { Receipt } from '@countersign/core/contract'
import { checkDocument } from './check-document.ts'

/** Whether a feed key of this service signed the receipt. It may be older than the current key. */
export async function checkReceipt(receipt: Receipt): Promise<boolean> {
  return (await checkDocument(receipt)).ok
}
