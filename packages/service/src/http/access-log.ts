import type { Logger } from 'pino'
import type { Meters } from '../meters.ts'
import type { RawRequest } from './raw-request.ts'
import type { MountedEndpoint, Reply } from './respond.ts'

/** One line of JSON for each request, without anything from its query, headers or body. */
export interface AccessLog {
  request(raw: RawRequest, endpoint: MountedEndpoint | undefined, reply: Reply, ms: number): void
  /** For what Node's parser rejected. */
  unread(code: string, requestId: string): void
  /** For faults of the service, with all details, which responses do not have. */
  fault(fault: unknown, endpoint: MountedEndpoint | undefined, requestId: string): void
}

/** The endpoint of requests without one, in metrics. */
const NO_ENDPOINT = 'none'

export function createAccessLog(log: Logger, meters: Meters): AccessLog {
  return {
    request(raw, endpoint, reply, ms) {
      const { status, code } = reply
      const id = endpoint?.id ?? NO_ENDPOINT
      meters.request(id, status, ms / 1000)
      if (code !== undefined) meters.problem(id, code)
      if (!log.isLevelEnabled('info')) return
      const { caller } = raw
      log.info(
        {
          method: raw.method,
          // The pattern instead of the path, which may contain anything.
          route: endpoint?.path ?? null,
          status,
          code,
          ms: Math.round(ms * 100) / 100,
          request_id: raw.requestId,
          key_id: caller === undefined || caller.kind === 'anonymous' ? undefined : caller.keyId,
          person_id: raw.personId,
        },
        'request',
      )
    },
    unread(code, requestId) {
      meters.problem(NO_ENDPOINT, code)
      log.info({ method: null, route: null, code, request_id: requestId }, 'request')
    },
    fault(fault, endpoint, requestId) {
      log.error({ err: fault, route: endpoint?.path ?? null, request_id: requestId }, 'fault')
    },
  }
}
