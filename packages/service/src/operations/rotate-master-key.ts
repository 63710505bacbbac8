import { MASTER_KEY_SEAL } from '../sealing/purposes.ts'
import { createSealer } from '../sealing/sealer.ts'
import { resealStore } from '../store/maintenance.ts'
import type { StoreSettings } from './with-store.ts'

/** Which master key the store is sealed under now and before, and how many texts were sealed. */
export interface RotatedMasterKey {
  readonly keyName: string
  readonly before: string
  readonly count: number
}

/**
 * Seals everything secret in the store under a new master key, in one transaction with an audit
 * row. When it rejects, nothing has changed.
 */
export async function rotateMasterKey(
  { store, masterKey }: StoreSettings,
  newMasterKey: Uint8Array,
): Promise<RotatedMasterKey> {
  const [from, to] = [createSealer(masterKey), createSealer(newMasterKey)]
  const count = await resealStore(store, {
    from: from.keyName,
    reseal: (purpose, sealed) => to.seal(purpose, from.open(purpose, sealed)),
    masterKeySeal: to.seal(MASTER_KEY_SEAL, to.keyName),
    context: { actor: 'operator', atMs: Date.now() },
  })
  return { keyName: to.keyName, before: from.keyName, count }
}
