import { setImmediate as nextTurn } from 'node:timers/promises'
import { formatTime, type SiteId, type SiteView } from '@countersign/core'
import { limits, type SiteSummary, type SummaryWindow } from '@countersign/core/contract'
import { requireFreshView } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { toReaderEntry, toRosterEntry } from '../feed/roster.ts'
import type { Site } from '../store/operations/sites.ts'
import type { SiteCounts, TallyRange, TallyStep, TallySum } from '../store/operations/verdict-tallies.ts'
import { updateStatuses } from './list-statuses.ts'
import { toRosterMoment } from './load-roster.ts'

type SummaryDeps = Pick<Deps, 'store' | 'views' | 'verifiers' | 'clock' | 'tallies' | 'summaries'>

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** Bearer tokens can be switched off when none was used for so long. */
const UNUSED_MS = 14 * DAY_MS
const KEPT_MS = 30 * DAY_MS
/** Minutes or hours that are read in one turn: with SQLite, all other requests wait meanwhile. */
const SPANS_READ_MAX = 24

interface Window extends TallyRange {
  readonly stepMs: number
}

/**
 * Loads what has happened at a site, as of at most five seconds ago. Throws `revocation_view_stale`
 * when this node is not fresh.
 */
export async function loadSummary(
  deps: SummaryDeps,
  site: Site,
  window: SummaryWindow,
): Promise<SiteSummary> {
  const view = await requireFreshView(deps, site.siteId)
  return deps.summaries.share(`${site.siteId} ${window}`, () => computeSummary(deps, site, window, view))
}

async function computeSummary(
  deps: SummaryDeps,
  site: Site,
  window: SummaryWindow,
  view: SiteView,
): Promise<SiteSummary> {
  const { store, clock } = deps
  const { siteId } = site
  await deps.tallies.flush()
  const nowMs = clock.nowMs()
  const range = toWindow(window, nowMs)
  const { sums, steps } = await readTallies(deps, siteId, range)
  const monthAgoMs = toStart(nowMs - KEPT_MS, HOUR_MS)
  const { acceptedMs: lastAcceptedMs, exchangedMs: lastExchangeMs } = await store.lastBearerUse(
    siteId,
    monthAgoMs,
  )
  await updateStatuses(deps, siteId, limits.summary_rows_counted_max)
  const counts = await store.siteCounts(siteId, nowMs, limits.summary_rows_counted_max)
  const observedSinceMs = await store.firstTally(siteId)
  const notReporting = await findNotReporting(deps, site)
  const verdicts = sums.filter(isVerdict)
  const bearerSums = verdicts.filter(isAcceptedBearer)
  const allowed = sum(verdicts.filter(({ outcome }) => outcome === 'allowed'))
  const unusedSinceMs = nowMs - UNUSED_MS
  const isUnused = (lastMs: number | undefined) => lastMs === undefined || lastMs + HOUR_MS <= unusedSinceMs
  return {
    window,
    from: formatTime(range.fromMs),
    to: formatTime(nowMs),
    verdicts: {
      total: sum(verdicts),
      allowed,
      denied: sum(verdicts) - allowed,
      by: toVerdicts(verdicts),
    },
    series: toSeries(steps),
    verifiers: toVerifiers(verdicts),
    bearer: {
      mode: view.settings.bearer,
      share: allowed === 0 ? null : sum(bearerSums) / allowed,
      accepted: sum(bearerSums),
      verifiers: [...new Set(bearerSums.map(({ verifierId }) => verifierId).filter(isName))]
        .sort()
        .slice(0, limits.summary_items_max),
      live_tokens: toBounded(counts.liveTokens),
      users_with_live_tokens: { ...toBounded(counts.liveTokens), count: counts.usersWithLiveTokens },
      last_accepted_at: toTime(lastAcceptedMs),
      last_exchange_at: toTime(lastExchangeMs),
      observed_since: toTime(observedSinceMs),
      verifiers_not_reporting: notReporting,
      safe_to_switch_off:
        observedSinceMs !== undefined &&
        observedSinceMs <= unusedSinceMs &&
        isUnused(lastAcceptedMs) &&
        isUnused(lastExchangeMs) &&
        counts.liveTokens === 0 &&
        notReporting.length === 0,
    },
    counts: toCounts(counts),
  }
}

/** Reads a part in each turn. A verifier or a step may be in several parts. */
async function readTallies(
  { store }: SummaryDeps,
  siteId: SiteId,
  { stepMs, ...range }: Window,
): Promise<{ readonly sums: readonly TallySum[]; readonly steps: readonly TallyStep[] }> {
  const sums: TallySum[] = []
  const steps: TallyStep[] = []
  const partMs = SPANS_READ_MAX * range.spanMs
  for (let { fromMs } = range; fromMs < range.toMs; fromMs += partMs) {
    const part = { ...range, fromMs, toMs: Math.min(fromMs + partMs, range.toMs) }
    for (const sum of await store.tallySums(siteId, part)) sums.push(sum)
    await nextTurn()
    for (const step of await store.tallySteps(siteId, part, stepMs)) steps.push(step)
    await nextTurn()
  }
  return { sums, steps }
}

