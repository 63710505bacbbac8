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
 * Several sites at a time, and so long for each: hosts that do not answer must not keep the keys of
 * other sites as they are.
 */
const SITES_AT_ONCE = 8
const SITE_MS_MAX = 120_000

/**
 * Fetches the documents of all trusted `did:web` issuers once, and tells the sites that trust them
 * what has changed. Of a site whose issuers take longer than `siteMsMax` together the rest has to
 * wait for the next time; each time they come in another order.
 *
 * - A new key counts from now on; one that the site has retired or marked as compromised stays so.
 * - A key that is no longer in the document counts for nothing any more, also for what it signed
 *   before: its owner may have taken it out because it leaked, and a thief can write any date. A
 *   site that knows better can pin it.
 * - A document that cannot be fetched or read changes nothing, and is logged. One that names no
 *   keys at all is a statement like any other.
 *
 * Rejects when the store cannot be asked.
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

/** What each document says, asked once for all sites. */
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
      // Read after asking elsewhere: what the site has said meanwhile goes before.
      const now = await store.issuer(siteId, issuer)
      if (keys !== undefined && now !== undefined) await tellSite(deps, now, keys)
    } catch (err) {
      // Such a row must not keep other issuers from their new keys.
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

async function tellSite(
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
  const context: AuditContext = { actor: 'system', atMs: clock.nowMs(), requestId: undefined }
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

/**
 * Refreshes all issuers about every ten minutes, with jitter, so that many nodes do not knock at
 * once. Failures are logged and tried again.
 */
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
