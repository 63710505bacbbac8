import { optionalText, text } from '../columns.ts'
import { row, rows, type Transaction } from '../transaction.ts'
import { requireMasterKey } from './shared/master-key.ts'

export interface IdempotencyKey {
  /** A digest of the caller, the method and the path. */
  readonly owner: string
  readonly sha256: string
  readonly requestSha256: string
}

/** `secret`: the answer contained a secret that is shown only once, so it is not kept. */
export type KeptAnswer = { readonly kind: 'answer'; readonly sealed: string } | { readonly kind: 'secret' }

/**
 * `begun_again`: the same request began before, and its outcome is unknown. It may have done its
 * work.
 */
export type IdempotencyState = 'begun' | 'begun_again' | 'running' | 'other_request' | KeptAnswer

/**
 * A request that runs longer was cut off with its process; its key must not stay in use for a day.
 */
const RUNNING_MS_MAX = 60_000

/**
 * Begins a request under an idempotency key. `begun` or `begun_again` for exactly one of all
 * concurrent requests: one statement takes the key if it is free or its last holder has expired.
 * The others read what the winner left, and try again if that was abandoned in between. In the
 * table, the state `again` is `running` for a request that has begun again.
 */
export function* beginIdempotent(
  key: IdempotencyKey,
  expiresAtMs: number,
  nowMs: number,
): Transaction<IdempotencyState> {
  for (;;) {
    const taken = yield* row(
      `INSERT INTO idempotency_keys (owner, sha256, request_sha256, state, sealed, began_at, expires_at)
       VALUES ($1, $2, $3, 'running', NULL, $4, $5)
       ON CONFLICT (owner, sha256) DO UPDATE
         SET state = CASE WHEN idempotency_keys.expires_at > $4 AND idempotency_keys.request_sha256 = excluded.request_sha256 THEN 'again' ELSE 'running' END,
           request_sha256 = excluded.request_sha256, sealed = NULL, began_at = excluded.began_at, expires_at = excluded.expires_at
         WHERE idempotency_keys.expires_at <= $4 OR (idempotency_keys.state IN ('running', 'again') AND idempotency_keys.began_at <= $6)
       RETURNING state`,
      key.owner,
      key.sha256,
      key.requestSha256,
      nowMs,
      expiresAtMs,
      nowMs - RUNNING_MS_MAX,
    )
    if (taken !== undefined) return text(taken, 'state') === 'again' ? 'begun_again' : 'begun'
    const kept = yield* row(
      'SELECT request_sha256, state, sealed, began_at FROM idempotency_keys WHERE owner = $1 AND sha256 = $2',
      key.owner,
      key.sha256,
    )
    if (kept === undefined) continue
    if (text(kept, 'request_sha256') !== key.requestSha256) return 'other_request'
    const state = text(kept, 'state')
    if (state === 'running' || state === 'again') return 'running'
    return state === 'answer'
      ? { kind: 'answer', sealed: optionalText(kept, 'sealed') ?? '' }
      : { kind: 'secret' }
  }
}

export function* finishIdempotent(key: IdempotencyKey, answer: KeptAnswer): Transaction<void> {
  yield* rows(
    `UPDATE idempotency_keys SET state = $4, sealed = $5 WHERE owner = $1 AND sha256 = $2 AND request_sha256 = $3`,
    key.owner,
    key.sha256,
    key.requestSha256,
    answer.kind,
    answer.kind === 'answer' ? answer.sealed : null,
  )
  if (answer.kind === 'answer') yield* requireMasterKey(answer.sealed)
}

/**
 * The request has failed; the key may be used again. `isOutcomeKnown`: it had no effect, so the key
 * is forgotten, unless the same request began before with an unknown outcome.
 */
export function* abandonIdempotent(key: IdempotencyKey, isOutcomeKnown: boolean): Transaction<void> {
  const ids = [key.owner, key.sha256, key.requestSha256]
  const where = `owner = $1 AND sha256 = $2 AND request_sha256 = $3`
  if (isOutcomeKnown) yield* rows(`DELETE FROM idempotency_keys WHERE ${where} AND state = 'running'`, ...ids)
  yield* rows(
    `UPDATE idempotency_keys SET began_at = 0 WHERE ${where} AND state IN ('running', 'again')`,
    ...ids,
  )
}
