import { BoundedMap } from '../bounded-map.ts'
import type { ApiKey } from '../store/operations/api-keys.ts'
import type { Store } from '../store/store.ts'
import { parseSecretText, secretSha256 } from './secret-text.ts'

/** The API keys of the store, each cached for a second. */
export interface ApiKeys {
  /**
   * The API key with this secret; undefined if there is none or it has expired. Rejects if the
   * store is unavailable.
   */
  find(secret: string, nowMs: number): Promise<ApiKey | undefined>
  /** Whether the secret was valid when it was last looked up. It may be deleted since. */
  wasGood(secret: string): boolean
  /**
   * Call this after deleting a key: it stops working on this node immediately, and on other nodes
   * within `KEY_CACHED_MS`.
   */
  forget(keyId: string): void
}

/** A deleted key must be rejected by every node within two seconds, including the lookup. */
const KEY_CACHED_MS = 1000
const KEYS_MAX = 10_000

interface CachedKey {
  readonly key: ApiKey
  readonly lookedUpAtMs: number
}

/**
 * Only valid keys are cached, so that guessing does not fill the cache. Ages are measured with
 * `monotonicMs`: setting the wall clock back must not prolong the life of a deleted key. `onUse` is
 * called each time that a valid key is found.
 */
export function createApiKeys(
  store: Pick<Store, 'apiKeyBySha256'>,
  monotonicMs: () => number = () => performance.now(),
  onUse: (keyId: string, nowMs: number) => void = () => undefined,
): ApiKeys {
  const cached = new BoundedMap<string, CachedKey>(KEYS_MAX)
  /** Lookups in flight, so that concurrent requests with one key query the store once. */
  const asking = new Map<string, Promise<ApiKey | undefined>>()
  /** Incremented by every `forget`: the result of a lookup that started before may be stale. */
  let forgettings = 0

  const lookUp = async (sha256: string): Promise<ApiKey | undefined> => {
    const [lookedUpAtMs, before] = [monotonicMs(), forgettings]
    const key = await store.apiKeyBySha256(sha256)
    cached.delete(sha256)
    if (key === undefined || forgettings !== before) return key
    cached.set(sha256, { key, lookedUpAtMs })
    return key
  }

  const ask = (sha256: string): Promise<ApiKey | undefined> => {
    const running = asking.get(sha256)
    if (running !== undefined) return running
    const started = lookUp(sha256).finally(() => {
      if (asking.get(sha256) === started) asking.delete(sha256)
    })
    asking.set(sha256, started)
    return started
  }

  return {
    async find(secret, nowMs) {
      const sha256 = secretSha256(secret)
      const known = cached.get(sha256)
      if (known === undefined && parseSecretText('svc_sk_', secret) === undefined) return undefined
      const isRecent = known !== undefined && monotonicMs() - known.lookedUpAtMs < KEY_CACHED_MS
      const key = isRecent ? known.key : await ask(sha256)
      const isExpired = key?.expiresAtMs !== undefined && key.expiresAtMs <= nowMs
      if (key === undefined || isExpired) return undefined
      onUse(key.keyId, nowMs)
      return key
    },
    wasGood(secret) {
      return cached.has(secretSha256(secret))
    },
    forget(keyId) {
      forgettings++
      asking.clear()
      cached.deleteWhere(({ key }) => key.keyId === keyId)
    },
  }
}
