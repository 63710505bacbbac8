import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Endpoint, EndpointId } from '@countersign/core/contract'
import type { Config } from '../config.ts'
import { Problem } from '../problem.ts'

/** How busy this process is. */
export interface LoadGauge {
  eventLoopDelayMs(): number
}

/** Lets requests in while there is room for them: verifications first lose theirs, then everything else. */
export interface Admission {
  /** Throws `overloaded` when there is no room; otherwise the caller must `leave` when the answer is made. */
  enter(endpoint: LoadedEndpoint): void
  leave(): void
  /**
   * Waits without taking up room: what has yet to arrive is no work, and whoever sends slowly on purpose must not keep the others out. Rejects
   * with `overloaded` when there is no room any more once it is there.
   */
  aside<T>(endpoint: LoadedEndpoint, arriving: Promise<T>): Promise<T>
  readonly inFlight: number
}

type LoadedEndpoint = Endpoint & { readonly id: EndpointId }

/** A verifier that is refused here denies, and asks again. A revocation that is refused leaves somebody in. */
const VERIFICATIONS: ReadonlySet<EndpointId> = new Set([
  'protected_action',
  'forward_auth',
  'exchange_proof',
  'introspect',
  'revocation_status',
])
/** How much more load the rest may see. */
const RESERVE = 4
const RETRY_AFTER_SECONDS = 2

export function createAdmission(limits: Config['overload'], gauge: LoadGauge): Admission {
  let inFlight = 0
  const isOver = (times: number) => inFlight >= limits.inFlightMax * times || gauge.eventLoopDelayMs() > limits.eventLoopDelayMsMax * times
  const requireRoom = ({ id, tag }: LoadedEndpoint) => {
    // Health must be told the truth, most of all now.
    if (tag !== 'health' && isOver(VERIFICATIONS.has(id) ? 1 : RESERVE)) {
      throw new Problem('overloaded', undefined, { retryAfterSeconds: RETRY_AFTER_SECONDS })
    }
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
 * The delay of the event loop that the last two measurements agree on. A process that stood still for a moment, because it was stopped or got no
 * processor, is not busy any more when it notices: to refuse revocations for that would come too late and hit those who are not to blame.
 */
export function createSteadyGauge(): LoadGauge & { add(delayMs: number): void } {
  let [before, last] = [0, 0]
  return {
    add(delayMs) {
      ;[before, last] = [last, delayMs]
    },
    eventLoopDelayMs: () => Math.min(before, last),
  }
}

/** Measures the mean delay of the event loop over every half second. `close` lets the process end. */
export function openLoadGauge(): LoadGauge & { close(): void } {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  const gauge = createSteadyGauge()
  const timer = setInterval(() => {
    gauge.add(Number.isNaN(histogram.mean) ? 0 : Math.max(0, histogram.mean / 1e6 - RESOLUTION_MS))
    histogram.reset()
  }, SAMPLE_MS)
  timer.unref()
  return {
    eventLoopDelayMs: gauge.eventLoopDelayMs,
    close() {
      clearInterval(timer)
      histogram.disable()
    },
  }
}
