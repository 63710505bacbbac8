import { row, type Transaction } from '../transaction.ts'

/** A turn further ahead comes from a clock that was set back since, and must not delay anything. */
const AHEAD_MS_BELIEVED = 86_400_000

/**
 * Takes the turn for a job that one node does every `everyMs`. False when another node has taken it
 * less than that ago.
 */
export function* takeTurn(job: string, nowMs: number, everyMs: number): Transaction<boolean> {
  const taken = yield* row(
    `INSERT INTO job_turns (job, at) VALUES ($1, $2)
     ON CONFLICT (job) DO UPDATE SET at = excluded.at WHERE job_turns.at <= $2 - $3 OR job_turns.at > $2 + ${AHEAD_MS_BELIEVED}
     RETURNING 1 AS one`,
    job,
    nowMs,
    everyMs,
  )
  return taken !== undefined
}
