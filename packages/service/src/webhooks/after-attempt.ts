import { limits } from '@countersign/core/contract'
import type { DueDelivery, EndedAttempt } from '../store/operations/deliveries.ts'

/** The result of an attempt. */
export interface Attempted {
  /** The status of the response; undefined when there was none. */
  readonly status: number | undefined
  /** How long the receiver asks us to wait. */
  readonly retryAfterMs?: number | undefined
  /** For the log only. */
  readonly fault?: unknown
}

/**
 * What is kept of an attempt. Why there was no response is not part of it, nor how long that took:
 * both would show which addresses and ports answer (A211).
 */
export function toAttempt(
  { entry }: Pick<DueDelivery, 'entry'>,
  { status }: Attempted,
  atMs: number,
  ms: number,
): NonNullable<EndedAttempt['attempt']> {
  if (entry === undefined) return { atMs, ms: null, failure: 'entry_removed' }
  if (status === undefined) return { atMs, ms: null, failure: 'no_answer' }
  return { atMs, ms: Math.round(ms), failure: isSuccess(status) ? null : 'status' }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** Between two attempts: 23 h 50 min in all, before jitter. */
const PAUSES_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 4 * HOUR + 15 * MINUTE, 7 * HOUR, 10 * HOUR]
/**
 * A pause varies by this fraction, so that deliveries that failed together are not repeated
 * together.
 */
const JITTER = 0.1
const PAUSE_MS_MAX = 12 * HOUR
/** One more failure does not disable a receiver that was down days ago. */
const ATTEMPTS_MIN_TO_DISABLE = 3
const DISABLED_AFTER_MS = limits.webhook_disabled_after_seconds * 1000
const GONE = 410

/**
 * What to record after an attempt: 2xx is a delivery, everything else a failure, which is repeated
 * until there were 8 attempts. A receiver that answers 410, or that has accepted nothing for five
 * days, is disabled. `random` is from 0 to 1.
 */
export function afterAttempt(
  delivery: DueDelivery,
  { status, retryAfterMs }: Attempted,
  nowMs: number,
  random: number,
): EndedAttempt {
  const { deliveryId } = delivery
  const attempts = delivery.attempts + 1
  if (status !== undefined && isSuccess(status)) return { deliveryId, end: 'delivered', lastStatus: status }
  const pauseMs = PAUSES_MS[attempts - 1]
  const isLast = attempts >= limits.webhook_attempts_max || pauseMs === undefined
  const jittered = isLast ? 0 : pauseMs * (1 - JITTER + 2 * JITTER * random)
  const end = isLast
    ? 'failed'
    : { againAtMs: Math.ceil(nowMs + Math.min(Math.max(jittered, retryAfterMs ?? 0), PAUSE_MS_MAX)) }
  return { deliveryId, end, lastStatus: status, disable: whyDisable(delivery, attempts, status, nowMs) }
}

function whyDisable(
  { failingSinceMs }: DueDelivery,
  attempts: number,
  status: number | undefined,
  nowMs: number,
): string | undefined {
  if (status === GONE) return 'the receiver answered 410 Gone'
  const isLong = failingSinceMs !== undefined && nowMs - failingSinceMs >= DISABLED_AFTER_MS
  return isLong && attempts >= ATTEMPTS_MIN_TO_DISABLE
    ? 'nothing could be delivered for five days'
    : undefined
}
