import type { EndpointId } from '@countersign/core/contract'
import type { Logger } from 'pino'
import type { Caller } from '../answer.ts'
import type { Store } from '../store/store.ts'

interface KeyRefusal {
  readonly code: 'api_key_invalid' | 'api_key_forbidden'
  readonly endpoint: EndpointId
  /** Undefined when it is not known whose key it was. */
  readonly caller: Caller | undefined
  readonly requestId: string
  readonly nowMs: number
}

/**
 * Writes refusals of keys into the audit: in the background, and only so many a minute for each
 * site and for anonymous callers, so that guessing neither fills the store nor hides what others
 * do.
 */
export interface KeyRefusals {
  note(refusal: KeyRefusal): void
  /** Resolves when everything noted so far is written, or given up. */
  settled(): Promise<void>
}

const WINDOW_MS = 60_000
const ROWS_MAX = 30

export function createKeyRefusals(store: Pick<Store, 'audit'>, log: Logger): KeyRefusals {
  const running = new Set<Promise<void>>()
  let window = 0
  /** In this window, by site. */
  let rows = new Map<string, number>()

  const write = async ({ code, endpoint, caller, requestId, nowMs }: KeyRefusal) => {
    const isSite = caller?.kind === 'site'
    try {
      await store.audit({
        siteId: isSite ? caller.siteId : null,
        action: 'key.refused',
        target: isSite ? caller.keyId : undefined,
        detail: { code, endpoint },
        act: { actor: isSite ? `key:${caller.keyId}` : 'anonymous', atMs: nowMs, requestId },
      })
    } catch (error) {
      log.warn({ err: error, request_id: requestId }, 'a refusal of a key could not be written to the audit')
    }
  }

  return {
    note(refusal) {
      const now = Math.floor(refusal.nowMs / WINDOW_MS)
      if (now !== window) rows = new Map()
      window = now
      const whose = refusal.caller?.kind === 'site' ? refusal.caller.siteId : ''
      const before = rows.get(whose) ?? 0
      if (before >= ROWS_MAX) return
      rows.set(whose, before + 1)
      const writing = write(refusal).finally(() => running.delete(writing))
      running.add(writing)
    },
    async settled() {
      await Promise.all(running)
    },
  }
}
