import { type Denial, deny, isDenial } from '../credential/denial.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { crypto } from '../proof/crypto.ts'
import type { KeyAlgorithm, PublicKey } from '../proof/keys.ts'
import { matchesDigest, parseContentDigest } from './content-digest.ts'
import {
  BODILESS_METHODS,
  CONTENT_DIGEST_FIELD,
  CREDENTIAL_FIELD,
  KNOWN_PARAMETERS,
  NONCE,
  PROOF_AGE_MS_MAX,
  PROOF_AHEAD_MS_MAX,
  REQUIRED_COMPONENTS,
} from './profile.ts'
import type { HolderRequest } from './request.ts'
import { signatureBase } from './signature-base.ts'
import { type ClaimedProof, findClaimedProof } from './signature-fields.ts'

export interface ExpectedHolder {
  /** The holder key of the credential. */
  readonly holderKey: PublicKey
  /** The same key as a DID, exactly as in the credential; `keyid` must be equal to it. */
  readonly holderDid: string
  readonly nowMs: number
  /** Whether the credential was sent in its header. The signature must cover that header then. */
  readonly credentialHeaderSent: boolean
}

/**
 * A valid signature of this request by the holder. Whether it was used before is checked by
 * `NonceStore`.
 */
export interface HolderProof {
  readonly ok: true
  readonly nonce: string
  readonly createdMs: number
  /** The proof is too old from this time on. */
  readonly usableUntilMs: number
  /**
   * False if the body was not available. Compare it with `Content-Digest` before using it, or treat
   * it as unsigned.
   */
  readonly bodyChecked: boolean
}

/**
 * Checks that the holder signed this request a short time ago. Returns `proof_required` if it has
 * no signature with our tag, and `proof_invalid` if the signature is invalid. Never throws. The
 * caller checks afterwards whether the nonce was used before.
 */
export async function checkHolderProof(
  request: HolderRequest,
  expected: ExpectedHolder,
): Promise<HolderProof | Denial> {
  const claimed = findClaimedProof(request)
  if (isDenial(claimed)) return claimed
  const denial =
    unknownParameter(claimed) ??
    wrongKeyid(claimed, expected) ??
    wrongAlgorithm(claimed, expected) ??
    wrongNonce(claimed) ??
    wrongTime(claimed, expected) ??
    uncoveredComponent(claimed, request, expected) ??
    (await wrongSignature(claimed, request, expected)) ??
    (await wrongBody(claimed, request))
  return denial ?? toHolderProof(claimed, request)
}

function unknownParameter({ parameters }: ClaimedProof): Denial | undefined {
  for (const name of parameters.keys()) {
    if (!KNOWN_PARAMETERS.has(name))
      return deny(
        'proof_invalid',
        `The request signature has an unsupported parameter. Use only ${[...KNOWN_PARAMETERS].join(', ')}.`,
      )
  }
  return undefined
}

function wrongKeyid({ parameters }: ClaimedProof, { holderDid }: ExpectedHolder): Denial | undefined {
  return parameters.get('keyid') === holderDid
    ? undefined
    : deny(
        'proof_invalid',
        'The keyid of the request signature is wrong. Use the holder_key of the credential.',
      )
}

/** RFC 9421 §6.2.2. The key determines the algorithm; `alg` is optional and must match. */
const ALGORITHM_NAMES: Readonly<Record<KeyAlgorithm, string>> = {
  Ed25519: 'ed25519',
  'P-256': 'ecdsa-p256-sha256',
}

function wrongAlgorithm({ parameters }: ClaimedProof, { holderKey }: ExpectedHolder): Denial | undefined {
  const name = ALGORITHM_NAMES[holderKey.algorithm]
  return !parameters.has('alg') || parameters.get('alg') === name
    ? undefined
    : deny(
        'proof_invalid',
        `The alg of the request signature does not match the holder key. Omit it or use "${name}".`,
      )
}

function wrongNonce(claimed: ClaimedProof): Denial | undefined {
  return NONCE.test(findNonce(claimed))
    ? undefined
    : deny(
        'proof_invalid',
        'The nonce of the request signature is invalid. Use 22 to 128 characters of base64url, new for each request.',
      )
}

function findNonce({ parameters }: ClaimedProof): string {
  const nonce = parameters.get('nonce')
  return typeof nonce === 'string' ? nonce : ''
}

