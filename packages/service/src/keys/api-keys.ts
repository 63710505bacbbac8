import type { ApiKey, Store } from '../store/store.ts'
import { parseSecretText, secretSha256 } from './secret-text.ts'

/** The API keys of the store, each remembered for a moment. */
export interface ApiKeys {
  /**
   * The key behind a secret; undefined when there is none, or its end has come. Rejects when the
   * store cannot be asked.
   */
  find(secret: string, nowMs: number): Promise<ApiKey | undefined>
  /** Whether the secret was good when it was last looked up. Says nothing about now. */
  wasGood(secret: string): boolean
  /**
   * For code that deletes a key: it stops working on this node at once. Other nodes follow within
   * `KEY_REMEMBERED_MS`.
   */
  forget(keyId: string): void
}

/** A deleted key must be dead on every node within two seconds, the time of asking included. */
const KEY_REMEMBERED_MS = 1000
const KEYS_MAX = 10_000

interface Remembered {
  readonly key: ApiKey
  readonly lookedUpAtMs: number
}

/**
 * Only good keys are remembered, so that guessing does not fill the memory. Ages are measured with
 * `monotonicMs`: a clock that is set back must not lengthen the life of a deleted key.
 */
export function createApiKeys(
  store: Pick<Store, 'apiKeyBySha256'>,
  monotonicMs: () => number = () => performance.now(),
): ApiKeys {
  const remembered = new Map<string, Remembered>()
  /** Look-ups under way, so that a crowd with one key asks the store once. */
  const asking = new Map<string, Promise<ApiKey | undefined>>()
  /** Raised by every `forget`: what was asked before it may be out of date. */
  let forgettings = 0

  const lookUp = async (sha256: string): Promise<ApiKey | undefined> => {
    const [lookedUpAtMs, before] = [monotonicMs(), forgettings]
    const key = await store.apiKeyBySha256(sha256)
    remembered.delete(sha256)
    if (key === undefined || forgettings !== before) return key
    const oldest = remembered.size >= KEYS_MAX ? remembered.keys().next().value : undefined
    if (oldest !== undefined) remembered.delete(oldest)
    remembered.set(sha256, { key, lookedUpAtMs })
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
      const known = remembered.get(sha256)
      if (known === undefined && parseSecretText('svc_sk_', secret) === undefined) return undefined
      const isRecent = known !== undefined && monotonicMs() - known.lookedUpAtMs < KEY_REMEMBERED_MS
      const key = isRecent ? known.key : await ask(sha256)
      const isExpired = key?.expiresAtMs !== undefined && key.expiresAtMs <= nowMs
      return isExpired ? undefined : key
    },
    wasGood(secret) {
      return remembered.has(secretSha256(secret))
    },
    forget(keyId) {
      forgettings++
      asking.clear()
      for (const [sha256, { key }] of remembered) if (key.keyId === keyId) remembered.delete(sha256)
    },
  }
}
