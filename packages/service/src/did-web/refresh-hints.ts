import type { SiteId } from '@countersign/core'
import { BoundedMap } from '../bounded-map.ts'
import { HINT_PAUSE_MS, refreshIssuer } from './refresh-issuers.ts'
import type { RefreshDeps } from './refresh-source.ts'

/** What verifiers report about keys that they do not know. */
export interface RefreshHints {
  /**
   * Fetches the keys of the issuer soon. Returns immediately; failures are logged. Each node passes
   * on one hint per issuer in ten seconds, and all nodes together make one fetch.
   */
  hint(siteId: SiteId, issuer: string): void
}

const ISSUERS_MAX = 10_000

export function createRefreshHints(deps: RefreshDeps): RefreshHints {
  const hintedMs = new BoundedMap<string, number>(ISSUERS_MAX)
  return {
    hint(siteId, issuer) {
      const nowMs = performance.now()
      const name = `${siteId} ${issuer}`
      if (nowMs - (hintedMs.get(name) ?? -Infinity) < HINT_PAUSE_MS) return
      hintedMs.set(name, nowMs)
      refreshIssuer(deps, siteId, issuer).catch((err: unknown) =>
        deps.log.warn({ err, site_id: siteId }, 'the keys of an issuer could not be refreshed on a hint'),
      )
    },
  }
}
