import type { DidKey, SiteId } from '@countersign/core'
import { allRows } from '../all-rows.ts'
import type { Deps } from '../deps.ts'
import { everyMs } from '../every-ms.ts'
import { nextKeyStates, sameKeyStates } from '../keys/issuer-keys.ts'
import { RowForged } from '../store/errors.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Issuer } from '../store/operations/issuers.ts'

type RefreshDeps = Pick<Deps, 'store' | 'views' | 'didWeb' | 'clock' | 'log'>

const EVERY_MS = 10 * 60_000

/**
 * Hosts that do not answer must not delay the other sites: several at a time, with a time limit.
 */
const SITES_AT_ONCE = 8
const SITE_MS_MAX = 120_000

/**
 * Fetches the documents of all trusted `did:web` issuers once, and updates the keys of the issuers
 * at the sites that trust them. When the issuers of a site take longer than `siteMsMax` together,
 * the rest waits for the next run; each run has another order.
 *
 * - A new key is valid from now on. A key that the site has retired or marked as compromised stays
 *   so.
 * - A key that is no longer in the document is no longer valid, also for what it signed before: its
 *   owner may have removed it because it leaked, and a thief can backdate a signature. A site that
 *   still trusts the key can pin it.
 * - A document that cannot be fetched or read changes nothing, and is logged. A document without
 *   keys removes all keys.
 *
 * Rejects when the store is unavailable.
 */
export async function refreshIssuers(
  deps: RefreshDeps,
  signal?: AbortSignal,
  siteMsMax: number = SITE_MS_MAX,
): Promise<void> {
  const sites = [...(await fetchedBySite(deps))]
  const fetched: Fetched = new Map()
  const lane = async () => {
    for (let next = sites.pop(); next !== undefined; next = sites.pop())
      await refreshSite(deps, next, fetched, siteMsMax, signal)
  }
  const ended = await Promise.allSettled(Array.from({ length: SITES_AT_ONCE }, lane))
  for (const each of ended) if (each.status === 'rejected') throw each.reason
}

/** The keys of each document, fetched once for all sites. */
type Fetched = Map<string, Promise<readonly DidKey[] | undefined>>

async function fetchedBySite({ store }: RefreshDeps): Promise<Map<SiteId, string[]>> {
  const sites = new Map<SiteId, string[]>()
  const rows = allRows<Issuer>((last, limit) =>
    store.fetchedIssuers({ after: last && `${last.siteId} ${last.issuer}`, limit }),
  )
  for await (const { siteId, issuer, status } of rows) {
    if (status !== 'trusted') continue
    const issuers = sites.get(siteId)
    if (issuers === undefined) sites.set(siteId, [issuer])
    else issuers.push(issuer)
  }
  return sites
}

async function refreshSite(
  deps: RefreshDeps,
  [siteId, issuers]: readonly [SiteId, readonly string[]],
  fetched: Fetched,
  siteMsMax: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { store, log } = deps
  const endMs = performance.now() + siteMsMax
  for (const [done, issuer] of shuffled(issuers).entries()) {
    if (signal?.aborted) return
    if (performance.now() > endMs) {
      return log.warn(
        { site_id: siteId, left: issuers.length - done },
        'the DID documents of a site take too long; the rest is for next time',
      )
    }
    const asking = fetched.get(issuer) ?? loadKeys(deps, issuer)
    fetched.set(issuer, asking)
    const keys = await asking
    try {
      // Read after the fetch: changes that the site has made meanwhile take precedence.
      const now = await store.issuer(siteId, issuer)
      if (keys !== undefined && now !== undefined) await updateIssuer(deps, now, keys)
    } catch (err) {
      // A forged row must not prevent the refresh of other issuers.
      if (!(err instanceof RowForged)) throw err
      log.error(
        { err, site_id: siteId, issuer },
        'the row of an issuer is not as this service wrote it; its keys were not refreshed',
      )
    }
  }
}

async function loadKeys(
  { didWeb, log }: RefreshDeps,
  issuer: string,
): Promise<readonly DidKey[] | undefined> {
  const answer = await didWeb.fetch(issuer)
  if (!('fault' in answer)) return answer.keys
  log.warn(
    { issuer, fault: answer.fault, err: answer.cause },
    'a DID document could not be refreshed; its old keys stay',
  )
  return undefined
}

function shuffled<T>(list: readonly T[]): readonly T[] {
  return list
    .map((each) => [Math.random(), each] as const)
    .sort(([a], [b]) => a - b)
    .map(([, each]) => each)
}

async function updateIssuer(
  { store, views, clock, log }: RefreshDeps,
  issuer: Issuer,
  keys: readonly DidKey[],
): Promise<void> {
  if (issuer.status !== 'trusted' || !issuer.fetched) return
  const next = nextKeyStates(issuer.keys, keys)
  const about = { site_id: issuer.siteId, issuer: issuer.issuer }
  if (next === undefined)
    return log.warn(about, 'a DID document has too many keys, with the compromised ones; its old keys stay')
  if (sameKeyStates(issuer.keys, next)) return
  const context: AuditContext = { actor: 'system', atMs: clock.nowMs() }
  const knownSeq = views.lastEntryAbout(issuer.siteId, issuer.issuer)
  await store.changeIssuer(
    issuer.siteId,
    issuer.issuer,
    { keys: next, whileFetched: true },
    context,
    knownSeq,
  )
  log.info(
    { ...about, keys: next.map(({ id, status }) => `${id} ${status}`) },
    'the keys of a did:web have changed',
  )
}

/** Refreshes all issuers about every ten minutes. Failures are logged and tried again. */
export function startIssuerRefresh(deps: RefreshDeps, ms: number = EVERY_MS): { close(): Promise<void> } {
  const stop = new AbortController()
  const refreshing = everyMs(
    ms,
    () => refreshIssuers(deps, stop.signal),
    (err) => deps.log.warn({ err }, 'the issuers could not be refreshed'),
    0.25,
  )
  return {
    close() {
      stop.abort()
      return refreshing.close()
    },
  }
}
