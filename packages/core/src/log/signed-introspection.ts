import { parseSiteId, type SiteId } from '../credential/ids.ts'
import { canonicalJson } from '../encoding/jcs.ts'
import type { JsonObject } from '../encoding/json.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'
import { isEpoch, isSeq, isSha256Hex, isTime, parseFields } from './entry.ts'
import { isFeedSignature, signFeedText } from './feed-signature.ts'
import type { LogHead } from './position.ts'
import { isKid, isSignature } from './signed-fields.ts'

/**
 * What an answer about a token is bound to. The caller of introspection chose `nonce`, so no
 * earlier answer can be repeated.
 */
export interface IntrospectionProofFields {
  /** 128 random bits in base64url. */
  readonly nonce: string
  readonly site_id: SiteId
  readonly token_sha256: string
  /** The head of the site's log that the answer was judged by. */
  readonly head: LogHead
  /** A time before the store was asked for that head. */
  readonly as_of: string
  /** Which of the service's feed keys signs. */
  readonly kid: string
}

/** Stands beside the facts in the answer, and is signed together with them. */
export interface IntrospectionProof extends IntrospectionProofFields {
  readonly signature: string
}

/** 128 bits leave four unused bits in the last character, which must be zero. */
export const INTROSPECTION_NONCE_PATTERN = '^[A-Za-z0-9_-]{21}[AQgw]$'
const NONCE = /* @__PURE__ */ new RegExp(INTROSPECTION_NONCE_PATTERN)

export function isIntrospectionNonce(value: unknown): value is string {
  return typeof value === 'string' && NONCE.test(value)
}

/**
 * Undefined for anything but exactly these members, each in its grammar. Says nothing about the
 * signature.
 */
export function parseIntrospectionProof(value: unknown): IntrospectionProof | undefined {
  const { nonce, site_id, token_sha256, head, as_of, kid, signature } = parseFields(value, 7) ?? {}
  const { epoch, seq, hash } = parseFields(head, 3) ?? {}
  const siteId = parseSiteId(site_id)
  if (!isIntrospectionNonce(nonce) || siteId === undefined || !isSha256Hex(token_sha256)) return undefined
  if (
    !isEpoch(epoch) ||
    !isSeq(seq) ||
    !isSha256Hex(hash) ||
    !isTime(as_of) ||
    !isKid(kid) ||
    !isSignature(signature)
  )
    return undefined
  return { nonce, site_id: siteId, token_sha256, head: { epoch, seq, hash }, as_of, kid, signature }
}

/**
 * The text that is signed. `facts` are all members of the answer but the proof. Throws a TypeError
 * for what has no JSON form.
 */
export function introspectionText(facts: JsonObject, fields: IntrospectionProofFields): string {
  const { nonce, site_id, token_sha256, as_of, kid } = fields
  const { epoch, seq, hash } = fields.head
  return `countersign-introspection\n${canonicalJson({ nonce, site_id, token_sha256, facts, head: { epoch, seq, hash }, as_of, kid })}`
}

export async function signIntrospection(
  facts: JsonObject,
  fields: IntrospectionProofFields,
  key: PrivateKey,
): Promise<IntrospectionProof> {
  return { ...fields, signature: await signFeedText(introspectionText(facts, fields), key) }
}

/**
 * Whether this key signed these facts with this proof. Comparing nonce, site, token and time is the
 * caller's part.
 */
export async function checkIntrospection(
  facts: JsonObject,
  proof: IntrospectionProof,
  key: PublicKey,
): Promise<boolean> {
  return isFeedSignature(introspectionText(facts, proof), proof.signature, key)
}
