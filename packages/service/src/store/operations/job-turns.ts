import { number } from '../columns.ts'
import { exec, lock, row, type Transaction } from '../transaction.ts'

/** A turn further ahead comes from a clock that was set back since, and must not delay anything. */
const AHEAD_MS_BELIEVED = 86_400_000

/**
 * Takes the turn for a job that one node does every `everyMs`, and returns the time since the last
 * turn: infinite if this is the first one. Undefined when another node has taken it less than that
 * ago.
 */
export function* takeTurn(job: string, nowMs: number, everyMs: number): Transaction<number | undefined> {
  yield* lock(`job ${job}`)
  const last = yield* row('SELECT at FROM job_turns WHERE job = $1', job)
  const sinceMs = last === undefined ? Infinity : nowMs - number(last, 'at')
  if (sinceMs < everyMs && sinceMs >= -AHEAD_MS_BELIEVED) return undefined
  yield* exec(
    'INSERT INTO job_turns (job, at) VALUES ($1, $2) ON CONFLICT (job) DO UPDATE SET at = excluded.at',
    job,
    nowMs,
  )
  return sinceMs
}
