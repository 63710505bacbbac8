import type { Logger } from 'pino'
import { BoundedMap } from '../bounded-map.ts'
import { everyMs } from '../every-ms.ts'
import type { Store } from '../store/store.ts'

/** Records the hour in which each API key was last used. */
export interface KeyUses {
  /** Takes no time: the store is written about once a minute, for keys with a new hour. */
  record(keyId: string, nowMs: number): void
  /** Writes what is waiting. */
  close(): Promise<void>
}

const EVERY_MS = 60_000
const HOUR_MS = 3_600_000
const KEYS_MAX = 10_000
/** Keys of one transaction. */
const BATCH = 500

/**
 * A failure is logged and tried again. When more than `KEYS_MAX` keys are waiting, some are not
 * recorded.
 */
export function openKeyUses(
  { store, log }: { readonly store: Pick<Store, 'recordKeyUses'>; readonly log: Pick<Logger, 'warn'> },
  ms: number = EVERY_MS,
): KeyUses {
  const written = new BoundedMap<string, number>(KEYS_MAX)
  const waiting = new Map<string, number>()

  const write = async () => {
    const all = [...waiting].map(([keyId, usedAtMs]) => ({ keyId, usedAtMs }))
    for (let from = 0; from < all.length; from += BATCH) {
      const uses = all.slice(from, from + BATCH)
      await store.recordKeyUses(uses)
      for (const { keyId, usedAtMs } of uses) {
        written.set(keyId, usedAtMs)
        // It may have been used in the next hour meanwhile.
        if (waiting.get(keyId) === usedAtMs) waiting.delete(keyId)
      }
    }
  }
  const onFailure = (err: unknown) => log.warn({ err }, 'the use of API keys could not be recorded')
  const writing = everyMs(ms, write, onFailure, 0.2)

  return {
    record(keyId, nowMs) {
      const hourMs = nowMs - (nowMs % HOUR_MS)
      if ((written.get(keyId) ?? 0) >= hourMs) return
      if (waiting.size < KEYS_MAX || waiting.has(keyId)) waiting.set(keyId, hourMs)
    },
    async close() {
      await writing.close()
      await write().catch(onFailure)
    },
  }
}
