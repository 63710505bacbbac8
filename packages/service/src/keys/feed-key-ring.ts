import {
  exportPrivateJwk,
  FEED_KEY_OVERLAP_MS,
  FEED_KEY_STATEMENTS_MAX,
  type FeedKeyStatement,
  feedKeySha256,
  formatTime,
  generatePrivateKey,
  importPrivateKey,
  type PrivateKey,
  signFeedKeyStatement,
} from '@countersign/core'
import type { Sealer } from '../sealing/sealer.ts'
import type { Store } from '../store/store.ts'
import { createInTurn } from './in-turn.ts'

interface FeedKey {
  readonly id: string
  readonly key: PrivateKey
}

interface FeedKeyRotation {
  readonly leadMs: number
  readonly isCompromised: boolean
}

/** Since when a key signs, and whether all keys before it are withdrawn immediately. */
interface KeyUse {
  readonly signsFromMs: number
  readonly isCompromised: boolean
}

/** For the whole life of a store. */
const ROTATIONS_MAX = 10_000

/**
 * The feed keys of the service. The next one is always prepared: it is sealed in the store, and the
 * statement of the current key commits to its hash. A rotation brings the prepared key into use and
 * prepares another one.
 *
 * Key n is stored under one name, and the time from which it signs under another. The first node
 * that writes a name wins. Key n + 1 is stored before key n comes into use, so that a key in use
 * always has a successor.
 */
export class FeedKeyRing {
  /**
   * The keys that verifiers may accept, oldest first, never empty. A key that will sign soon is
   * among them.
   */
  published: readonly FeedKey[] = []
  /**
   * The latest statements, oldest first. All nodes create the same ones, because Ed25519 signatures
   * are deterministic.
   */
  chain: readonly FeedKeyStatement[] = []
  readonly #store: Pick<Store, 'putSecret' | 'secret'>
  readonly #sealer: Sealer
  readonly #keys: FeedKey[] = []
  readonly #uses: KeyUse[] = []
  /** Steps run one at a time, because each depends on the number of keys. */
  readonly #inTurn = createInTurn()

  private constructor(store: Pick<Store, 'putSecret' | 'secret'>, sealer: Sealer) {
    this.#store = store
    this.#sealer = sealer
  }

  /**
   * Loads the keys from the store, and creates the first ones if there are none. Rejects when the
   * store is unavailable.
   */
  static async open(
    store: Pick<Store, 'putSecret' | 'secret'>,
    sealer: Sealer,
    nowMs: number,
  ): Promise<FeedKeyRing> {
    const ring = new FeedKeyRing(store, sealer)
    await ring.#load()
    if (ring.#uses.length === 0) await ring.#use({ signsFromMs: nowMs, isCompromised: false })
    await ring.#updatePublished(nowMs)
    return ring
  }

  /**
   * With a clock that is behind, this node must not sign with a withdrawn key: the oldest published
   * key signs.
   */
  signing(nowMs: number): FeedKey {
    const index = this.#uses.findLastIndex(({ signsFromMs }) => signsFromMs <= nowMs)
    const key = this.#keys[index]
    return (key !== undefined && this.published.includes(key) ? key : this.published[0]) as FeedKey
  }

  /**
   * A key that signs or has signed, published or withdrawn. Undefined for one that was marked as
   * compromised.
   */
  find(id: string): FeedKey | undefined {
    const first = Math.max(
      this.#uses.findLastIndex(({ isCompromised }) => isCompromised),
      0,
    )
    return this.#keys.slice(first, this.#uses.length).find((key) => key.id === id)
  }

  /**
   * Brings the prepared key into use after `leadMs`, and returns its id. `isCompromised`: the key
   * signs immediately, and all keys before it are withdrawn immediately. Two nodes that rotate at
   * the same time make one rotation.
   */
  rotate(nowMs: number, { leadMs, isCompromised }: FeedKeyRotation): Promise<string> {
    const wanted: KeyUse = { signsFromMs: nowMs + (isCompromised ? 0 : leadMs), isCompromised }
    return this.#inTurn(async () => {
      const before = this.#uses.length
      await this.#load()
      await this.#updatePublished(nowMs)
      if (!isCompromised && this.published.length >= FEED_KEY_STATEMENTS_MAX)
        throw new TypeError(
          `At most ${FEED_KEY_STATEMENTS_MAX} feed keys can be published at a time. Wait until the oldest is withdrawn.`,
        )
      // Another node may have rotated since the last load, or may be rotating now. That rotation is
      // used if it meets the request.
      const isDone = () =>
        this.#uses
          .slice(before)
          .some((use) => use.signsFromMs <= wanted.signsFromMs && (use.isCompromised || !isCompromised))
      while (!isDone()) await this.#use(wanted)
      await this.#updatePublished(nowMs)
      return (this.#keys[this.#uses.length - 1] as FeedKey).id
    })
  }

