import { encodeBase64url } from '../encoding/base64url.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { didKey } from '../proof/did.ts'
import type { PrivateKey } from '../proof/keys.ts'
import { contentDigest } from './content-digest.ts'
import {
  BODILESS_METHODS,
  CONTENT_DIGEST_FIELD,
  CREDENTIAL_FIELD,
  NONCE,
  PROOF_TAG,
  REQUIRED_COMPONENTS,
} from './profile.ts'
import type { HolderRequest } from './request.ts'
import { signatureBase } from './signature-base.ts'
import {
  type InnerList,
  serializeBytes,
  serializeDictionary,
  serializeInnerList,
} from './structured-field.ts'

export interface SignRequestOptions {
  readonly key: PrivateKey
  /** Exactly as `holder_key` in the credential. Default: the `did:key` of the key. */
  readonly keyid?: string
  readonly nowMs: number
  /** At least 128 bits, never used before with this key. Default: 144 random bits. */
  readonly nonce?: string
  /** Must differ from the labels of other signatures on the request. */
  readonly label?: string
}

/**
 * Header fields to add to the request. `content-digest` is missing only for GET and HEAD without a
 * body.
 */
export interface ProofFields {
  readonly 'signature-input': string
  readonly signature: string
  readonly 'content-digest'?: string
}

/**
 * Signs a request as the holder of a credential: method, authority, path, query, the credential
 * field if present, and the body. Send the request unchanged and within a minute. Throws a
 * TypeError for a request that cannot be signed: its body is unseen, it already has
 * `Content-Digest`, or it has parts that are not ASCII.
 */
export async function signRequest(request: HolderRequest, options: SignRequestOptions): Promise<ProofFields> {
  const { key, keyid = didKey(key.publicKey), nowMs, nonce = randomNonce(), label = 'sig1' } = options
  if (request.body === 'unseen') throw new TypeError('the body is needed to sign a request')
  if (request.header(CONTENT_DIGEST_FIELD) !== undefined)
    throw new TypeError('do not set Content-Digest; signing adds it')
  if (!NONCE.test(nonce)) throw new TypeError('nonce must be 22 to 128 characters of base64url')
  if (!LABEL.test(label)) throw new TypeError('label must be a lower-case key (RFC 9651 §3.1.2)')
  if (!KEYID.test(keyid)) throw new TypeError('keyid must be plain ASCII')
  if (!Number.isSafeInteger(Math.floor(nowMs))) throw new TypeError('nowMs must be a time in milliseconds')

  const body = request.body === 'none' ? new Uint8Array() : request.body
  // An empty body is signed too, because a verifier behind a proxy may not see that it is empty.
  const digest =
    body.length === 0 && BODILESS_METHODS.has(request.method) ? undefined : await contentDigest(body)
  const components: string[] = [...REQUIRED_COMPONENTS]
  if (request.header(CREDENTIAL_FIELD) !== undefined) components.push(CREDENTIAL_FIELD)
  if (digest !== undefined) components.push(CONTENT_DIGEST_FIELD)

  const parameters = new Map<string, string | number>([
    ['created', Math.floor(nowMs / 1000)],
    ['nonce', nonce],
    ['keyid', keyid],
    ['tag', PROOF_TAG],
  ])
  const input: InnerList = [components.map((name) => [name, new Map()]), parameters]
  const header = (name: string) =>
    name === CONTENT_DIGEST_FIELD && digest !== undefined ? [digest] : request.header(name)
  const base = signatureBase({ ...request, header }, components, serializeInnerList(input))
  if (typeof base !== 'string') throw new TypeError(`the request has no valid ${base.missing}`)
  const signature = await key.sign(encodeUtf8(base))
  return {
    'signature-input': serializeDictionary(new Map([[label, input]])),
    signature: serializeBytes(label, signature),
    ...(digest === undefined ? {} : { 'content-digest': digest }),
  }
}

const LABEL = /^[a-z*][a-z0-9_.*-]{0,63}$/
const KEYID = /^[\x20-\x7e]+$/
const NONCE_BYTES = 18

function randomNonce(): string {
  return encodeBase64url(globalThis.crypto.getRandomValues(new Uint8Array(NONCE_BYTES)))
}
