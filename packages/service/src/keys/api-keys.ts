import type { ApiKey } from '../store/operations/api-keys.ts'
import type { Store } from '../store/store.ts'
import { createSecretCache } from './secret-cache.ts'
import { parseSecretText, secretSha256 } from './secret-text.ts'

/** The API keys of the store, each cached for a second. */
export interface ApiKeys {
  /**
   * The API key with this secret; undefined if there is none or it has expired. Rejects if the
   * store is unavailable. With `isFresh` the store is queried now. A promise only where the store
   * is asked.
   */
  find(secret: string, nowMs: number, isFresh?: boolean): ApiKey | undefined | Promise<ApiKey | undefined>
  /** Whether the secret was valid when it was last looked up. It may be deleted since. */
  wasGood(secret: string): boolean
  /**
   * Call this after deleting a key: it stops working on this node immediately, and on other nodes
   * within a second.
   */
  forget(keyId: string): void
}

/** Cached as `createSecretCache` says. `onUse` is called each time that a valid key is found. */
export function createApiKeys(
  store: Pick<Store, 'apiKeyBySha256'>,
  monotonicMs: () => number = () => performance.now(),
  onUse: (keyId: string, nowMs: number) => void = () => undefined,
): ApiKeys {
  const keys = createSecretCache((sha256) => store.apiKeyBySha256(sha256), monotonicMs)
  const use = (key: ApiKey | undefined, nowMs: number): ApiKey | undefined => {
    const isExpired = key?.expiresAtMs !== undefined && key.expiresAtMs <= nowMs
    if (key === undefined || isExpired) return undefined
    onUse(key.keyId, nowMs)
    return key
  }
  return {
    find(secret, nowMs, isFresh) {
      const sha256 = secretSha256(secret)
      if (!keys.has(sha256) && parseSecretText('svc_sk_', secret) === undefined) return undefined
      const key = keys.find(sha256, isFresh)
      return key instanceof Promise ? key.then((later) => use(later, nowMs)) : use(key, nowMs)
    },
    wasGood: (secret) => keys.has(secretSha256(secret)),
    forget: (keyId) => keys.forget((key) => key.keyId === keyId),
  }
}
