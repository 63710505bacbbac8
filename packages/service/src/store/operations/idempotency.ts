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

export type IdempotencyState = 'begun' | 'running' | 'other_request' | KeptAnswer

/**
 * A request that runs longer was cut off with its process; its key must not stay in use for a day.
 */
const RUNNING_MS_MAX = 60_000

/**
 * Begins a request under an idempotency key. `begun` for exactly one of all concurrent requests:
 * one statement takes the key if it is free or its last holder has expired. The others read what
 * the winner left, and try again if that was abandoned in between.
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
         SET request_sha256 = excluded.request_sha256, state = 'running', sealed = NULL, began_at = excluded.began_at, expires_at = excluded.expires_at
         WHERE idempotency_keys.expires_at <= $4 OR (idempotency_keys.state = 'running' AND idempotency_keys.began_at <= $6)
       RETURNING owner`,
      key.owner,
      key.sha256,
      key.requestSha256,
      nowMs,
      expiresAtMs,
      nowMs - RUNNING_MS_MAX,
    )
    if (taken !== undefined) return 'begun'
    const kept = yield* row(
      'SELECT request_sha256, state, sealed, began_at FROM idempotency_keys WHERE owner = $1 AND sha256 = $2',
      key.owner,
      key.sha256,
    )
    if (kept === undefined) continue
    if (text(kept, 'request_sha256') !== key.requestSha256) return 'other_request'
    const state = text(kept, 'state')
    if (state === 'running') return 'running'
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

/** The request had no effect; the key may be used again. */
export function* abandonIdempotent(key: IdempotencyKey): Transaction<void> {
  yield* rows(
    `DELETE FROM idempotency_keys WHERE owner = $1 AND sha256 = $2 AND request_sha256 = $3 AND state = 'running'`,
    key.owner,
    key.sha256,
    key.requestSha256,
  )
}