function wrongTime(claimed: ClaimedProof, { nowMs }: ExpectedHolder): Denial | undefined {
  const createdMs = parseSeconds(claimed, 'created')
  if (createdMs === undefined)
    return deny(
      'proof_invalid',
      'The request signature has no valid created. Set it to the time of signing, in whole seconds.',
    )
  if (claimed.parameters.has('expires') && parseSeconds(claimed, 'expires') === undefined)
    return deny(
      'proof_invalid',
      'The expires of the request signature is invalid. Use a time in whole seconds.',
    )
  // Written so that NaN is rejected.
  const isNow = createdMs - nowMs <= PROOF_AHEAD_MS_MAX && nowMs < usableUntilMs(claimed)
  return isNow
    ? undefined
    : deny(
        'proof_invalid',
        `The request signature has expired or is not valid yet: created may be ${PROOF_AGE_MS_MAX / 1000} s in the past or ${PROOF_AHEAD_MS_MAX / 1000} s in the future. Check the clock and sign the request again.`,
      )
}

/** The strict parser of the field has already rejected `1.0`. */
function parseSeconds({ parameters }: ClaimedProof, name: 'created' | 'expires'): number | undefined {
  const seconds = parameters.get(name)
  return typeof seconds === 'number' && Number.isInteger(seconds) ? seconds * 1000 : undefined
}

function usableUntilMs(claimed: ClaimedProof): number {
  const createdMs = parseSeconds(claimed, 'created') ?? -Infinity
  return Math.min(createdMs + PROOF_AGE_MS_MAX + 1, parseSeconds(claimed, 'expires') ?? Infinity)
}

function uncoveredComponent(
  { components }: ClaimedProof,
  request: HolderRequest,
  expected: ExpectedHolder,
): Denial | undefined {
  const required: string[] = [...REQUIRED_COMPONENTS]
  if (expected.credentialHeaderSent || request.header(CREDENTIAL_FIELD) !== undefined)
    required.push(CREDENTIAL_FIELD)
  // A credential that is not in its header is in the body, which must be signed.
  if (mayHaveBody(request) || !expected.credentialHeaderSent) required.push(CONTENT_DIGEST_FIELD)
  const uncovered = required.filter((name) => !components.includes(name))
  return uncovered.length === 0
    ? undefined
    : deny(
        'proof_invalid',
        `The request signature does not cover all required components. Also sign ${uncovered.join(', ')}.`,
      )
}

/**
 * If the body is not available, the fields decide. Proxies remove Content-Length and HTTP/2 does
 * not need it, so without evidence the request is treated as having a body.
 */
function mayHaveBody({ body, method, header }: HolderRequest): boolean {
  if (body !== 'unseen') return body !== 'none' && body.length > 0
  if (!BODILESS_METHODS.has(method)) return true
  if (header(CONTENT_DIGEST_FIELD) !== undefined || header('transfer-encoding') !== undefined) return true
  return header('content-length')?.some((length) => length.trim() !== '0') ?? false
}

/**
 * The only denial that can be caused by a wrong host. Guards recognize it by its detail and add the
 * expected host.
 */
export const WRONG_SIGNATURE: Denial = deny(
  'proof_invalid',
  'The request signature is invalid. Sign exactly the method, host, path, query and fields that you send, with the holder_key.',
)

async function wrongSignature(
  claimed: ClaimedProof,
  request: HolderRequest,
  { holderKey }: ExpectedHolder,
): Promise<Denial | undefined> {
  const base = signatureBase(request, claimed.components, claimed.signatureParams)
  if (typeof base !== 'string')
    return deny(
      'proof_invalid',
      'The request signature covers a component that is not supported or not in the request. Remove it.',
    )
  return (await crypto.verify(holderKey, encodeUtf8(base), claimed.signature)) ? undefined : WRONG_SIGNATURE
}

/**
 * Checked after the signature, so that only a holder can make us hash a body. If the signature
 * covers a digest, it must match even if it was not required.
 */
async function wrongBody({ components }: ClaimedProof, request: HolderRequest): Promise<Denial | undefined> {
  if (!components.includes(CONTENT_DIGEST_FIELD)) return undefined
  const digest = parseContentDigest(request.header(CONTENT_DIGEST_FIELD) ?? [])
  if (digest === undefined)
    return deny(
      'proof_invalid',
      'The Content-Digest is missing or invalid. Send one with exactly one sha-256 (RFC 9530).',
    )
  if (request.body === 'unseen') return undefined
  const body = request.body === 'none' ? new Uint8Array() : request.body
  return (await matchesDigest(digest, body))
    ? undefined
    : deny(
        'proof_invalid',
        'The Content-Digest does not match the body. Compute it from the body that you send.',
      )
}

function toHolderProof(claimed: ClaimedProof, { body }: HolderRequest): HolderProof {
  return {
    ok: true,
    nonce: findNonce(claimed),
    createdMs: parseSeconds(claimed, 'created') as number,
    usableUntilMs: usableUntilMs(claimed),
    bodyChecked: body !== 'unseen',
  }
}
