import { BoundedMap } from '../bounded-map.ts'
import type { Deps } from '../deps.ts'
import { HINT_PAUSE_MS, refreshIssuer } from './refresh-issuers.ts'
import type { RefreshDeps } from './refresh-source.ts'

const ISSUERS_MAX = 10_000

/**
 * Each node passes on one hint per issuer in ten seconds, and all nodes together make one fetch.
 */
export function createRefreshHints(deps: RefreshDeps): Deps['refreshHints'] {
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
