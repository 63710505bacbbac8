import { canonicalJson } from '../encoding/jcs.ts'
import { crypto } from '../proof/crypto.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'
import { parseMultikey } from '../proof/keys.ts'
import { isSha256Hex } from './entry.ts'
import { isFeedSignature, signFeedText } from './feed-signature.ts'
import { isTime, parseFields } from './members.ts'
import { isKid, isSignature } from './signed-fields.ts'

/**
 * The service signs this when it starts to use a feed key. It names the previous key and commits to
 * the next one.
 */
export interface FeedKeyFields {
  readonly kid: string
  readonly public_key_multibase: string
  /** `feedKeySha256` of the next key. That key exists already but is not published. */
  readonly next_sha256: string
  /** Null for the first key of a service. */
  readonly previous_kid: string | null
  /**
   * True: the previous key and all keys before it are withdrawn immediately, not one hour after
   * `at`.
   */
  readonly previous_compromised: boolean
  /** When the service starts to sign with the key. */
  readonly at: string
}

/**
 * One link in the chain of feed keys. The key itself and the previous key sign the same text. An
 * attacker with only one of them can neither replace the next key nor hide that a key is
 * compromised.
 */
export interface FeedKeyStatement extends FeedKeyFields {
  /** Made with the previous key; null for the first key of a service. */
  readonly previous_signature: string | null
  /** Made with the key itself. */
  readonly signature: string
}

/** Discovery lists at most this many statements, oldest first. */
export const FEED_KEY_STATEMENTS_MAX = 16
/** How long a feed key is accepted after the next key has started to sign. */
export const FEED_KEY_OVERLAP_MS = 3_600_000

/**
 * Undefined unless the value has exactly these members, each well-formed. Does not check the
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

/** Only Ed25519 keys can be feed keys. */
export function parseFeedKey(multikey: unknown): PublicKey | undefined {
  const key = parseMultikey(multikey)
  return key?.algorithm === 'Ed25519' ? key : undefined
}

/**
 * Identifies a key in commitments and pins before it is published: SHA-256 of its Multikey, in
 * lower-case hex.
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

/** `previous` is undefined only for the first key of a service. */
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
 * The key of the statement if it signed the statement and, if `previous` is given, `previous`
 * signed it too; otherwise undefined. A reader that does not know the previous key can check only
 * the key's own signature.
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
