import { parseSiteId, type SiteId } from '../credential/ids.ts'
import { canonicalJson } from '../encoding/jcs.ts'
import type { JsonObject } from '../encoding/json.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'
import { isEpoch, isSeq, isSha256Hex } from './entry.ts'
import { isFeedSignature, signFeedText } from './feed-signature.ts'
import { isTime, parseFields } from './members.ts'
import type { LogHead } from './position.ts'
import { isKid, isSignature } from './signed-fields.ts'

/**
 * Binds an introspection response to its request. The caller chose `nonce`, so an earlier response
 * cannot be replayed.
 */
export interface IntrospectionProofFields {
  /** 128 random bits in base64url. */
  readonly nonce: string
  readonly site_id: SiteId
  readonly token_sha256: string
  /** The head of the site's log that the response is based on. */
  readonly head: LogHead
  /** A time before that head was read from the store. */
  readonly as_of: string
  /** The feed key of the service that signs. */
  readonly kid: string
}

/** Part of the response; the signature covers the other members of the response too. */
export interface IntrospectionProof extends IntrospectionProofFields {
  readonly signature: string
}

/** The last character has four unused bits, which must be zero. */
export const INTROSPECTION_NONCE_PATTERN = '^[A-Za-z0-9_-]{21}[AQgw]$'
const NONCE = /* @__PURE__ */ new RegExp(INTROSPECTION_NONCE_PATTERN)

export function isIntrospectionNonce(value: unknown): value is string {
  return typeof value === 'string' && NONCE.test(value)
}

/**
 * Undefined unless the value has exactly these members, each well-formed. Does not check the
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
 * The signed text. `facts` are all members of the response except the proof. Throws a TypeError for
 * values without a JSON form.
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
 * Whether this key signed these facts with this proof. The caller compares nonce, site, token and
 * time.
 */
export async function checkIntrospection(
  facts: JsonObject,
  proof: IntrospectionProof,
  key: PublicKey,
): Promise<boolean> {
  return isFeedSignature(introspectionText(facts, proof), proof.signature, key)
}
