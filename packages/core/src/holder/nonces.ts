import { PROOF_AHEAD_MS_MAX } from './profile.ts'

/** A holder proof that is about to be used. */
export interface NonceUse {
  /** The `did:key` of the holder. Each holder has its own nonces. */
  readonly holderKey: string
  readonly nonce: string
  readonly createdMs: number
  /** The proof is too old from this time on. */
  readonly usableUntilMs: number
  readonly nowMs: number
}

/**
 * `fresh`: not used before, and recorded now. `replayed`: used before. `rejected`: too old or too
 * far in the future to exclude a replay; the caller needs a new proof.
 */
export type NonceAnswer = 'fresh' | 'replayed' | 'rejected'

/**
 * Records which holder proofs were used. This is the last step of a decision and the only one that
 * may access a store.
 *
 * - Of all calls with the same holder key and nonce, concurrent or not, at most one returns `fresh`
 *   before its `usableUntilMs`. Reading and recording are one atomic step.
 * - A proof is `fresh` only once, also after a restart, a failover or a clock change. After
 *   `usableUntilMs` its nonce may be deleted, because the age check rejects the proof then.
 * - A store that cannot decide (unreachable, timed out, uncertain) throws. It never returns `fresh`
 *   by default.
 */
export interface NonceStore {
  consume(use: NonceUse): NonceAnswer | Promise<NonceAnswer>
}

export interface MemoryNoncesOptions {
  /**
   * When this process started: not before any `nowMs` of the previous process. `-Infinity` if there
   * was none.
   */
  readonly startedAtMs: number
  /**
   * How far ahead of our clock a proof may be created. The previous process may have accepted such
   * proofs, and its records are lost. So proofs created within this time after the start are
   * rejected: a smaller value shortens that period but tolerates fewer fast clocks.
   */
  readonly aheadMsMax?: number
  /** The maximum number of recorded nonces, at about 150 bytes each. */
  readonly capacity?: number
}

const CAPACITY_DEFAULT = 262_144
const GENERATIONS = 8
/**
 * Seven generations last longer than a proof (70 s), so under normal load no usable nonce is
 * deleted.
 */
const GENERATION_MS = 12_000

interface Generation {
  readonly seen: Set<string>
  readonly openedAtMs: number
  newestCreatedMs: number
}

/**
 * Keeps nonces in the memory of this process. Accepts no proof twice, whatever the clock does, and
 * no proof that an earlier process may have accepted: everything created up to `startedAtMs +
 * aheadMsMax` is rejected, including the second of the start, because `created` has whole seconds.
 * Over capacity it deletes the oldest nonces and rejects every proof created before the newest of
 * them. The accepted period gets shorter and is never extended again. Throws a TypeError for
 * invalid options.
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
   * Proofs created up to this time are rejected, because their nonces may be deleted. Never
   * decreases.
   */
  let barMs = startedAtMs + aheadMsMax

  /** Returns a generation with free capacity. May raise `barMs`. */
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
      // Written so that NaN is rejected.
      const isInWindow = createdMs > barMs && createdMs - nowMs <= aheadMsMax
      if (!isInWindow) return 'rejected'
      const generation = openGeneration(nowMs)
      if (createdMs <= barMs) return 'rejected' // Its own nonce may have been deleted just now.
      generation.seen.add(key)
      generation.newestCreatedMs = Math.max(generation.newestCreatedMs, createdMs)
      return 'fresh'
    },
  }
}
