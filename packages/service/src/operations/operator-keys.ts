import { limits } from '@countersign/core/contract'
import { createApiKey } from '../actions/api-keys.ts'
import { loadAllRows } from '../all-rows.ts'
import { readStore } from '../store/maintenance.ts'
import type { ApiKey } from '../store/operations/api-keys.ts'
import { InvalidInput } from './invalid-input.ts'
import { type StoreSettings, withStore } from './with-store.ts'

/** Creates a key that may administer all sites. The store keeps only a hash of the secret. */
export async function createOperatorKey(
  settings: StoreSettings,
  label: string | undefined,
): Promise<{ readonly keyId: string; readonly secret: string }> {
  if (label !== undefined && [...label].length > limits.label_chars_max)
    throw new InvalidInput(`a label has at most ${limits.label_chars_max} characters`)
  const order = { siteId: null, permissions: [], label, expiresInSeconds: undefined }
  const { key, secret } = await withStore(settings, (at) => createApiKey(at, order, at.context()))
  return { keyId: key.keyId, secret }
}

/** Lists all operator keys, and skips rows whose MAC is wrong. Writes nothing. */
export function listOperatorKeys({ store, masterKey }: StoreSettings): Promise<readonly ApiKey[]> {
  return readStore(
    store,
    ({ apiKeys }) => loadAllRows((last, limit) => apiKeys(null, { after: last?.keyId, limit })),
    masterKey,
  )
}

/** False when there is no such key. */
export function deleteOperatorKey(settings: StoreSettings, keyId: string): Promise<boolean> {
  return withStore(settings, (at) => at.store.deleteApiKey(null, keyId, at.context()))
}
