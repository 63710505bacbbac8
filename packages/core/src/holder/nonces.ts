import { PROOF_AHEAD_MS_MAX } from './profile.ts'

/** One holder proof about to be used. */
export interface NonceUse {
  /** The Multikey of the holder: nonces of different holders have nothing to do with each other. */
  readonly holderKey: string
  readonly nonce: string
  readonly createdMs: number
  /** The first moment at which the proof is too old on its own. */
  readonly usableUntilMs: number
  readonly nowMs: number
}

/**
 * `fresh`: never seen, and remembered from now on. `replayed`: seen before. `refused`: so old, or
 * so far ahead, that the store cannot vouch for it; a new proof will do.
 */
export type NonceAnswer = 'fresh' | 'replayed' | 'rejected'

/**
 * Remembers which holder proofs were used. The last step of a decision, and the only one that may
 * touch a store.
 *
 * - Of all calls with one holder key and nonce, in whatever order and however concurrent, at most
 *   one is answered `fresh` before `usableUntilMs` of that one has passed. Looking and remembering
 *   are a single atomic step.
 * - Once answered `fresh`, a proof is never `fresh` again: not after a restart, a failover or a
 *   step of the clock. After `usableUntilMs` its nonce may be forgotten, because by then the check
 *   of its age refuses it.
 * - A store that cannot tell (unreachable, timed out, in doubt) throws. It never answers `fresh` to
 *   be helpful.
 */
export interface NonceStore {
  consume(use: NonceUse): NonceAnswer | Promise<NonceAnswer>
}

export interface MemoryNoncesOptions {
  /**
   * When this process started: no earlier than any `nowMs` of the process before it. `-Infinity`
   * where there surely was none.
   */
  readonly startedAtMs: number
  /**
   * How far ahead of our clock a proof may be created. The process before this one may have let
   * such proofs in and taken the memory of them along, so nothing counts that was created within
   * this span after the start: a smaller span means a shorter silence after a start and less
   * patience with fast clocks.
   */
  readonly aheadMsMax?: number
  /** How many nonces to remember at most, at about 150 bytes each. */
  readonly capacity?: number
}

const CAPACITY_DEFAULT = 262_144
const GENERATIONS = 8
/**
 * Seven full generations outlast the life of a proof (70 s), so in quiet times nothing is forgotten
 * that could still be used.
 */
const GENERATION_MS = 12_000

interface Generation {
  readonly seen: Set<string>
  readonly openedAtMs: number
  newestCreatedMs: number
}

/**
 * Nonces in the memory of one process. No proof passes twice, whatever the clock does, and none
 * that an earlier process may have accepted: what was created up to `startedAtMs + aheadMsMax` is
 * refused, and since `created` is in whole seconds, so is the second of the start. Over capacity it
 * forgets its oldest nonces and refuses every proof that was not created after all of them: the
 * window gets shorter, it never opens again. Throws a TypeError for options that make no sense.
 */
export function createMemoryNonces(options: MemoryNoncesOptions): NonceStore {
  const { startedAtMs, aheadMsMax = PROOF_AHEAD_MS_MAX, capacity = CAPACITY_DEFAULT } = options
  if (Number.isNaN(startedAtMs + aheadMsMax) || startedAtMs === Infinity)
    throw new TypeError('startedAtMs must be a time in milliseconds')
  if (!(aheadMsMax >= 0 && aheadMsMax <= PROOF_AHEAD_MS_MAX))
    throw new TypeError(`aheadMsMax must be from 0 to ${PROOF_AHEAD_MS_MAX}`)
  if (!(Number.isSafeInteger(capacity) && capacity >= GENERATIONS))
    throw new TypeError(`capacity must be a whole number from ${GENERATIONS}`)

  const generationSizeMax = Math.floor(capacity / GENERATIONS)
  const generations: Generation[] = []
  /**
   * Nothing created at this moment or before it can be told from a replay any more. It only ever
   * moves up.
   */
  let barMs = startedAtMs + aheadMsMax

  /** A generation that has room. Making room may move the bar. */
  const openGeneration = (nowMs: number): Generation => {
    const youngest = generations.at(-1)
    if (
      youngest !== undefined &&
      youngest.seen.size < generationSizeMax &&
      nowMs - youngest.openedAtMs < GENERATION_MS
    )
      return youngest
    const forgotten = generations.length === GENERATIONS ? generations.shift() : undefined
    if (forgotten !== undefined) barMs = Math.max(barMs, forgotten.newestCreatedMs)
    const generation = { seen: new Set<string>(), openedAtMs: nowMs, newestCreatedMs: -Infinity }
    generations.push(generation)
    return generation
  }

  return {
    consume({ holderKey, nonce, createdMs, nowMs }) {
      const key = `${holderKey} ${nonce}`
      if (generations.some(({ seen }) => seen.has(key))) return 'replayed'
      // Asked positively: a time that is not a number is refused.
      const isVouchedFor = createdMs > barMs && createdMs - nowMs <= aheadMsMax
      if (!isVouchedFor) return 'rejected'
      const generation = openGeneration(nowMs)
      if (createdMs <= barMs) return 'rejected' // It may itself be among what was just forgotten.
      generation.seen.add(key)
      generation.newestCreatedMs = Math.max(generation.newestCreatedMs, createdMs)
      return 'fresh'
    },
  }
}
