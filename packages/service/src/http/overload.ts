import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Endpoint, EndpointId } from '@countersign/core/contract'
import type { Config } from '../config.ts'
import { Problem } from '../problem.ts'
import { createSteadyGauge } from './steady-gauge.ts'

/** How busy this process is. */
export interface LoadGauge {
  eventLoopDelayMs(): number
  /** How long a new connection waits until it is accepted. */
  acceptDelayMs(): number
}

/**
 * Admits requests while there is room: verifications and reports about verifiers lose theirs first,
 * then everything else.
 */
export interface Admission {
  /**
   * Throws `overloaded` when there is no room; otherwise the caller must `leave` when the answer is
   * made.
   */
  enter(endpoint: LoadedEndpoint): void
  leave(): void
  /**
   * Waits without taking up room: what has yet to arrive is no work, and a client that sends slowly
   * on purpose must not keep the others out. Rejects with `overloaded` when there is no room any
   * more once it is there.
   */
  aside<T>(endpoint: LoadedEndpoint, arriving: Promise<T>): Promise<T>
  readonly inFlight: number
}

type LoadedEndpoint = Endpoint & { readonly id: EndpointId }

/** A verifier that is rejected here denies, and asks again. */
const VERIFICATIONS: ReadonlySet<EndpointId> = new Set([
  'protected_action',
  'forward_auth',
  'exchange_proof',
  'introspect',
  'revocation_status',
])
/** Reports about verifiers: they cost much, and nothing is decided by them. */
const REPORTS: ReadonlySet<EndpointId> = new Set(['propagation_receipt', 'list_verifiers'])
/** A revocation that is rejected leaves an intruder with access. */
const REVOCATIONS: ReadonlySet<EndpointId> = new Set(['revoke_user', 'revoke_credential', 'revoke_token'])
/** How much more load the rest may see. */
const RESERVE = 4
const RETRY_AFTER_SECONDS = 2

/**
 * Verifications and reports about verifiers are rejected first, the rest at four times the load,
 * revocations and health never.
 */
export function createAdmission(limits: Config['overload'], gauge: LoadGauge): Admission {
  let inFlight = 0
  const isOver = (times: number) =>
    inFlight >= limits.inFlightMax * times || gauge.eventLoopDelayMs() > limits.eventLoopDelayMsMax * times
  // Node accepts one connection in each turn, so rejecting verifications helps new connections only
  // while turns are long: a mere flood of connections does not end verifications.
  const isCrowded = () =>
    gauge.acceptDelayMs() > limits.acceptDelayMsMax &&
    gauge.eventLoopDelayMs() > limits.eventLoopDelayMsMax / 10
  const hasRoom = ({ id, tag }: LoadedEndpoint) => {
    // Health must be told the truth, most of all now.
    if (tag === 'health' || REVOCATIONS.has(id)) return true
    return VERIFICATIONS.has(id) || REPORTS.has(id) ? !isOver(1) && !isCrowded() : !isOver(RESERVE)
  }
  const requireRoom = (endpoint: LoadedEndpoint) => {
    if (!hasRoom(endpoint))
      throw new Problem('overloaded', undefined, { retryAfterSeconds: RETRY_AFTER_SECONDS })
  }
  return {
    enter(endpoint) {
      requireRoom(endpoint)
      inFlight++
    },
    leave() {
      inFlight--
    },
    async aside(endpoint, arriving) {
      inFlight--
      try {
        const arrived = await arriving
        requireRoom(endpoint)
        return arrived
      } finally {
        inFlight++
      }
    },
    get inFlight() {
      return inFlight
    },
  }
}

const RESOLUTION_MS = 20
const SAMPLE_MS = 500

/**
 * Measures the mean delay of the event loop over every half second. `close` lets the process end.
 */
export function openLoopGauge(): Pick<LoadGauge, 'eventLoopDelayMs'> & { close(): void } {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  const gauge = createSteadyGauge()
  const timer = setInterval(() => {
    gauge.add(Number.isNaN(histogram.mean) ? 0 : Math.max(0, histogram.mean / 1e6 - RESOLUTION_MS))
    histogram.reset()
  }, SAMPLE_MS)
  timer.unref()
  return {
    eventLoopDelayMs: gauge.value,
    close() {
      clearInterval(timer)
      histogram.disable()
    },
  }
}
