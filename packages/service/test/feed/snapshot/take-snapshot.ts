import type { SiteView } from '@countersign/core'
import { type FeedSigner, snapshotParts } from '../../../src/feed/snapshot/body.ts'
import { type TextPart, toText } from '../../../src/feed/snapshot/gzip.ts'
import { SharedSnapshots, type SharedSnapshotsParts } from '../../../src/feed/snapshot/shared-snapshots.ts'

export interface TakeOrder {
  readonly store: SharedSnapshotsParts['store']
  readonly view: SiteView
  readonly asOfMs: number
  readonly signer: FeedSigner
}

/** The text of a snapshot without pages, which no other reader shares. */
export function takeSnapshot({ store, view, asOfMs, signer }: TakeOrder): AsyncIterable<Uint8Array> {
  const views = { age: () => ({ ageMs: 0, ageMsMax: 2000, asOfMs }), follow: () => () => {} }
  const shared = new SharedSnapshots({ store, views })
  const taken = shared.take({ view, paged: undefined, ageSecondsMax: 60, signer })
  const parts = async function* (): AsyncGenerator<TextPart> {
    yield* snapshotParts(taken, () => Promise.reject(new Error('there are no pages')))
  }
  return toText(parts())
}
