import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { headerNames, limits } from '@countersign/core/contract'
import type { Caller, RouteAnswer } from '../answer.ts'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import { answerPurpose } from '../sealing/purposes.ts'
import type { IdempotencyKey, KeptAnswer } from '../store/operations/idempotency.ts'
import type { RawRequest } from './raw-request.ts'
import type { MountedEndpoint } from './respond.ts'

/**
 * How long a repetition waits for the first to end, and after how long it looks first; then twice
 * as long each time, since looking is work.
 */
export interface Patience {
  readonly waitMsMax: number
  readonly lookMs: number
}

const PATIENCE: Patience = { waitMsMax: 10_000, lookMs: 25 }
const LOOK_MS_MAX = 1000

export interface RepeatableRequest {
  readonly raw: RawRequest
  readonly endpoint: MountedEndpoint
  readonly caller: Caller
  readonly body: Uint8Array | undefined
  /**
   * Throws when what stands for an unknown caller cannot even be read: such a request must not cost
   * a write.
   */
  requireReadable(): void
  /** Throws unless this caller may be given the answer that the first request got. */
  requireSameCaller(): Promise<void>
}

/**
 * Answers a request once, however often it is sent under one Idempotency-Key: a repetition gets the
 * kept answer, or `idempotency_conflict` when the body is another one or the answer held a secret.
 * Refusals are not kept; after one the key may be used again.
 */
export async function answerOnce(
  { raw, endpoint, caller, body, requireReadable, requireSameCaller }: RepeatableRequest,
  deps: Pick<Deps, 'store' | 'keys' | 'clock' | 'views'>,
  answer: () => Promise<RouteAnswer>,
  patience: Patience = PATIENCE,
): Promise<RouteAnswer> {
  const text = endpoint.idempotency && raw.lines(headerNames.idempotencyKey)?.[0]
  if (text === undefined) return answer()
  requireReadable()
  const key: IdempotencyKey = {
    owner: toOwner(raw, caller),
    sha256: hash('sha256', text, 'hex'),
    requestSha256: hash(
      'sha256',
      Buffer.concat([Buffer.from(`${raw.query}\n`), body ?? new Uint8Array()]),
      'hex',
    ),
  }
  const kept = await begin(key, deps, patience)
  if (kept !== 'begun') {
    await requireSameCaller()
    return keptAnswer(kept, key, deps)
  }
  const given = await answerOrAbandon(key, deps, answer)
  const keep: KeptAnswer =
    endpoint.idempotency === 'secret'
      ? { kind: 'secret' }
      : { kind: 'answer', sealed: deps.keys.seal(answerPurpose(key), JSON.stringify(given)) }
  await deps.store.finishIdempotent(key, keep)
  return given
}

async function begin(
  key: IdempotencyKey,
  { store, clock }: Pick<Deps, 'store' | 'clock'>,
  patience: Patience,
): Promise<'begun' | KeptAnswer> {
  const lookUntilMs = performance.now() + patience.waitMsMax
  for (let lookMs = patience.lookMs; ; lookMs = Math.min(2 * lookMs, LOOK_MS_MAX)) {
    const nowMs = clock.nowMs()
    const state = await store.beginIdempotent(key, nowMs + limits.idempotency_kept_seconds * 1000, nowMs)
    if (state === 'other_request')
      throw new Problem(
        'idempotency_conflict',
        'This Idempotency-Key was used with another request. Use a new one.',
      )
    if (state !== 'running') return state
    if (performance.now() >= lookUntilMs) {
      throw new Problem(
        'store_unavailable',
        'The first request with this Idempotency-Key is still running. Try again with the same key.',
      )
    }
    await sleep(lookMs)
  }
}

async function keptAnswer(
  kept: KeptAnswer,
  key: IdempotencyKey,
  { keys, store, views }: Pick<Deps, 'keys' | 'store' | 'views'>,
): Promise<RouteAnswer> {
  if (kept.kind === 'answer') {
    // Another node may have given it, and only just now. Repeating here that a user is revoked
    // means denying here from then on.
    await views.waitFor(await store.logPosition())
    return JSON.parse(keys.open(answerPurpose(key), kept.sealed)) as RouteAnswer
  }
  throw new Problem(
    'idempotency_conflict',
    'This request was answered before, with a secret that is shown only once. If it was lost, ask for another with a new Idempotency-Key.',
  )
}

async function answerOrAbandon(
  key: IdempotencyKey,
  { store }: Pick<Deps, 'store'>,
  answer: () => Promise<RouteAnswer>,
): Promise<RouteAnswer> {
  try {
    return await answer()
  } catch (error) {
    // What was thrown matters more than a key that has to wait for its end.
    await store.abandonIdempotent(key).catch(() => undefined)
    throw error
  }
}

/**
 * Whose key it is, as a digest: a path may be longer than what a store can look up. Where a
 * credential stands for the caller it has not been verified yet, so the kept answer belongs to that
 * very credential; `requireSameCaller` asks for the proof of its holder.
 */
function toOwner({ method, path, lines }: RawRequest, caller: Caller): string {
  const credential = lines(headerNames.credential)?.[0]
  const who =
    caller.kind !== 'anonymous'
      ? `key:${caller.keyId}`
      : credential === undefined
        ? `address:${caller.address}`
        : `credential:${hash('sha256', credential, 'hex')}`
  return hash('sha256', `${who} ${method} ${path}`, 'hex')
}
