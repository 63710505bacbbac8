import type { Receipt } from '@countersign/core/contract'
import { send } from '../api/call.ts'
import { type FeedKey, verifyReceipt } from './verify-log.ts'

/** Whether a feed key of this service signed the receipt. It may be older than the current key. */
export async function checkReceipt(receipt: Receipt): Promise<boolean> {
  const discovery = (await (await send('/.well-known/countersign')).json()) as {
    feed: { keys: readonly FeedKey[]; chain: readonly FeedKey[] }
  }
  return verifyReceipt(receipt, [...discovery.feed.keys, ...discovery.feed.chain])
}