  /** Loads rotations of other nodes. True when there was one. */
  reload(nowMs: number): Promise<boolean> {
    return this.#inTurn(async () => {
      const isNews = await this.#load()
      await this.#updatePublished(nowMs)
      return isNews
    })
  }

  async #load(): Promise<boolean> {
    const before = this.#uses.length
    while (this.#uses.length < ROTATIONS_MAX) {
      const name = useName(this.#uses.length + 1)
      const sealed = await this.#store.secret(name)
      if (sealed === undefined) break
      this.#uses.push(parseUse(this.#sealer.open(name, sealed)))
    }
    await this.#prepare(this.#uses.length + 1)
    return this.#uses.length > before
  }

  /** Stores the next use, or loads the one that another node stored first. */
  async #use({ signsFromMs, isCompromised }: KeyUse): Promise<void> {
    const number = this.#uses.length + 1
    if (number > ROTATIONS_MAX) throw new TypeError(`A store takes at most ${ROTATIONS_MAX} feed keys.`)
    await this.#prepare(number + 1)
    const name = useName(number)
    const sealed = this.#sealer.seal(
      name,
      JSON.stringify({ signs_from_ms: signsFromMs, compromised: isCompromised }),
    )
    this.#uses.push(parseUse(this.#sealer.open(name, await this.#store.putSecret(name, sealed))))
  }

  /** Loads keys up to this number, and creates the missing ones. */
  async #prepare(count: number): Promise<void> {
    while (this.#keys.length < count) {
      const name = keyName(this.#keys.length + 1)
      const found =
        (await this.#store.secret(name)) ??
        (await this.#store.putSecret(name, this.#sealer.seal(name, await newKey())))
      const key = await importPrivateKey(JSON.parse(this.#sealer.open(name, found)))
      this.#keys.push({ id: key.publicKey.multikey, key })
    }
  }

  async #updatePublished(nowMs: number): Promise<void> {
    const isWithdrawing = (use: KeyUse) => use.isCompromised || use.signsFromMs + FEED_KEY_OVERLAP_MS <= nowMs
    const first = this.#uses.findLastIndex((use, index) => index > 0 && isWithdrawing(use))
    this.published = this.#keys.slice(Math.max(first, 0), this.#uses.length)
    if (this.chain.at(-1)?.kid !== this.published.at(-1)?.id) this.chain = await this.#makeChain()
  }

  #makeChain(): Promise<FeedKeyStatement[]> {
    const begin = Math.max(this.#uses.length - FEED_KEY_STATEMENTS_MAX, 0)
    return Promise.all(
      this.#uses.slice(begin).map(async ({ signsFromMs, isCompromised }, offset) => {
        const {
          [begin + offset - 1]: previous,
          [begin + offset]: current,
          [begin + offset + 1]: next,
        } = this.#keys
        if (current === undefined || next === undefined) throw new Error('a feed key in use has no successor')
        const fields = {
          kid: current.id,
          public_key_multibase: current.key.publicKey.multikey,
          next_sha256: await feedKeySha256(next.key.publicKey),
          previous_kid: previous?.id ?? null,
          previous_compromised: isCompromised,
          at: formatTime(signsFromMs),
        }
        return signFeedKeyStatement(fields, current.key, previous?.key)
      }),
    )
  }
}

const keyName = (number: number) => `service-key:feed:${number}`
const useName = (number: number) => `service-key:feed:${number}:use`

async function newKey(): Promise<string> {
  return JSON.stringify(await exportPrivateJwk(await generatePrivateKey('Ed25519', { extractable: true })))
}

function parseUse(text: string): KeyUse {
  const { signs_from_ms, compromised } = JSON.parse(text) as { signs_from_ms: number; compromised: boolean }
  return { signsFromMs: signs_from_ms, isCompromised: compromised }
}
