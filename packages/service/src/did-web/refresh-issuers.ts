import type { SiteId } from '@countersign/core'
import { allRows } from '../all-rows.ts'
import type { Deps } from '../deps.ts'
import { everyMs } from '../every-ms.ts'
import { toKeySource } from '../store/key-source.ts'
import type { Issuer } from '../store/operations/issuers.ts'
import type { KeySource } from '../store/operations/key-sources.ts'
import { type RefreshDeps, refreshSource, type Source } from './refresh-source.ts'

const EVERY_MS = 5 * 60_000
const JITTER = 0.25
/** All nodes together fetch a document about every five minutes. */
const PAUSE_MS = EVERY_MS * (1 - JITTER) - 5_000
/** Of one issuer, when verifiers report unknown keys. */
export const HINT_PAUSE_MS = 10_000

/**
 * Hosts that do not answer must not delay the other sites: several at a time, with a time limit.
 */
const SITES_AT_ONCE = 8
const SITE_MS_MAX = 120_000

interface RefreshOptions {
  readonly signal?: AbortSignal
  readonly siteMsMax?: number
  /** A document that a node has begun to fetch within this time is skipped. */
  readonly pauseMs?: number
}

/** The state after a refresh. */
export interface Refreshed {
  /** When the oldest keys were fetched. Undefined if no issuer has keys that are fetched. */
  readonly oldestAtMs: number | undefined
}

/**
 * Fetches the documents of all trusted `did:web` and OAuth issuers once, and updates the keys of
 * the issuers at the sites that trust them; see `refreshSource`. When the documents of a site take
 * longer than `siteMsMax` together, the rest waits for the next run; each run has another order.
 * Rejects when the store is unavailable.
 */
export async function refreshIssuers(
  deps: RefreshDeps,
  { signal, siteMsMax = SITE_MS_MAX, pauseMs = 0 }: RefreshOptions = {},
): Promise<Refreshed> {
  const { sites, sources } = await loadSources(deps)
  const waiting = [...sites]
  const running = new Map<string, Promise<void>>()
  const refreshOnce = (source: Source) => {
    const known = running.get(source.name) ?? refreshSource(deps, source, pauseMs)
    running.set(source.name, known)
    return known
  }
  const lane = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [siteId, own] = next
      const endMs = performance.now() + siteMsMax
      for (const [done, source] of shuffled(own).entries()) {
        if (signal?.aborted) return
        if (performance.now() > endMs) {
          deps.log.warn(
            { site_id: siteId, left: own.length - done },
            'the documents of the issuers of a site take too long; the rest is for next time',
          )
          break
        }
        await refreshOnce(source)
      }
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: SITES_AT_ONCE }, lane))
  for (const each of ended) if (each.status === 'rejected') throw each.reason
  const ages = [...sources.values()].map(({ refreshedAtMs }) => refreshedAtMs)
  return { oldestAtMs: ages.length === 0 ? undefined : Math.min(...ages) }
}

/**
 * Fetches the keys of one issuer, because a verifier has met a key that it does not know. Does
 * nothing for an issuer whose keys are not fetched, and when the document was fetched within the
 * last ten seconds.
 */
export async function refreshIssuer(deps: RefreshDeps, siteId: SiteId, issuer: string): Promise<void> {
  const asked = await deps.store.issuer(siteId, issuer)
  if (asked === undefined || !asked.fetched || asked.status !== 'trusted') return
  const name = toKeySource(asked)
  const rows = await deps.store.fetchedIssuersNamed(asked.issuer)
  const sources = collectSources(rows, new Map())
  const source = sources.get(name)
  if (source !== undefined) await refreshSource(deps, source, HINT_PAUSE_MS)
}

async function loadSources({ store }: RefreshDeps) {
  const known = new Map<string, number | undefined>()
  const stored = allRows<KeySource>((last, limit) => store.keySources({ after: last?.source, limit }))
  for await (const { source, refreshedAtMs } of stored) known.set(source, refreshedAtMs)
  const rows: Issuer[] = []
  const issuers = allRows<Issuer>((last, limit) =>
    store.fetchedIssuers({ after: last && `${last.siteId} ${last.issuer}`, limit }),
  )
  for await (const issuer of issuers) rows.push(issuer)
  const sources = collectSources(rows, known)
  const sites = new Map<SiteId, Source[]>()
  for (const source of sources.values())
    for (const siteId of source.siteIds) sites.set(siteId, [...(sites.get(siteId) ?? []), source])
  return { sites, sources }
}

function collectSources(
  issuers: readonly Issuer[],
  known: ReadonlyMap<string, number | undefined>,
): Map<string, Source> {
  const sources = new Map<string, Source>()
  for (const { siteId, issuer, oauth, status, keysAtMs } of issuers) {
    if (status !== 'trusted') continue
    const name = toKeySource({ issuer, oauth })
    const atMs = Math.max(known.get(name) ?? 0, keysAtMs)
    const source = sources.get(name)
    if (source === undefined) {
      sources.set(name, { name, issuer, oauth, siteIds: [siteId], refreshedAtMs: atMs })
    } else {
      source.siteIds.push(siteId)
      source.refreshedAtMs = Math.min(source.refreshedAtMs, atMs)
    }
  }
  return sources
}

function shuffled<T>(list: readonly T[]): readonly T[] {
  return list
    .map((each) => [Math.random(), each] as const)
    .sort(([a], [b]) => a - b)
    .map(([, each]) => each)
}

/** Refreshes all issuers about every five minutes. Failures are logged and tried again. */
export function startIssuerRefresh(
  deps: RefreshDeps & Pick<Deps, 'meters'>,
  ms: number = EVERY_MS,
): { close(): Promise<void> } {
  const stop = new AbortController()
  let oldestAtMs: number | undefined
  deps.meters.watchIssuerKeys(() => (oldestAtMs === undefined ? 0 : deps.clock.nowMs() - oldestAtMs))
  const refreshing = everyMs(
    ms,
    async () => {
      ;({ oldestAtMs } = await refreshIssuers(deps, { signal: stop.signal, pauseMs: PAUSE_MS }))
    },
    (err) => deps.log.warn({ err }, 'the issuers could not be refreshed'),
    JITTER,
  )
  return {
    close() {
      stop.abort()
      return refreshing.close()
    },
  }
}
