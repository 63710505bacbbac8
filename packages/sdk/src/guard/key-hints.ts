import { findIssuerOfUnknownKey, type SiteView } from '@countersign/core'
import type { GuardClock } from '../feed/clock.ts'

/** Notices keys of OAuth issuers that the guard does not know yet. */
export interface KeyHints {
  /**
   * Call it with every token that was rejected as invalid. If its issuer is trusted and its key
   * unknown, the service is asked to fetch the keys of the issuer.
   */
  reject(jwt: string): void
}

/** So that a flood of invalid tokens costs nothing. */
const LOOK_EVERY_MS = 1_000

export function createKeyHints(
  site: SiteView,
  clock: GuardClock,
  requestIssuerRefresh: (issuer: string) => void,
): KeyHints {
  let lookedAtMs = -Infinity
  return {
    reject(jwt) {
      const nowMs = clock.read().monotonicMs
      if (nowMs - lookedAtMs < LOOK_EVERY_MS) return
      lookedAtMs = nowMs
      const issuer = findIssuerOfUnknownKey(jwt, site)
      if (issuer !== undefined) requestIssuerRefresh(issuer)
    },
  }
}
