import { BoundedMap } from '../bounded-map.ts'

/** What a store knows under the hash of a secret, each value cached for a second. */
export interface SecretCache<Value> {
  /**
   * Undefined if there is none. Rejects if the store is unavailable. With `isFresh` the store is
   * queried now, whatever is cached. A promise only where the store is asked.
   */
  find(sha256: string, isFresh?: boolean): Value | undefined | Promise<Value | undefined>
  /** Whether there was a value when it was last looked up. It may be gone since. */
  has(sha256: string): boolean
  /**
   * Call this after such values were changed or removed: the change takes effect on this node
   * immediately, and on other nodes within `CACHED_MS`.
   */
  forget(isChanged: (value: Value) => boolean): void
}

/** What was removed must be rejected by every node within two seconds, including the lookup. */
const CACHED_MS = 1000
const VALUES_MAX = 10_000

interface Cached<Value> {
  readonly value: Value
  readonly lookedUpAtMs: number
}

interface Lookup<Value> {
  readonly answer: Promise<Value | undefined>
  readonly startedAtMs: number
}

/**
 * Only what exists is cached, so that guessing does not fill the cache. Ages are measured with
 * `monotonicMs`: setting the wall clock back must not prolong the life of what was removed.
 */
export function createSecretCache<Value>(
  load: (sha256: string) => Promise<Value | undefined>,
  monotonicMs: () => number,
): SecretCache<Value> {
  const cached = new BoundedMap<string, Cached<Value>>(VALUES_MAX)
  /** Lookups in flight, so that concurrent requests with one secret query the store once. */
  const asking = new Map<string, Lookup<Value>>()
  /** Incremented by every `forget`: the result of a lookup that started before may be stale. */
  let forgettings = 0
  const isRecent = (atMs: number) => monotonicMs() - atMs < CACHED_MS

  const lookUp = async (sha256: string): Promise<Value | undefined> => {
    const [lookedUpAtMs, before] = [monotonicMs(), forgettings]
    const value = await load(sha256)
    cached.delete(sha256)
    if (value === undefined || forgettings !== before) return value
    cached.set(sha256, { value, lookedUpAtMs })
    return value
  }

  const ask = (sha256: string): Promise<Value | undefined> => {
    const running = asking.get(sha256)
    // A slow lookup may have read the value long ago.
    if (running !== undefined && isRecent(running.startedAtMs)) return running.answer
    const end = () => {
      if (asking.get(sha256) === started) asking.delete(sha256)
    }
    const started: Lookup<Value> = { answer: lookUp(sha256).finally(end), startedAtMs: monotonicMs() }
    asking.set(sha256, started)
    return started.answer
  }

  return {
    find(sha256, isFresh = false) {
      // Not with a lookup in flight, which may have started before the change.
      if (isFresh) return lookUp(sha256)
      const known = cached.get(sha256)
      return known !== undefined && isRecent(known.lookedUpAtMs) ? known.value : ask(sha256)
    },
    has: (sha256) => cached.has(sha256),
    forget(isChanged) {
      forgettings++
      asking.clear()
      cached.deleteWhere(({ value }) => isChanged(value))
    },
  }
}
