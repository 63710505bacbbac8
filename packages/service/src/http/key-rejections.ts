import type { EndpointId } from '@countersign/core/contract'
import type { Logger } from 'pino'
import type { Caller } from '../answer.ts'
import { AUDIT_REJECTED } from '../store/audit-rows.ts'
import type { Store } from '../store/store.ts'

interface KeyRejection {
  readonly code: 'api_key_invalid' | 'api_key_forbidden'
  readonly endpoint: EndpointId
  /** Undefined when the key is unknown. */
  readonly caller: Caller | undefined
  readonly requestId: string
  readonly nowMs: number
}

/**
 * Writes rejected API keys to the audit, in the background. Limited per minute for each site and
 * for anonymous callers, so that guessing keys neither fills the store nor hides other callers.
 */
export interface KeyRejections {
  record(rejection: KeyRejection): void
  /** Resolves when everything recorded so far is written, or its write has failed. */
  flush(): Promise<void>
}

const WINDOW_MS = 60_000
const ROWS_MAX = 30

export function createKeyRejections(store: Pick<Store, 'audit'>, log: Logger): KeyRejections {
  const running = new Set<Promise<void>>()
  let window = 0
  /** Rows written in this window, by site. */
  let rows = new Map<string, number>()

  const write = async ({ code, endpoint, caller, requestId, nowMs }: KeyRejection) => {
    const isSite = caller?.kind === 'site'
    try {
      await store.audit({
        siteId: isSite ? caller.siteId : null,
        action: 'key.refused',
        target: isSite ? caller.keyId : undefined,
        detail: { outcome: AUDIT_REJECTED, code, endpoint },
        context: { actor: isSite ? `key:${caller.keyId}` : 'anonymous', atMs: nowMs, requestId },
      })
    } catch (error) {
      log.warn({ err: error, request_id: requestId }, 'could not write a rejected API key to the audit')
    }
  }

  return {
    record(rejection) {
      const now = Math.floor(rejection.nowMs / WINDOW_MS)
      if (now !== window) rows = new Map()
      window = now
      const siteId = rejection.caller?.kind === 'site' ? rejection.caller.siteId : ''
      const before = rows.get(siteId) ?? 0
      if (before >= ROWS_MAX) return
      rows.set(siteId, before + 1)
      const writing = write(rejection).finally(() => running.delete(writing))
      running.add(writing)
    },
    async flush() {
      await Promise.all(running)
    },
  }
}
