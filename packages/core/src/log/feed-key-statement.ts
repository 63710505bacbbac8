import { canonicalJson } from '../encoding/jcs.ts'
import { crypto } from '../proof/crypto.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'
import { parseMultikey } from '../proof/keys.ts'
import { isSha256Hex, isTime, parseFields } from './entry.ts'
import { isFeedSignature, signFeedText } from './feed-signature.ts'
import { isKid, isSignature } from './signed-fields.ts'

/**
 * What the service states when a feed key comes into use: which key it follows, and which one will
 * follow it.
 */
export interface FeedKeyFields {
  readonly kid: string
  readonly public_key_multibase: string
  /**
   * The commitment to the next key: `feedKeySha256` of it. That key exists already, and was never
   * published.
   */
  readonly next_sha256: string
  /** Null for the first key of a service. */
  readonly previous_kid: string | null
  /**
   * True: the previous key, and every key before it, is withdrawn at once instead of one hour after
   * `at`.
   */
  readonly previous_compromised: boolean
  /** When the key begins to sign. */
  readonly at: string
}

/**
 * One link of the chain of feed keys. Two keys sign the same text: the key itself and the one
 * before it. Someone who has stolen one of the two can therefore neither replace the successor nor
 * clear the mark of a compromised key.
 */
export interface FeedKeyStatement extends FeedKeyFields {
  /** By the previous key; null for the first key of a service. */
  readonly previous_signature: string | null
  /** By the key itself. */
  readonly signature: string
}

/** Discovery lists at most this many statements, oldest first. */
export const FEED_KEY_STATEMENTS_MAX = 16
/** How long a superseded feed key is accepted after its successor has begun to sign. */
export const FEED_KEY_OVERLAP_MS = 3_600_000

/**
 * Undefined for anything but exactly these members, each in its grammar. Says nothing about the
 * signatures.
 */
export function parseFeedKeyStatement(value: unknown): FeedKeyStatement | undefined {
  const fields = parseFields(value, 8) ?? {}
  const { kid, public_key_multibase, next_sha256, previous_kid, previous_compromised, at } = fields
  const { previous_signature, signature } = fields
  if (
    !isKid(kid) ||
    parseFeedKey(public_key_multibase) === undefined ||
    !isSha256Hex(next_sha256) ||
    !isTime(at)
  )
    return undefined
  if (typeof previous_compromised !== 'boolean' || !isSignature(signature)) return undefined
  const stated = {
    kid,
    public_key_multibase: public_key_multibase as string,
    next_sha256,
    previous_compromised,
    at,
    signature,
  }
  if (previous_kid === null)
    return previous_signature === null ? { ...stated, previous_kid, previous_signature } : undefined
  if (previous_kid === kid) return undefined
  return isKid(previous_kid) && isSignature(previous_signature)
    ? { ...stated, previous_kid, previous_signature }
    : undefined
}

/** A Multikey that can sign for the log: Ed25519 and nothing else. */
export function parseFeedKey(multikey: unknown): PublicKey | undefined {
  const key = parseMultikey(multikey)
  return key?.algorithm === 'Ed25519' ? key : undefined
}

/**
 * The name under which a key is committed to and pinned before it is known: SHA-256 of its
 * Multikey, in lower-case hex.
 */
export async function feedKeySha256({ multikey }: PublicKey): Promise<string> {
  return crypto.sha256Hex(multikey)
}

/** The text that both keys sign. */
export function feedKeyText({
  kid,
  public_key_multibase,
  next_sha256,
  previous_kid,
  previous_compromised,
  at,
}: FeedKeyFields): string {
  return `countersign-feed-key\n${canonicalJson({ kid, public_key_multibase, next_sha256, previous_kid, previous_compromised, at })}`
}

/** `previous` is undefined for the first key of a service, and only then. */
export async function signFeedKeyStatement(
  fields: FeedKeyFields,
  key: PrivateKey,
  previous: PrivateKey | undefined,
): Promise<FeedKeyStatement> {
  if ((previous === undefined) !== (fields.previous_kid === null))
    throw new TypeError('previous_kid and the previous key come together')
  const text = feedKeyText(fields)
  const previous_signature = previous === undefined ? null : await signFeedText(text, previous)
  return { ...fields, previous_signature, signature: await signFeedText(text, key) }
}

/**
 * The key of the statement when it signed the statement itself, and when `previous` did too;
 * otherwise undefined. Without `previous` only the key's own signature is checked: all that a
 * reader can do who does not know the previous key.
 */
export async function checkFeedKeyStatement(
  statement: FeedKeyStatement,
  previous: PublicKey | undefined,
): Promise<PublicKey | undefined> {
  const text = feedKeyText(statement)
  const key = parseFeedKey(statement.public_key_multibase)
  if (key === undefined || !(await isFeedSignature(text, statement.signature, key))) return undefined
  if (previous === undefined) return key
  const { previous_signature } = statement
  return previous_signature !== null && (await isFeedSignature(text, previous_signature, previous))
    ? key
    : undefined
}
