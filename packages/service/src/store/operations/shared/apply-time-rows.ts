import { toBucket } from '../../apply-time-buckets.ts'
import { exec, type Transaction } from '../../transaction.ts'

/** How long a verifier took to apply an entry. */
export interface ApplyTime {
  readonly verifierId: string
  /** What it reported, or when its acknowledgement came. */
  readonly measure: 'applied' | 'acknowledged'
  readonly ms: number
}

export interface EntryApplyTimes {
  readonly siteId: string
  /** The time of the entry. */
  readonly atMs: number
  readonly times: readonly ApplyTime[]
}

const SLOT_MS = 3_600_000
/** Rows of one statement: few sizes, so that each is prepared once. */
const COUNTS_ADDED = [64, 8, 1]

/** Counts times, by hour, verifier, measure and bucket. */
export function* addApplyTimes(entries: readonly EntryApplyTimes[]): Transaction<void> {
  type Values = [site: string, slot: number, verifier: string, measure: string, bucket: number]
  const counts = new Map<string, { readonly values: Values; count: number; msMax: number }>()
  for (const { siteId, atMs, times } of entries)
    for (const { verifierId, measure, ms } of times) {
      const slot = Math.floor(atMs / SLOT_MS) * SLOT_MS
      const values: Values = [siteId, slot, verifierId, measure, toBucket(ms)]
      const name = JSON.stringify(values)
      const known = counts.get(name) ?? { values, count: 0, msMax: 0 }
      known.count++
      known.msMax = Math.max(known.msMax, ms)
      counts.set(name, known)
    }
  const found = [...counts.values()].map(({ values, count, msMax }) => [...values, count, msMax])
  while (found.length > 0)
    yield* addCounts(
      found.splice(
        0,
        COUNTS_ADDED.find((size) => size <= found.length),
      ),
    )
}

function* addCounts(counts: readonly (readonly (string | number)[])[]): Transaction<void> {
  const list = counts.map(
    (values, i) => `(${values.map((_, j) => `$${i * values.length + j + 1}`).join(', ')})`,
  )
  yield* exec(
    `INSERT INTO apply_times (site_id, slot, verifier_id, measure, bucket, count, ms_max) VALUES ${list.join(', ')}
     ON CONFLICT (site_id, slot, verifier_id, measure, bucket) DO UPDATE SET count = apply_times.count + excluded.count,
       ms_max = CASE WHEN excluded.ms_max > apply_times.ms_max THEN excluded.ms_max ELSE apply_times.ms_max END`,
    ...counts.flat(),
  )
}
