import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Endpoint, EndpointId } from '@countersign/core/contract'
import type { Caller } from '../answer.ts'
import type { Config } from '../config.ts'
import { Problem } from '../problem.ts'
import { createSteadyGauge } from './steady-gauge.ts'
import { WaitQuota } from './wait-quota.ts'

/** Measures how busy this process is. */
export interface LoadGauge {
  eventLoopDelayMs(): number
  /** How long a new connection waits until it is accepted. */
  acceptDelayMs(): number
}

/** Accepts requests while the process has capacity. See `createLoadShedder` for the order. */
export interface LoadShedder {
  /** Takes a slot, or throws `overloaded`. Call `leave` when the answer is made. */
  enter(endpoint: LoadedEndpoint): void
  leave(): void
  /**
   * Waits without occupying the slot, so that clients that send slowly do not use up all slots.
   * Takes a slot again afterwards; rejects with `overloaded` when there is none by then.
   */
  releaseWhile<T>(endpoint: LoadedEndpoint, arriving: Promise<T>): Promise<T>
  /**
   * Runs what waits for other systems, without occupying the slot: otherwise the caller could use
   * up all slots. Takes a slot again afterwards, whether or not there is one: the work before the
   * wait is done. Returns undefined, and runs nothing, when the caller, its site or all callers
   * have as many such waits as they may.
   */
  waitOutside<T>(caller: Caller, wait: () => Promise<T>): Promise<T> | undefined
  readonly inFlight: number
}

type LoadedEndpoint = Endpoint & { readonly id: EndpointId }

/** A verifier that is rejected here denies its request and tries again. */
const VERIFICATIONS: ReadonlySet<EndpointId> = new Set([
  'protected_action',
  'forward_auth',
  'exchange_proof',
  'introspect',
  'revocation_status',
])
/** Expensive, and no decision depends on them. */
const REPORTS: ReadonlySet<EndpointId> = new Set([
  'propagation_receipt',
  'list_verifiers',
  'read_summary',
  'preview',
])
/** The other endpoints are rejected at this multiple of the limits. */
const RESERVE = 4
const RETRY_AFTER_SECONDS = 2

/**
 * Verifications and reports are rejected first, the rest at four times the load, revocations and
 * health never. `countIdle` says how many requests hold a slot but only wait for this node to apply
 * the log: they are not counted.
 */
export function createLoadShedder(
  limits: Config['overload'],
  gauge: LoadGauge,
  countIdle: () => number = () => 0,
): LoadShedder {
  let inFlight = 0
  const waits = new WaitQuota()
  const isOver = (times: number) =>
    inFlight - countIdle() >= limits.inFlightMax * times ||
    gauge.eventLoopDelayMs() > limits.eventLoopDelayMsMax * times
  // Node accepts one connection in each turn, so rejecting verifications helps new connections only
  // while turns are long: a mere flood of connections does not end verifications.
  const isCrowded = () =>
    gauge.acceptDelayMs() > limits.acceptDelayMsMax &&
    gauge.eventLoopDelayMs() > limits.eventLoopDelayMsMax / 10
  const hasCapacity = ({ id, tag, revokes }: LoadedEndpoint) => {
    // Health checks matter most under load.
    if (tag === 'health' || revokes) return true
    return VERIFICATIONS.has(id) || REPORTS.has(id) ? !isOver(1) && !isCrowded() : !isOver(RESERVE)
  }
  const requireCapacity = (endpoint: LoadedEndpoint) => {
    if (!hasCapacity(endpoint))
      throw new Problem('overloaded', undefined, { retryAfterSeconds: RETRY_AFTER_SECONDS })
  }
  const release = async <T>(wait: () => Promise<T>, end: () => void): Promise<T> => {
    inFlight--
    try {
      return await wait()
    } finally {
      inFlight++
      end()
    }
  }
  return {
    enter(endpoint) {
      requireCapacity(endpoint)
      inFlight++
    },
    leave() {
      inFlight--
    },
    async releaseWhile(endpoint, arriving) {
      inFlight--
      try {
        const arrived = await arriving
        requireCapacity(endpoint)
        return arrived
      } finally {
        inFlight++
      }
    },
    waitOutside(caller, wait) {
      const end = waits.tryBegin(caller)
      if (end === undefined) return undefined
      return release(wait, end)
    },
    get inFlight() {
      return inFlight
    },
  }
}

const RESOLUTION_MS = 20
const SAMPLE_MS = 500

/** Measures the mean delay of the event loop, every half second. `close` lets the process end. */
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
