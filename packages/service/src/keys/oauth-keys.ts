import { createPublicKey } from 'node:crypto'
import {
  findKeyFault,
  isJsonObject,
  type JsonValue,
  type JwtKey,
  OAUTH_KEYS_MAX,
  parseJwtKey,
  toKeyText,
  toThumbprint,
} from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { IssuerKey } from '../store/operations/issuers.ts'
import type { InvalidKeys } from './issuer-keys.ts'

/** The keys of a key set that can sign access tokens. There may be none. */
export interface KeySet {
  readonly keys: readonly OAuthKey[]
  /** Signing keys that are not accepted, by their index, and why. */
  readonly leftOut: readonly { readonly at: number; readonly why: string }[]
}

export interface OAuthKey {
  /** The RFC 7638 thumbprint. */
  readonly id: string
  readonly kid: string | null
  readonly key: JwtKey
}

const KID_CHARS_MAX = 512
/** RFC 7518 §6: the private members of EC, OKP and RSA keys, and symmetric keys. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const TYPES = ['RSA', 'EC', 'OKP']
const CURVES = ['P-256', 'P-384', 'Ed25519']
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']

/**
 * Reads a key set (RFC 7517). Keys for encryption and of types that are not supported are skipped.
 * A private key, two keys of one name, and too many keys make the whole set invalid.
 */
export async function readKeySet(set: unknown): Promise<KeySet | InvalidKeys> {
  const list = isJsonObject(set as JsonValue) ? (set as { keys?: unknown }).keys : undefined
  if (!Array.isArray(list)) return { fault: 'the key set has no list of keys' }
  if (list.length > limits.key_set_items_max)
    return { fault: `the key set has more than ${limits.key_set_items_max} keys` }
  const keys: OAuthKey[] = []
  const leftOut: { at: number; why: string }[] = []
  for (const [at, jwk] of list.entries()) {
    if (!isJsonObject(jwk)) return { fault: 'a key is not a JSON object', at }
    if (PRIVATE_MEMBERS.some((member) => Object.hasOwn(jwk, member)))
      return {
        fault: 'the key set contains a private key; replace that key and publish public keys only',
        at,
      }
    if (isForeign(jwk)) continue
    const read = await readKey(jwk)
    if ('why' in read) {
      leftOut.push({ at, why: read.why })
      continue
    }
    const twin = keys.find(({ id, kid }) => id === read.id || (kid !== null && kid === read.kid))
    if (twin === undefined) keys.push(read)
    else if (!isSameKey(twin, read))
      return { fault: 'two keys have the same kid, or one key is listed twice', at }
  }
  return keys.length > OAUTH_KEYS_MAX
    ? { fault: `the key set has more than ${OAUTH_KEYS_MAX} keys for signatures` }
    : { keys, leftOut }
}

/**
 * The keys of an issuer after it publishes, or is given, this set. A key that is missing from the
 * set is no longer accepted. Compromised keys are listed while there is room; the log keeps them
 * permanently.
 */
export function nextOAuthKeys(before: readonly IssuerKey[], set: readonly OAuthKey[]): readonly IssuerKey[] {
  const next: IssuerKey[] = set.map(({ id, kid, key }) => {
    const { status, retired_at } = before.find((known) => known.id === id) ?? { status: 'active' as const }
    return { id, kid, key: toKeyText(key), status, ...(retired_at !== undefined && { retired_at }) }
  })
  const gone = before.filter(
    ({ id, status }) => status === 'compromised' && !next.some((known) => known.id === id),
  )
  return [...next, ...gone].slice(0, OAUTH_KEYS_MAX)
}

function isForeign({ kty, crv, use, alg }: Readonly<Record<string, unknown>>): boolean {
  return (
    (use !== undefined && use !== 'sig') ||
    !TYPES.includes(kty as string) ||
    (kty !== 'RSA' && !CURVES.includes(crv as string)) ||
    (alg !== undefined && !ALGORITHMS.includes(alg as string))
  )
}

async function readKey(jwk: Readonly<Record<string, unknown>>): Promise<OAuthKey | { why: string }> {
  const { kid = null } = jwk
  if (kid !== null && !(typeof kid === 'string' && kid.length > 0 && kid.length <= KID_CHARS_MAX))
    return { why: `the kid is not a text of 1 to ${KID_CHARS_MAX} characters` }
  const key = parseJwtKey(jwk)
  if (key === undefined)
    return {
      why: 'the key is not an RSA key of 2048 to 4096 bits with the exponent 65537, a P-256, a P-384 or an Ed25519 key',
    }
  const fault = key.publicKey && findKeyFault(key.publicKey)
  if (fault !== undefined) return { why: fault }
  // Rejects points that are not on the curve.
  try {
    createPublicKey({ key: { ...key.jwk }, format: 'jwk' })
  } catch {
    return { why: 'the key is not a valid public key' }
  }
  return { id: await toThumbprint(key.jwk), kid, key }
}

function isSameKey(one: OAuthKey, other: OAuthKey): boolean {
  return one.id === other.id && one.kid === other.kid && toKeyText(one.key) === toKeyText(other.key)
}
