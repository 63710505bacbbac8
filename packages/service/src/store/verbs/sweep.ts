import { type Program, rows } from '../program.ts'

/** How many rows of each kind one transaction removes, so that none holds the others up for long. */
const SWEEP_ROWS_MAX = 2000

/** True when there may be more to remove. */
export function* sweep(nowMs: number): Program<boolean> {
  const statements = [
    'DELETE FROM tokens WHERE sha256 IN (SELECT sha256 FROM tokens WHERE expires_at <= $1 LIMIT $2) RETURNING 1 AS one',
    'DELETE FROM used_once WHERE (kind, sha256) IN (SELECT kind, sha256 FROM used_once WHERE expires_at <= $1 LIMIT $2) RETURNING 1 AS one',
    'DELETE FROM idempotency_keys WHERE (owner, sha256) IN (SELECT owner, sha256 FROM idempotency_keys WHERE expires_at <= $1 LIMIT $2) RETURNING 1 AS one',
  ]
  let more = false
  for (const statement of statements) {
    const gone = yield* rows(statement, nowMs, SWEEP_ROWS_MAX)
    if (gone.length === SWEEP_ROWS_MAX) more = true
  }
  return more
}
