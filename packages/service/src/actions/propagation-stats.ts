import type { SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { toBucketBound } from '../store/apply-time-buckets.ts'
import type { ApplyTimeCount } from '../store/operations/apply-times.ts'

/** How long verifiers took. Percentiles are the upper bounds of their buckets. */
export interface ApplyStats {
  readonly samples: number
  /** How many of them verifiers reported themselves; the others are acknowledgements. */
  readonly reported: number
  /** These three are undefined without samples. */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
  readonly maxMs: number | undefined
}

interface VerifierStats extends ApplyStats {
  /** Empty for all verifiers without a configured name. */
  readonly verifierId: string
}

export interface PropagationStats extends ApplyStats {
  readonly fromMs: number
  readonly asOfMs: number
  readonly buckets: readonly { readonly upToMs: number; readonly count: number }[]
  /** The slowest first. */
  readonly verifiers: readonly VerifierStats[]
}

const HOUR_MS = 3_600_000

/** Statistics of a site, from the full hour before the window began. */
export async function loadPropagationStats(
  { store, clock }: Pick<Deps, 'store' | 'clock'>,
  siteId: SiteId,
  windowMs: number,
): Promise<PropagationStats> {
  const asOfMs = Math.floor(clock.nowMs())
  const fromMs = Math.floor((asOfMs - windowMs) / HOUR_MS) * HOUR_MS
  const counts = await store.applyTimes(siteId, fromMs)
  const byVerifier = Map.groupBy(counts, ({ verifierId }) => verifierId)
  const byBucket = Map.groupBy(counts, ({ bucket }) => bucket)
  return {
    fromMs,
    asOfMs,
    ...toStats(counts),
    buckets: [...byBucket]
      .sort(([one], [other]) => one - other)
      .map(([bucket, own]) => ({ upToMs: toBucketBound(bucket), count: sum(own) })),
    verifiers: [...byVerifier]
      .map(([verifierId, own]) => ({ verifierId, ...toStats(own) }))
      .sort((one, other) => (other.p99Ms ?? 0) - (one.p99Ms ?? 0)),
  }
}

function toStats(counts: readonly ApplyTimeCount[]): ApplyStats {
  const sorted = [...counts].sort((one, other) => one.bucket - other.bucket)
  const samples = sum(counts)
  const maxMs = samples === 0 ? undefined : Math.max(...counts.map(({ msMax }) => msMax))
  const percentile = (share: number) => {
    let seen = 0
    for (const { bucket, count } of sorted) {
      seen += count
      if (seen >= samples * share) return Math.min(toBucketBound(bucket), maxMs ?? Infinity)
    }
    return undefined
  }
  const reported = sum(counts.filter(({ measure }) => measure === 'applied'))
  return { samples, reported, p50Ms: percentile(0.5), p99Ms: percentile(0.99), maxMs }
}

function sum(counts: readonly ApplyTimeCount[]): number {
  return counts.reduce((total, { count }) => total + count, 0)
}
