import { createHistogram } from 'node:perf_hooks'

/** Latencies: quantiles with three digits, and counts in buckets for drawing. */
export interface Latencies {
  add(ms: number): void
  readonly count: number
  /** `quantile(0.99)` is the 99th percentile. */
  quantile(part: number): number
  readonly min: number
  readonly max: number
  readonly mean: number
  /** The buckets that are not empty, fastest first. */
  buckets(): readonly { readonly msMax: number; readonly count: number }[]
}

/** Each bucket is 20 % wider than the one before. Node's histogram gives no counts by bucket. */
const FIRST_MS = 0.05
const GROWTH = 1.2

export function createLatencies(): Latencies {
  // It records integers from 1, so in microseconds.
  const recorded = createHistogram()
  const counts: number[] = []
  const toMs = (us: number) => (recorded.count === 0 ? 0 : us / 1000)
  return {
    add(ms) {
      recorded.record(Math.max(1, Math.round(ms * 1000)))
      const bucket = ms <= FIRST_MS ? 0 : Math.ceil(Math.log(ms / FIRST_MS) / Math.log(GROWTH))
      counts[bucket] = (counts[bucket] ?? 0) + 1
    },
    get count() {
      return recorded.count
    },
    get min() {
      return toMs(recorded.min)
    },
    get max() {
      return toMs(recorded.max)
    },
    get mean() {
      return toMs(recorded.mean)
    },
    quantile: (part) => toMs(Math.min(recorded.percentile(part * 100), recorded.max)),
    buckets: () => counts.flatMap((count, bucket) => [{ msMax: FIRST_MS * GROWTH ** bucket, count }]),
  }
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar for each bucket, the longest as wide as `width`. */
export function histogramText(latencies: Latencies, width: number): string {
  const buckets = latencies.buckets()
  const most = Math.max(1, ...buckets.map(({ count }) => count))
  return buckets
    .map(({ msMax, count }) => {
      const eighths = Math.max(1, Math.round((count / most) * width * 8))
      const bar = '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '')
      return `${msText(msMax).padStart(9)} ${bar} ${count}`
    })
    .join('\n')
}

/** `0.31 ms`, `12 ms`, `1.2 s` */
export function msText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(2)} ms`
}
