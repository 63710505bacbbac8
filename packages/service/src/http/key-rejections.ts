import type { EndpointId, ProblemCode } from '@countersign/core/contract'
import type { Logger } from 'pino'
import type { Caller } from '../answer.ts'
import { AUDIT_REJECTED } from '../store/audit-rows.ts'
import type { Store } from '../store/store.ts'

interface KeyRejection {
  readonly code: ProblemCode
  readonly endpoint: EndpointId
  /** Undefined when the key is unknown. */
  readonly caller: Caller | undefined
  /** The person, in the console. */
  readonly personId?: string | undefined
  readonly requestId: string
  readonly nowMs: number
}

/**
 * Writes rejected API keys, and what the console has rejected, to the audit, in the background.
 * Limited per minute for each site, each person and anonymous callers, so that guessing neither
 * fills the store nor hides other callers.
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
  /** Rows written in this window, by site or person. */
  let rows = new Map<string, number>()

  const write = async ({ code, endpoint, caller, personId, requestId, nowMs }: KeyRejection) => {
    const isSite = caller?.kind === 'site'
    const keyId = isSite ? caller.keyId : undefined
    try {
      await store.audit({
        siteId: isSite ? caller.siteId : null,
        action: isOfKey(code) ? 'key.refused' : 'console.rejected',
        target: personId ?? keyId,
        detail: { outcome: AUDIT_REJECTED, code, endpoint },
        context: { actor: toActor(personId, keyId), atMs: nowMs, requestId },
      })
    } catch (error) {
      log.warn({ err: error, request_id: requestId }, 'could not write a rejected request to the audit')
    }
  }

  return {
    record(rejection) {
      const now = Math.floor(rejection.nowMs / WINDOW_MS)
      if (now !== window) rows = new Map()
      window = now
      const bucket = toBucket(rejection)
      const before = rows.get(bucket) ?? 0
      if (before >= ROWS_MAX) return
      rows.set(bucket, before + 1)
      const writing = write(rejection).finally(() => running.delete(writing))
      running.add(writing)
    },
    async flush() {
      await Promise.all(running)
    },
  }
}

function isOfKey(code: ProblemCode): boolean {
  return code === 'api_key_invalid' || code === 'api_key_forbidden'
}

function toActor(personId: string | undefined, keyId: string | undefined): string {
  if (personId !== undefined) return `person:${personId}`
  return keyId === undefined ? 'anonymous' : `key:${keyId}`
}

/** Whose allowance of rows a rejection uses. */
function toBucket({ code, caller, personId }: KeyRejection): string {
  if (personId !== undefined) return `person ${personId}`
  // By code, so that one kind of rejection does not hide another.
  if (!isOfKey(code)) return `console ${code}`
  return caller?.kind === 'site' ? caller.siteId : ''
}
