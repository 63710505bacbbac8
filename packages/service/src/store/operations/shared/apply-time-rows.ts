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

/** Counts times, by hour, verifier, measure and bucket. */
export function* addApplyTimes(entries: readonly EntryApplyTimes[]): Transaction<void> {
  type Values = [site: string, slot: number, verifier: string, measure: string, bucket: number]
  const counts = new Map<string, { values: Values; count: number; msMax: number }>()
  for (const { siteId, atMs, times } of entries)
    for (const { verifierId, measure, ms } of times) {
      const slot = Math.floor(atMs / SLOT_MS) * SLOT_MS
      const values: Values = [siteId, slot, verifierId, measure, toBucket(ms)]
      const before = counts.get(JSON.stringify(values)) ?? { values, count: 0, msMax: 0 }
      counts.set(JSON.stringify(values), {
        values,
        count: before.count + 1,
        msMax: Math.max(before.msMax, ms),
      })
    }
  for (const { values, count, msMax } of counts.values())
    yield* exec(
      `INSERT INTO apply_times (site_id, slot, verifier_id, measure, bucket, count, ms_max) VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (site_id, slot, verifier_id, measure, bucket) DO UPDATE SET count = apply_times.count + excluded.count,
         ms_max = CASE WHEN excluded.ms_max > apply_times.ms_max THEN excluded.ms_max ELSE apply_times.ms_max END`,
      ...values,
      count,
      msMax,
    )
}
