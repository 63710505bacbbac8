import type { SiteId } from '@countersign/core'
import { number, optionalNumber, text } from '../columns.ts'
import { exec, type Row, read, row, rows, type Transaction } from '../transaction.ts'

/**
 * Which verifier decided: the name of a guard, or a word that is no name. `(others)`: guards
 * without a name, and names beyond the limit.
 */
export type TalliedVerifier = string | '(service)' | '(others)'

/** Decisions of one minute. */
export interface VerdictTally {
  readonly siteId: SiteId
  readonly atMs: number
  readonly verifierId: TalliedVerifier
  readonly presented: string
  readonly outcome: string
  readonly count: number
}

/** Decisions in a range of time, by verifier, with the last minute or hour that has one. */
export interface TallySum extends Pick<VerdictTally, 'verifierId' | 'presented' | 'outcome' | 'count'> {
  readonly lastAtMs: number
}

/** Decisions of one step of time. */
export interface TallyStep extends Pick<VerdictTally, 'atMs' | 'presented' | 'count'> {
  readonly isAllowed: boolean
}

/** Which counts are read: of minutes, or of hours. */
export interface TallyRange {
  readonly spanMs: 60_000 | 3_600_000
  readonly fromMs: number
  /** The first time that is not read. */
  readonly toMs: number
}

