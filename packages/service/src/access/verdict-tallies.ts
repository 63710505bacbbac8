import { guardProblems, type SiteId } from '@countersign/core'
import type { Logger } from 'pino'
import { everyMs } from '../every-ms.ts'
import type { VerdictTally } from '../store/operations/verdict-tallies.ts'
import type { Store } from '../store/store.ts'
import { type Reporter, ReportQuota } from './report-quota.ts'

/** Counts decisions in memory and writes them to the store together. */
export interface VerdictTallies {
  /** The service has decided, or exchanged a credential for a token. */
  count(siteId: SiteId, presented: string, outcome: string): void
  /** A guard reports its decisions. Throws a Problem `rate_limited` when it reports too often. */
  add(siteId: SiteId, reporter: Reporter, counts: readonly ReportedTally[]): void
  /** Writes what was counted so far. Does not reject: what fails is written later. */
  flush(): Promise<void>
  close(): Promise<void>
}

interface ReportedTally {
  readonly presented: string
  readonly outcome: string
  readonly count: number
}

/** A count that grows until it is written. */
type PendingTally = Omit<VerdictTally, 'count'> & { count: number }

export interface VerdictTalliesParts {
  readonly store: Pick<Store, 'addTallies'>
  readonly nowMs: () => number
  readonly log: Pick<Logger, 'warn'>
  readonly flushMs?: number
}

const FLUSH_MS = 10_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** Names of guards that are counted apart, for each site and day: a key could invent names. */
const NAMES_MAX = 64
/**
 * Combinations of name, presentation and outcome that guards may report, for each site and hour.
 * Each is a row of every minute in which it occurs, and a row of the hour.
 */
const COMBINATIONS_MAX = 200
/** Counts in memory. Beyond this, new ones are dropped until the store can be written. */
const PENDING_MAX = 50_000
const WRITTEN_MAX = 500
const OUTCOMES: ReadonlySet<string> = new Set(['allowed', 'issued', ...Object.keys(guardProblems)])

export function createVerdictTallies({
  store,
  nowMs,
  log,
  flushMs = FLUSH_MS,
}: VerdictTalliesParts): VerdictTallies {
  let pending = new Map<string, PendingTally>()
  /** What this service counted last: most of its decisions are like the one before. */
  let last: PendingTally | undefined
  let names = new Map<SiteId, Set<string>>()
  let namesSinceMs = nowMs()
  let combinations = new Map<SiteId, Set<string>>()
  let combinedHour = 0
  const quota = new ReportQuota()
  let isFailing = false
  let running: Promise<void> | undefined

  const addOne = (tally: VerdictTally): PendingTally | undefined => {
    const { siteId, atMs, verifierId, presented, outcome } = tally
    const key = `${siteId} ${atMs} ${verifierId} ${presented} ${outcome}`
    const before = pending.get(key)
    if (before === undefined && pending.size >= PENDING_MAX) return undefined
    const sum = before ?? { ...tally, count: 0 }
    sum.count += tally.count
    if (before === undefined) pending.set(key, sum)
    return sum
  }
  const toMinute = (ms: number) => Math.floor(ms / MINUTE_MS) * MINUTE_MS
  const toKnown = (outcome: string) => (OUTCOMES.has(outcome) ? outcome : 'other')
  const nameFor = (siteId: SiteId, verifierId: string | undefined): string => {
    if (verifierId === undefined) return '(others)'
    if (nowMs() - namesSinceMs > DAY_MS) {
      names = new Map()
      namesSinceMs = nowMs()
    }
    const known = names.get(siteId) ?? new Set()
    names.set(siteId, known)
    if (!known.has(verifierId) && known.size >= NAMES_MAX) return '(others)'
    known.add(verifierId)
    return verifierId
  }
  /** Beyond the limit, the name and the kind of denial are lost, but never that one was allowed. */
  const combine = (tally: VerdictTally): VerdictTally => {
    const hour = Math.floor(tally.atMs / HOUR_MS)
    if (hour !== combinedHour) {
      combinations = new Map()
      combinedHour = hour
    }
    const { siteId, verifierId, presented, outcome } = tally
    const known = combinations.get(siteId) ?? new Set()
    combinations.set(siteId, known)
    const combination = `${verifierId} ${presented} ${outcome}`
    if (!known.has(combination) && known.size >= COMBINATIONS_MAX)
      return { ...tally, verifierId: '(others)', outcome: outcome === 'allowed' ? outcome : 'other' }
    known.add(combination)
    return tally
  }

  const write = async () => {
    const writing = [...pending.values()]
    pending = new Map()
    last = undefined
    for (let from = 0; from < writing.length; from += WRITTEN_MAX) {
      try {
        await store.addTallies(writing.slice(from, from + WRITTEN_MAX))
        isFailing = false
      } catch (err) {
        // Written with the next attempt. One whose answer was lost may be counted twice.
        for (const tally of writing.slice(from)) addOne(tally)
        if (!isFailing) log.warn({ err }, 'counts of decisions could not be written; trying again')
        isFailing = true
        return
      }
    }
  }
  const flush = (): Promise<void> => {
    running ??= write().finally(() => {
      running = undefined
    })
    return running
  }
  const job = everyMs(flushMs, flush, () => undefined, 0.1)

  return {
    count(siteId, presented, outcome) {
      const atMs = toMinute(nowMs())
      if (
        last?.siteId === siteId &&
        last.atMs === atMs &&
        last.presented === presented &&
        last.outcome === outcome
      )
        last.count++
      else
        last = addOne({
          siteId,
          atMs,
          verifierId: '(service)',
          presented,
          outcome: toKnown(outcome),
          count: 1,
        })
    },
    add(siteId, reporter, counts) {
      quota.consume(reporter, nowMs())
      const name = nameFor(siteId, reporter.verifierId)
      const atMs = toMinute(nowMs())
      for (const { presented, outcome, count } of counts)
        addOne(combine({ siteId, atMs, verifierId: name, presented, outcome: toKnown(outcome), count }))
    },
    flush,
    async close() {
      await job.close()
      await flush()
      await flush()
    },
  }
}
