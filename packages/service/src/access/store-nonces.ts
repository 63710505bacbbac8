import { createHash } from 'node:crypto'
import type { NonceStore } from '@countersign/core'
import type { Store } from '../store/store.ts'

/** How long a nonce is kept after its proof has expired, for nodes whose clocks are behind. */
const MARGIN_MS = 120_000

/**
 * Consumes nonces in the store, so that a holder proof is valid once on all nodes together. Throws
 * when the store is unavailable.
 */
export function createStoreNonces(store: Pick<Store, 'consumeOnce'>): NonceStore {
  return {
    async consume({ holderKey, nonce, usableUntilMs }) {
      const name = createHash('sha256').update(`${holderKey} ${nonce}`).digest('hex')
      return (await store.consumeOnce('nonce', name, usableUntilMs + MARGIN_MS)) ? 'fresh' : 'replayed'
    },
  }
}
