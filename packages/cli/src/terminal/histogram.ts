/**
 * How often something took how long. Each bucket is a fifth wider than the one before, so that a
 * microsecond and a minute fit into few of them.
 */
export interface Histogram {
  add(ms: number): void
  readonly count: number
  /**
   * The upper bound of the bucket in which this part of all lies: 0.99 for the slowest hundredth.
   */
  quantile(part: number): number
  readonly min: number
  readonly max: number
  readonly mean: number
  /** Those that are not empty, from the fastest. */
  buckets(): readonly { readonly msMax: number; readonly count: number }[]
}

const FIRST_MS = 0.05
const GROWTH = 1.2

export function createHistogram(): Histogram {
  const counts: number[] = []
  let [count, sum, min, max] = [0, 0, Number.POSITIVE_INFINITY, 0]
  const toBound = (bucket: number) => FIRST_MS * GROWTH ** bucket
  return {
    add(ms) {
      const bucket = ms <= FIRST_MS ? 0 : Math.ceil(Math.log(ms / FIRST_MS) / Math.log(GROWTH))
      counts[bucket] = (counts[bucket] ?? 0) + 1
      count++
      sum += ms
      min = Math.min(min, ms)
      max = Math.max(max, ms)
    },
    get count() {
      return count
    },
    get min() {
      return count === 0 ? 0 : min
    },
    get max() {
      return max
    },
    get mean() {
      return count === 0 ? 0 : sum / count
    },
    quantile(part) {
      let left = Math.ceil(part * count)
      for (let bucket = 0; bucket < counts.length; bucket++) {
        left -= counts[bucket] ?? 0
        if (left <= 0) return Math.min(toBound(bucket), max)
      }
      return max
    },
    buckets: () =>
      counts.flatMap((each, bucket) => (each === undefined ? [] : [{ msMax: toBound(bucket), count: each }])),
  }
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar for each bucket, the longest as wide as `width`. */
export function histogramText(histogram: Histogram, width: number): string {
  const buckets = histogram.buckets()
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
