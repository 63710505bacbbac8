import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { headerNames, limits, problems } from '@countersign/core/contract'
import type { Caller, RouteAnswer } from '../answer.ts'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { RouteRequest } from '../route.ts'
import { answerPurpose } from '../sealing/purposes.ts'
import { SealBroken } from '../sealing/sealer.ts'
import type { IdempotencyKey, IdempotencyState, KeptAnswer } from '../store/operations/idempotency.ts'
import type { RawRequest } from './raw-request.ts'
import type { MountedEndpoint } from './respond.ts'

/**
 * How long a repetition waits for the first request to end, and the first interval at which it asks
 * the store. The interval doubles each time.
 */
export interface Patience {
  readonly waitMsMax: number
  readonly lookMs: number
}

const PATIENCE: Patience = { waitMsMax: 10_000, lookMs: 25 }
const LOOK_MS_MAX = 1000
/** How long a revocation waits for an earlier one with its key, whose node may have died. */
const REVOCATION_WAIT_MS_MAX = 1000

export interface RepeatableRequest {
  readonly raw: RawRequest
  readonly endpoint: MountedEndpoint
  /** Of the path, decoded: the same endpoint may be named in several spellings. */
  readonly params: unknown
  readonly caller: Caller
  readonly body: Uint8Array | undefined
  /**
   * Throws when the credential of a caller without a key cannot be parsed, or the node has no place
   * for the request: such requests must not cost a write.
   */
  requireReadable(): void
  /** Throws unless this caller may get the answer to the first request. */
  requireSameCaller(): Promise<void>
  readonly waitOutside: RouteRequest['waitOutside']
}

/**
 * Runs a request once for each Idempotency-Key. A repetition gets the kept answer, or
 * `idempotency_conflict` when the body differs or the answer contained a secret. Rejections are not
 * kept; after one the key can be used again. A revocation whose first request does not end, or
 * whose answer cannot be kept or opened, is done again: that changes nothing if it was done, and a
 * user must not keep access because a node died or has an old master key. `answer` learns whether
 * the outcome of an earlier request with the key is unknown.
 */
export async function answerOnce(
  { raw, endpoint, params, caller, body, requireReadable, requireSameCaller, waitOutside }: RepeatableRequest,
  deps: Pick<Deps, 'store' | 'keys' | 'clock' | 'views'>,
  answer: (isRepeated: boolean) => Promise<RouteAnswer>,
  patience: Patience = PATIENCE,
): Promise<RouteAnswer> {
  const text = endpoint.idempotency && raw.lines(headerNames.idempotencyKey)?.[0]
  if (text === undefined) return answer(false)
  requireReadable()
  const key: IdempotencyKey = {
    owner: toOwner(raw, endpoint, params, caller),
    sha256: hash('sha256', text, 'hex'),
    requestSha256: hash(
      'sha256',
      Buffer.concat([Buffer.from(`${raw.query}\n`), body ?? new Uint8Array()]),
      'hex',
    ),
  }
  const waitMsMax = endpoint.revokes
    ? Math.min(patience.waitMsMax, REVOCATION_WAIT_MS_MAX)
    : patience.waitMsMax
  const kept = await begin(key, deps, { ...patience, waitMsMax }, waitOutside)
  if (kept === 'running') {
    if (endpoint.revokes) return answer(true)
    throw new Problem(
      'store_unavailable',
      'The first request with this Idempotency-Key is still running. Try again with the same key.',
    )
  }
  if (kept !== 'begun' && kept !== 'begun_again') {
    await requireSameCaller()
    try {
      return await loadKeptAnswer(kept, key, deps)
    } catch (fault) {
      if (!endpoint.revokes || !(fault instanceof SealBroken)) throw fault
      return answer(false)
    }
  }
  const given = await answerOrAbandon(key, deps, () => answer(kept === 'begun_again'))
  const keep: KeptAnswer =
    endpoint.idempotency === 'secret'
      ? { kind: 'secret' }
      : { kind: 'answer', sealed: deps.keys.seal(answerPurpose(key), JSON.stringify(given)) }
  try {
    await deps.store.finishIdempotent(key, keep)
  } catch (fault) {
    // A revocation is durable by now.
    if (!endpoint.revokes) throw fault
  }
  return given
}

async function begin(
  key: IdempotencyKey,
  { store, clock }: Pick<Deps, 'store' | 'clock'>,
  patience: Patience,
  waitOutside: RouteRequest['waitOutside'],
): Promise<Exclude<IdempotencyState, 'other_request'>> {
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
    const waiting = performance.now() < lookUntilMs ? waitOutside(() => sleep(lookMs)) : undefined
    if (waiting === undefined) return 'running'
    await waiting
  }
}

async function loadKeptAnswer(
  kept: KeptAnswer,
  key: IdempotencyKey,
  { keys, store, views }: Pick<Deps, 'keys' | 'store' | 'views'>,
): Promise<RouteAnswer> {
  if (kept.kind === 'answer') {
    // Another node may have answered a moment ago. A node that repeats "revoked" must deny from
    // then on.
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
    // The first error matters more. The key expires by itself.
    await store.abandonIdempotent(key, isRejection(error)).catch(() => undefined)
    throw error
  }
}

/** Other failures, such as a store that does not answer, may come after the change was made. */
function isRejection(error: unknown): boolean {
  return error instanceof Problem && problems[error.code].status < 500
}

/**
 * The owner of the key, as a digest, since paths may be longer than a store can index. A credential
 * has not been verified yet, so the kept answer belongs to exactly this credential, and
 * `requireSameCaller` checks the proof of its holder.
 */
function toOwner({ lines }: RawRequest, { id }: MountedEndpoint, params: unknown, caller: Caller): string {
  const credential = lines(headerNames.credential)?.[0]
  const who =
    caller.kind !== 'anonymous'
      ? caller.person === undefined
        ? `key:${caller.keyId}`
        : `person:${caller.person.personId}`
      : credential === undefined
        ? `address:${caller.address}`
        : `credential:${hash('sha256', credential, 'hex')}`
  return hash('sha256', `${who} ${id} ${JSON.stringify(params ?? {})}`, 'hex')
}
