import type { Logger } from 'pino'
import type { Meters } from '../meters.ts'
import type { MountedEndpoint, Outgoing } from './exit.ts'
import type { Incoming } from './incoming.ts'

/** One line of JSON for each request. What came in query, headers or body is never part of it. */
export interface AccessLog {
  request(incoming: Incoming, endpoint: MountedEndpoint | undefined, outgoing: Outgoing, ms: number): void
  /** For what was refused before there was a request. */
  unread(code: string, requestId: string): void
  /** For what must not leave: everything that is known about it. */
  fault(fault: unknown, endpoint: MountedEndpoint | undefined, requestId: string): void
}

/** Under which everything is counted that met no endpoint. */
const NOWHERE = 'none'

export function createAccessLog(log: Logger, meters: Meters): AccessLog {
  return {
    request(incoming, endpoint, outgoing, ms) {
      const { status, code } = outgoing
      const id = endpoint?.id ?? NOWHERE
      meters.request(id, status, ms / 1000)
      if (code !== undefined) meters.problem(id, code)
      if (!log.isLevelEnabled('info')) return
      const { caller } = incoming
      log.info(
        {
          method: incoming.method,
          // The pattern, not the path: a path may hold anything that a caller typed.
          route: endpoint?.path ?? null,
          status,
          code,
          ms: Math.round(ms * 100) / 100,
          request_id: incoming.requestId,
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
