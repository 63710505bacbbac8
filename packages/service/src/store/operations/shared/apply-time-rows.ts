import { exec, type Transaction } from '../../transaction.ts'

/** How long a verifier took to acknowledge an entry. */
export interface ApplyTime {
  readonly verifierId: string
  readonly ms: number
}

export interface EntryApplyTimes {
  readonly siteId: string
  /** The time of the entry. */
  readonly atMs: number
  readonly times: readonly ApplyTime[]
}

const SLOT_MS = 3_600_000
/** Four buckets for each doubling: a bucket is 19 % wide. */
const BUCKETS_PER_DOUBLING = 4

/** The bucket of a time: it has times above the bound of the bucket before, up to its own. */
function toBucket(ms: number): number {
  return ms <= 1 ? 0 : Math.ceil(Math.log2(ms) * BUCKETS_PER_DOUBLING)
}

/** Counts acknowledgements, by hour, verifier and bucket. */
export function* addApplyTimes(entries: readonly EntryApplyTimes[]): Transaction<void> {
  const counts = new Map<string, { values: [string, number, string, number]; count: number; msMax: number }>()
  for (const { siteId, atMs, times } of entries)
    for (const { verifierId, ms } of times) {
      const slot = Math.floor(atMs / SLOT_MS) * SLOT_MS
      const values: [string, number, string, number] = [siteId, slot, verifierId, toBucket(ms)]
      const before = counts.get(JSON.stringify(values)) ?? { values, count: 0, msMax: 0 }
      counts.set(JSON.stringify(values), {
        values,
        count: before.count + 1,
        msMax: Math.max(before.msMax, ms),
      })
    }
  for (const { values, count, msMax } of counts.values())
    yield* exec(
      `INSERT INTO apply_times (site_id, slot, verifier_id, bucket, count, ms_max) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (site_id, slot, verifier_id, bucket) DO UPDATE SET count = apply_times.count + excluded.count,
         ms_max = CASE WHEN excluded.ms_max > apply_times.ms_max THEN excluded.ms_max ELSE apply_times.ms_max END`,
      ...values,
      count,
      msMax,
    )
}
