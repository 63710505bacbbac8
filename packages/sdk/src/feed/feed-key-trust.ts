import {
  type Clocks,
  checkFeedKeyStatement,
  FEED_KEY_OVERLAP_MS,
  type FeedKeyStatement,
  feedKeySha256,
  type PublicKey,
  parseFeedKey,
  parseTime,
} from '@countersign/core'

/**
 * `trusted`: the key may sign. `withdrawn`: it was trusted once. `unknown`: nothing leads to it.
 */
export type KeyStanding = 'trusted' | 'withdrawn' | 'unknown'

/**
 * Which feed keys a verifier trusts. It begins with pins, or with the first chain that it sees.
 * From there it accepts only keys to which a trusted key has committed, each with a statement that
 * both keys have signed. Nothing else adds a key.
 */
export interface FeedKeyTrust {
  readonly isEmpty: boolean
  find(kid: string, monotonicMs: number): PublicKey | undefined
  standing(kid: string, monotonicMs: number): KeyStanding
  /**
   * Applies the statements, oldest first, that follow from keys that are trusted already. One call
   * at a time.
   */
  follow(chain: readonly FeedKeyStatement[], now: Clocks): Promise<void>
}

export type FeedKeyPins = Readonly<Record<string, string>>

interface TrustedKey {
  readonly key: PublicKey
  /** Of the key that it followed, when that is trusted too. */
  previousKid: string | undefined
  /** The only key that may follow; undefined while no reliable statement names it. */
  nextSha256: string | undefined
  /** Whether its own statement has been seen. A pinned key is trusted without. */
  isStated: boolean
  /**
   * Whether that statement was signed by a trusted previous key as well. Only such a statement is
   * final.
   */
  isLinked: boolean
  /** On the monotonic clock. */
  trustedUntilMs: number
}

/**
 * A key is published a minute before it signs. A statement further ahead of this clock is treated
 * as if it were this far.
 */
const AHEAD_MS_MAX = 600_000
/** More rotations than happen while a process runs. */
const KEYS_MAX = 1024
const PIN_SHA256 = /^sha256:([0-9a-f]{64})$/

/**
 * Throws a TypeError for a pin that is neither an Ed25519 Multikey nor `sha256:` with 64 hex
 * digits, and for pins without a key.
 */
export function createFeedKeyTrust(pins: FeedKeyPins | undefined): FeedKeyTrust {
  const keys = new Map<string, TrustedKey>()
  const pinnedSha256 = new Set<string>()
  for (const [kid, pin] of Object.entries(pins ?? {})) {
    const key = parseFeedKey(pin)
    const sha256 = typeof pin === 'string' ? PIN_SHA256.exec(pin)?.[1] : undefined
    if (key !== undefined)
      keys.set(kid, {
        key,
        previousKid: undefined,
        nextSha256: undefined,
        isStated: false,
        isLinked: false,
        trustedUntilMs: Infinity,
      })
    else if (sha256 !== undefined) pinnedSha256.add(sha256)
    else throw new TypeError(WRONG_PIN)
  }
  const pinCount = keys.size + pinnedSha256.size
  if (pins !== undefined && pinCount === 0) throw new TypeError(WRONG_PIN)

  const mayAdd = (sha256: string, previous: TrustedKey | undefined): boolean => {
    if (keys.size >= KEYS_MAX) return false
    const isFirstContact = pins === undefined && keys.size === 0
    return isFirstContact || pinnedSha256.has(sha256) || previous?.nextSha256 === sha256
  }

  const withdraw = (previous: TrustedKey, { at, previous_compromised }: FeedKeyStatement, now: Clocks) => {
    if (previous_compromised) {
      const seen = new Set<TrustedKey>()
      for (
        let each: TrustedKey | undefined = previous;
        each !== undefined && !seen.has(each);
        each = keys.get(each.previousKid ?? '')
      ) {
        seen.add(each)
        each.trustedUntilMs = Number.NEGATIVE_INFINITY
      }
      return
    }
    const leftMs = (parseTime(at) ?? 0) + FEED_KEY_OVERLAP_MS - now.wallMs
    const untilMs = now.monotonicMs + Math.min(leftMs, FEED_KEY_OVERLAP_MS + AHEAD_MS_MAX)
    previous.trustedUntilMs = Math.min(previous.trustedUntilMs, untilMs)
  }

  /** A key has one name: under a second one, a withdrawn key would be trusted again. */
  const hasMaterial = (multikey: string): boolean =>
    [...keys.values()].some(({ key }) => key.multikey === multikey)

  const take = async (statement: FeedKeyStatement, now: Clocks): Promise<void> => {
    const { kid, public_key_multibase, previous_kid, next_sha256 } = statement
    const known = keys.get(kid)
    if (
      known === undefined
        ? hasMaterial(public_key_multibase)
        : known.isLinked || known.key.multikey !== public_key_multibase
    )
      return
    const previous = previous_kid === null || previous_kid === kid ? undefined : keys.get(previous_kid)
    // A statement without a known previous key is used once. One with a known previous key is
    // reliable and replaces it.
    if (known?.isStated === true && previous === undefined) return
    const key = await checkFeedKeyStatement(statement, previous?.key)
    if (key === undefined) return
    const sha256 = await feedKeySha256(key)
    if (known === undefined && !mayAdd(sha256, previous)) return
    // A key commits to one next key, permanently: an attacker who steals it later cannot name
    // another.
    if (previous?.nextSha256 !== undefined && previous.nextSha256 !== sha256) return
    const trusted = known ?? {
      key,
      previousKid: undefined,
      nextSha256: undefined,
      isStated: true,
      isLinked: false,
      trustedUntilMs: Infinity,
    }
    keys.set(kid, trusted)
    trusted.isStated = true
    if (previous === undefined) {
      // A statement that only its own key signed could come from a thief of that key. A pin for the
      // next key is stronger.
      if (pinCount <= 1) trusted.nextSha256 ??= next_sha256
      return
    }
    trusted.isLinked = true
    trusted.previousKid = previous_kid ?? undefined
    trusted.nextSha256 = next_sha256
    previous.nextSha256 = sha256
    withdraw(previous, statement, now)
  }

  const find = (kid: string, monotonicMs: number) => {
    const trusted = keys.get(kid)
    return trusted !== undefined && monotonicMs < trusted.trustedUntilMs ? trusted.key : undefined
  }

  return {
    get isEmpty() {
      return keys.size === 0
    },
    find,
    standing(kid, monotonicMs) {
      if (find(kid, monotonicMs) !== undefined) return 'trusted'
      return keys.has(kid) ? 'withdrawn' : 'unknown'
    },
    async follow(chain, now) {
      for (const statement of chain) await take(statement, now)
    },
  }
}

const WRONG_PIN =
  'feedKeys must have at least one pin: a kid with its Ed25519 Multikey, or any name with sha256: and the hash of a key. countersign doctor prints both'
