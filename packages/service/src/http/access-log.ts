import type { Logger } from 'pino'
import type { Meters } from '../meters.ts'
import type { RawRequest } from './raw-request.ts'
import type { MountedEndpoint, Reply } from './respond.ts'

/** One line of JSON for each request. What came in query, headers or body is never part of it. */
export interface AccessLog {
  request(raw: RawRequest, endpoint: MountedEndpoint | undefined, reply: Reply, ms: number): void
  /** For what was refused before there was a request. */
  unread(code: string, requestId: string): void
  /** For what must not leave: everything that is known about it. */
  fault(fault: unknown, endpoint: MountedEndpoint | undefined, requestId: string): void
}

/** Under which everything is counted that met no endpoint. */
const NOWHERE = 'none'

export function createAccessLog(log: Logger, meters: Meters): AccessLog {
  return {
    request(raw, endpoint, reply, ms) {
      const { status, code } = reply
      const id = endpoint?.id ?? NOWHERE
      meters.request(id, status, ms / 1000)
      if (code !== undefined) meters.problem(id, code)
      if (!log.isLevelEnabled('info')) return
      const { caller } = raw
      log.info(
        {
          method: raw.method,
          // The pattern, not the path: a path may hold anything that a caller typed.
          route: endpoint?.path ?? null,
          status,
          code,
          ms: Math.round(ms * 100) / 100,
          request_id: raw.requestId,
          key_id: caller === undefined || caller.kind === 'anonymous' ? undefined : caller.keyId,
        },
        'request',
      )
    },
    unread(code, requestId) {
      meters.problem(NOWHERE, code)
      log.info({ method: null, route: null, code, request_id: requestId }, 'request')
    },
    fault(fault, endpoint, requestId) {
      log.error({ err: fault, route: endpoint?.path ?? null, request_id: requestId }, 'fault')
    },
  }
}
