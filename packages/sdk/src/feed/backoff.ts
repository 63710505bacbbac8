import { LogCorrupted } from './log-corrupted.ts'
import { ServiceError } from './verifier-api.ts'

const RETRY_MS_DEFAULT = 1_000
/** A lost connection is never retried faster, even if the feed asks for it. */
const RETRY_MS_MIN = 200
/** The longest wait between two tries: a guard must notice soon that the service is back. */
const BACKOFF_MS_MAX = 5_000
/**
 * Together with the longest backoff less than 10 s, because a relay may have written `Retry-After`:
 * it must not delay a guard longer than a lost connection does.
 */
const RETRY_AFTER_MS_MAX = 4_500
/** After 401, 403 or 404: usually an operator has to correct the API key or the site. */
const REJECTED_MS = 8_000
const REJECTED_STATUSES = [401, 403, 404]
/** An operator has to look at the store. Longer, because each try loads a whole snapshot. */
const OPERATOR_MS = 30_000

/**
 * How long to wait between two tries. It grows with each failure in a row, with jitter, because all
 * verifiers lose a service at the same moment.
 */
export class Backoff {
  #failures = 0
  #retryMs = RETRY_MS_DEFAULT

  /** What the feed asks for, within bounds. */
  setRetryMs(ms: number): void {
    this.#retryMs = Math.min(Math.max(ms, RETRY_MS_MIN), BACKOFF_MS_MAX)
  }

  /** Call it after a success. */
  reset(): void {
    this.#failures = 0
  }

  nextMs(): number {
    const longest = Math.max(this.#retryMs, Math.min(BACKOFF_MS_MAX, this.#retryMs * 2 ** this.#failures++))
    return longest * (0.2 + Math.random() * 0.8)
  }

  nextMsAfter(error: unknown): number {
    const backoffMs = this.nextMs()
    if (error instanceof LogCorrupted && error.needsOperator) return withJitter(OPERATOR_MS)
    if (!(error instanceof ServiceError)) return backoffMs
    const { status, retryAfterMs } = error
    if (REJECTED_STATUSES.includes(status)) return withJitter(REJECTED_MS)
    return retryAfterMs === undefined ? backoffMs : Math.min(retryAfterMs, RETRY_AFTER_MS_MAX) + backoffMs
  }
}

function withJitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2)
}