/** The last hours in which bearer tokens were used. */
export interface BearerUse {
  /** A verifier accepted one. */
  readonly acceptedMs: number | undefined
  /** The service exchanged a credential for one. */
  readonly exchangedMs: number | undefined
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const SUMS_MAX = 10_000

/** Adds decisions to their minute and their hour. */
export function* addTallies(tallies: readonly VerdictTally[]): Transaction<void> {
  for (const span of [MINUTE_MS, HOUR_MS]) {
    // In a fixed order, so that no two transactions wait for each other.
    for (const tally of [...tallies].sort(byName)) {
      yield* exec(
        `INSERT INTO verdict_tallies (site_id, span_ms, at, verifier_id, presented, outcome, verdicts) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (site_id, span_ms, at, verifier_id, presented, outcome) DO UPDATE SET verdicts = verdict_tallies.verdicts + excluded.verdicts`,
        tally.siteId,
        span,
        tally.atMs - (tally.atMs % span),
        tally.verifierId,
        tally.presented,
        tally.outcome,
        tally.count,
      )
    }
  }
}

function byName(one: VerdictTally, other: VerdictTally): number {
  return toName(one) < toName(other) ? -1 : 1
}

function toName({ siteId, atMs, verifierId, presented, outcome }: VerdictTally): string {
  return [siteId, String(atMs).padStart(15, '0'), verifierId, presented, outcome].join(' ')
}

/** The decisions of a site in a range of time, by verifier, presentation and outcome. */
export const tallySums = read(function* (
  siteId: SiteId,
  { spanMs, fromMs, toMs }: TallyRange,
): Transaction<readonly TallySum[]> {
  const found = yield* rows(
    `SELECT verifier_id, presented, outcome, CAST(SUM(verdicts) AS BIGINT) AS verdicts, MAX(at) AS last_at FROM verdict_tallies
     WHERE site_id = $1 AND span_ms = $2 AND at >= $3 AND at < $4 GROUP BY verifier_id, presented, outcome LIMIT ${SUMS_MAX}`,
    siteId,
    spanMs,
    fromMs,
    toMs,
  )
  return found.map((sum) => ({
    verifierId: text(sum, 'verifier_id'),
    presented: text(sum, 'presented'),
    outcome: text(sum, 'outcome'),
    count: number(sum, 'verdicts'),
    lastAtMs: number(sum, 'last_at'),
  }))
})

/** The decisions of a site in a range of time, by steps of `stepMs`, oldest first. */
export const tallySteps = read(function* (
  siteId: SiteId,
  { spanMs, fromMs, toMs }: TallyRange,
  stepMs: number,
): Transaction<readonly TallyStep[]> {
  const found = yield* rows(
    `SELECT at - at % $5 AS step, presented, CASE WHEN outcome = 'allowed' THEN 1 ELSE 0 END AS allowed, CAST(SUM(verdicts) AS BIGINT) AS verdicts
     FROM verdict_tallies WHERE site_id = $1 AND span_ms = $2 AND at >= $3 AND at < $4 GROUP BY 1, 2, 3 ORDER BY 1 LIMIT ${SUMS_MAX}`,
    siteId,
    spanMs,
    fromMs,
    toMs,
    stepMs,
  )
  return found.map((step) => ({
    atMs: number(step, 'step'),
    presented: text(step, 'presented'),
    isAllowed: number(step, 'allowed') === 1,
    count: number(step, 'verdicts'),
  }))
})

/** When bearer tokens were last used at a site, since a time. Reads no other counts. */
export const lastBearerUse = read(function* (siteId: SiteId, fromMs: number): Transaction<BearerUse> {
  const found = yield* rows(
    `SELECT presented, MAX(at) AS last_at FROM verdict_tallies WHERE site_id = $1 AND span_ms = $2 AND at >= $3
       AND (presented = 'exchange' OR (presented = 'bearer' AND outcome = 'allowed')) GROUP BY presented`,
    siteId,
    HOUR_MS,
    fromMs,
  )
  const last = (presented: string) => {
    const use = found.find((each) => text(each, 'presented') === presented)
    return use && number(use, 'last_at')
  }
  return { acceptedMs: last('bearer'), exchangedMs: last('exchange') }
})

/** The first hour of the site with a count; undefined if there is none. */
export const firstTally = read(function* (siteId: SiteId): Transaction<number | undefined> {
  const found = yield* row(
    'SELECT MIN(at) AS first_at FROM verdict_tallies WHERE site_id = $1 AND span_ms = $2',
    siteId,
    HOUR_MS,
  )
  return found && optionalNumber(found, 'first_at')
})

/** How many rows a site has, each counted up to a limit. */
export interface SiteCounts {
  readonly revokedUsers: number
  readonly activeCredentials: number
  readonly liveTokens: number
  readonly usersWithLiveTokens: number
  readonly openSignIns: number
  readonly openOffers: number
}

/** Counts at most `max` rows of each kind: a site may have very many. */
export const siteCounts = read(function* (
  siteId: SiteId,
  nowMs: number,
  max: number,
): Transaction<SiteCounts> {
  const countRows = function* (from: string, ...values: number[]): Transaction<number> {
    const found = yield* row(
      `SELECT COUNT(*) AS found FROM (SELECT 1 AS one FROM ${from} LIMIT $2) counted`,
      siteId,
      max,
      ...values,
    )
    return number(found as Row, 'found')
  }
  const tokens = yield* row(
    `SELECT COUNT(*) AS found, COUNT(DISTINCT ppid) AS users FROM
       (SELECT ppid FROM tokens WHERE site_id = $1 AND expires_at > $3 AND revoked_at IS NULL LIMIT $2) counted`,
    siteId,
    max,
    nowMs,
  )
  return {
    revokedUsers: yield* countRows('user_history WHERE site_id = $1 AND revoked = 1 AND latest = 1'),
    activeCredentials: yield* countRows(
      `credentials WHERE site_id = $1 AND status = 'active' AND valid_until > $3`,
      nowMs,
    ),
    liveTokens: number(tokens as Row, 'found'),
    usersWithLiveTokens: number(tokens as Row, 'users'),
    openSignIns: yield* countRows(
      `sign_ins WHERE site_id = $1 AND expires_at > $3 AND status IN ('open', 'presented')`,
      nowMs,
    ),
    openOffers: yield* countRows(
      'offers WHERE site_id = $1 AND expires_at > $3 AND claimed_at IS NULL AND killed_at IS NULL',
      nowMs,
    ),
  }
})
