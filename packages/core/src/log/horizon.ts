import { CREDENTIAL_LIFETIME_SECONDS_MAX } from '../credential/limits.ts'
import { TOKEN_REVOCATIONS_KEPT_MS } from './snapshot.ts'

/**
 * After this time a revocation no longer matters: every credential that was signed before it, and
 * every session that began with one, has expired. 30 days cover wrong clocks.
 */
export const REVOCATIONS_KEPT_MS = (CREDENTIAL_LIFETIME_SECONDS_MAX + 30 * 86_400) * 1000

/** Revocations before these times no longer matter, except those of users and holder keys. */
export interface Horizon {
  readonly sinceMs: number
  readonly tokensSinceMs: number
}

export const NO_HORIZON: Horizon = {
  sinceMs: Number.NEGATIVE_INFINITY,
  tokensSinceMs: Number.NEGATIVE_INFINITY,
}

/** What no longer matters at `asOfMs`. */
export function toHorizon(asOfMs: number): Horizon {
  return { sinceMs: asOfMs - REVOCATIONS_KEPT_MS, tokensSinceMs: asOfMs - TOKEN_REVOCATIONS_KEPT_MS }
}
