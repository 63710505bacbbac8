import type { EndpointId } from '@countersign/core/contract'
import type { Logger } from 'pino'
import type { Caller } from '../routes/route.ts'
import type { Store } from '../store/store.ts'

interface KeyRefusal {
  readonly code: 'api_key_invalid' | 'api_key_forbidden'
  readonly endpoint: EndpointId
  /** Undefined when nobody knows whose key it was. */
  readonly caller: Caller | undefined
  readonly requestId: string
  readonly nowMs: number
}

/** Writes refusals of keys into the audit: in the background, and only so many a second, so that guessing cannot fill the store. */
export interface KeyRefusals {
  note(refusal: KeyRefusal): void
  /** Resolves when everything noted so far is written, or given up. */
  settled(): Promise<void>
}

const ROWS_PER_SECOND_MAX = 10

export function createKeyRefusals(store: Pick<Store, 'audit'>, log: Logger): KeyRefusals {
  const running = new Set<Promise<void>>()
  let second = 0
  let rows = 0

  const write = async ({ code, endpoint, caller, requestId, nowMs }: KeyRefusal) => {
    const isSite = caller?.kind === 'site'
    try {
      await store.audit({
        siteId: isSite ? caller.siteId : null,
        action: 'key.refused',
        target: isSite ? caller.keyId : undefined,
        detail: { code, endpoint },
        act: { actor: isSite ? `key:${caller.keyId}` : 'nobody', atMs: nowMs, requestId },
      })
    } catch (error) {
      log.warn({ err: error, request_id: requestId }, 'a refusal of a key could not be written to the audit')
    }
  }

  return {
    note(refusal) {
      const now = Math.floor(refusal.nowMs / 1000)
      rows = now === second ? rows + 1 : 1
      second = now
      if (rows > ROWS_PER_SECOND_MAX) return
      const writing = write(refusal).finally(() => running.delete(writing))
      running.add(writing)
    },
    async settled() {
      await Promise.all(running)
    },
  }
}
