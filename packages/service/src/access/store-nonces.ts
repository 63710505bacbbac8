import { createHash } from 'node:crypto'
import type { NonceStore } from '@countersign/core'
import type { Store } from '../store/store.ts'

/**
 * Beyond the end of a proof: another node whose clock runs behind may still take the proof for a
 * young one.
 */
const MARGIN_MS = 120_000

/**
 * Holder proofs work once, on whatever node they are shown: their nonces are used up in the store.
 * Throws when the store cannot be asked.
 */
export function createStoreNonces(store: Pick<Store, 'consumeOnce'>): NonceStore {
  return {
    async consume({ holderKey, nonce, usableUntilMs }) {
      const name = createHash('sha256').update(`${holderKey} ${nonce}`).digest('hex')
      return (await store.consumeOnce('nonce', name, usableUntilMs + MARGIN_MS)) ? 'fresh' : 'replayed'
    },
  }
}