function toWindow(window: SummaryWindow, nowMs: number): Window {
  // Another node may be ahead by a little.
  const toMs = toStart(nowMs, HOUR_MS) + 2 * HOUR_MS
  if (window === '1h')
    return { spanMs: MINUTE_MS, fromMs: toStart(nowMs - HOUR_MS, MINUTE_MS), toMs, stepMs: MINUTE_MS }
  const lengthMs = window === '24h' ? DAY_MS : KEPT_MS
  const stepMs = window === '24h' ? HOUR_MS : DAY_MS
  return { spanMs: HOUR_MS, fromMs: toStart(nowMs - lengthMs, HOUR_MS), toMs, stepMs }
}

function toStart(ms: number, spanMs: number): number {
  return ms - (ms % spanMs)
}

/**
 * Verifiers of now whose decisions are not known: those that do not use our SDK, or an old release
 * of it.
 */
async function findNotReporting(deps: SummaryDeps, site: Site): Promise<string[]> {
  const { leases, streams } = await deps.verifiers.readers(site.siteId)
  const moment = toRosterMoment(deps, site)
  const entries = [...leases.map((lease) => toRosterEntry(lease, moment)), ...streams.map(toReaderEntry)]
  const silent = entries.filter(
    ({ state, lease }) => (state === 'connected' || state === 'silent') && !lease?.version.startsWith('sdk/'),
  )
  return [...new Set(silent.map(({ verifierId }) => verifierId))].sort().slice(0, limits.summary_items_max)
}

/** Exchanges are counted beside the decisions. */
function isVerdict({ presented }: Pick<TallySum, 'presented'>): boolean {
  return presented !== 'exchange'
}

function isAcceptedBearer({ presented, outcome }: TallySum): boolean {
  return presented === 'bearer' && outcome === 'allowed'
}

/** Whether it is the name of a guard, and not a word in parentheses. */
function isName(verifierId: string): boolean {
  return !verifierId.startsWith('(')
}

function sum(tallies: readonly { readonly count: number }[]): number {
  return tallies.reduce((total, { count }) => total + count, 0)
}

function lastAt(sums: readonly TallySum[]): number | undefined {
  return sums.reduce<number | undefined>((last = 0, { lastAtMs }) => Math.max(last, lastAtMs), undefined)
}

function toTime(ms: number | undefined): string | null {
  return ms === undefined ? null : formatTime(ms)
}

function toBounded(count: number): { count: number; or_more: boolean } {
  return { count, or_more: count >= limits.summary_rows_counted_max }
}

function toCounts(counts: SiteCounts): SiteSummary['counts'] {
  return {
    revoked_users: toBounded(counts.revokedUsers),
    active_credentials: toBounded(counts.activeCredentials),
    live_tokens: toBounded(counts.liveTokens),
    open_sign_ins: toBounded(counts.openSignIns),
    open_offers: toBounded(counts.openOffers),
  }
}

type Verdicts = SiteSummary['verdicts']['by']

function toVerdicts(sums: readonly TallySum[]): Verdicts {
  const groups = Map.groupBy(sums, ({ presented, outcome }) => `${presented} ${outcome}`)
  return [...groups.values()]
    .map((group): Verdicts[number] => {
      const { presented, outcome } = group[0] as TallySum
      return { presented: presented as Verdicts[number]['presented'], outcome, count: sum(group) }
    })
    .sort((one, other) => other.count - one.count)
    .slice(0, limits.summary_items_max)
}

function toSeries(steps: readonly TallyStep[]): SiteSummary['series'] {
  const groups = Map.groupBy(steps.filter(isVerdict), ({ atMs }) => atMs)
  return [...groups].map(([atMs, group]) => {
    const of = (name: string) => sum(group.filter(({ presented }) => presented === name))
    return {
      at: formatTime(atMs),
      credential: of('credential'),
      bearer: of('bearer'),
      jwt: of('jwt'),
      none: of('none'),
      denied: sum(group.filter(({ isAllowed }) => !isAllowed)),
    }
  })
}

function toVerifiers(sums: readonly TallySum[]): SiteSummary['verifiers'] {
  const groups = Map.groupBy(sums, ({ verifierId }) => verifierId)
  return [...groups]
    .map(([verifierId, group]) => ({
      source: verifierId === '(service)' ? ('service' as const) : ('guards' as const),
      verifier_id: isName(verifierId) ? verifierId : null,
      total: sum(group),
      bearer: sum(group.filter(isAcceptedBearer)),
      last_at: formatTime(lastAt(group) ?? 0),
    }))
    .sort((one, other) => other.total - one.total)
    .slice(0, limits.summary_items_max)
}
