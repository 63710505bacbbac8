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
  /** The key that the credential is bound to. */
  readonly holderKey: PublicKey
  /** The same key as the credential spells it; `keyid` must be exactly this. */
  readonly holderDid: string
  readonly nowMs: number
  /** Whether the credential came in its header, which the signature must then cover. */
  readonly credentialHeaderSent: boolean
}

/**
 * A signature of this very request by the holder. It says nothing yet about whether it was used
 * before: see `NonceStore`.
 */
export interface HolderProof {
  readonly ok: true
  readonly nonce: string
  readonly createdMs: number
  /** The first moment at which the proof is too old. */
  readonly usableUntilMs: number
  /**
   * False when the body was not there to be checked. The code that has it must compare it with
   * `Content-Digest`, or take it for unsigned.
   */
  readonly bodyChecked: boolean
}

/**
 * Checks that the holder signed this request, just now and all of it. `proof_required` when it
 * carries no signature with our tag, `proof_invalid` when the signature is invalid. No input makes
 * it throw. It does not look whether the nonce was used before; that is the caller's last step.
 */
export async function checkHolderProof(
  request: HolderRequest,
  expected: ExpectedHolder,
): Promise<HolderProof | Denial> {
  const claimed = findClaimedProof(request)
  if (isDenial(claimed)) return claimed
  const refusal =
    unknownParameter(claimed) ??
    wrongKeyid(claimed, expected) ??
    wrongAlgorithm(claimed, expected) ??
    wrongNonce(claimed) ??
    wrongTime(claimed, expected) ??
    uncoveredComponent(claimed, request, expected) ??
    (await wrongSignature(claimed, request, expected)) ??
    (await wrongBody(claimed, request))
  return refusal ?? toHolderProof(claimed, request)
}

/** A step answers with a denial, or with nothing at all. */

function unknownParameter({ parameters }: ClaimedProof): Denial | undefined {
  for (const name of parameters.keys()) {
    if (!KNOWN_PARAMETERS.has(name))
      return deny('proof_invalid', `use no signature parameters but ${[...KNOWN_PARAMETERS].join(', ')}`)
  }
  return undefined
}

function wrongKeyid({ parameters }: ClaimedProof, { holderDid }: ExpectedHolder): Denial | undefined {
  return parameters.get('keyid') === holderDid
    ? undefined
    : deny('proof_invalid', 'keyid must be the holder_key of the credential')
}

/** RFC 9421 §6.2.2. The algorithm follows from the key; `alg` can only repeat it. */
const ALGORITHM_NAMES: Readonly<Record<KeyAlgorithm, string>> = {
  Ed25519: 'ed25519',
  'P-256': 'ecdsa-p256-sha256',
}

function wrongAlgorithm({ parameters }: ClaimedProof, { holderKey }: ExpectedHolder): Denial | undefined {
  const name = ALGORITHM_NAMES[holderKey.algorithm]
  return !parameters.has('alg') || parameters.get('alg') === name
    ? undefined
    : deny('proof_invalid', `leave alg out or make it "${name}"`)
}

function wrongNonce(claimed: ClaimedProof): Denial | undefined {
  return NONCE.test(readNonce(claimed))
    ? undefined
    : deny('proof_invalid', 'nonce must be 22 to 128 characters of base64url, new for each request')
}

function readNonce({ parameters }: ClaimedProof): string {
  const nonce = parameters.get('nonce')
  return typeof nonce === 'string' ? nonce : ''
}

function wrongTime(claimed: ClaimedProof, { nowMs }: ExpectedHolder): Denial | undefined {
  const createdMs = secondsAsMs(claimed, 'created')
  if (createdMs === undefined)
    return deny('proof_invalid', 'created must be the time of signing in whole seconds')
  if (claimed.parameters.has('expires') && secondsAsMs(claimed, 'expires') === undefined)
    return deny('proof_invalid', 'expires must be a time in whole seconds')
  // Asked positively: a clock that answers NaN accepts nothing.
  const isNow = createdMs - nowMs <= PROOF_AHEAD_MS_MAX && nowMs < usableUntilMs(claimed)
  return isNow
    ? undefined
    : deny(
        'proof_invalid',
        `created may lie ${PROOF_AGE_MS_MAX / 1000} s back and ${PROOF_AHEAD_MS_MAX / 1000} s ahead, expires not back; sign again`,
      )
}

/** The strict reading of the field has already told `1` from `1.0`. */
function secondsAsMs({ parameters }: ClaimedProof, name: 'created' | 'expires'): number | undefined {
  const seconds = parameters.get(name)
  return typeof seconds === 'number' && Number.isInteger(seconds) ? seconds * 1000 : undefined
}

function usableUntilMs(claimed: ClaimedProof): number {
  const createdMs = secondsAsMs(claimed, 'created') ?? -Infinity
  return Math.min(createdMs + PROOF_AGE_MS_MAX + 1, secondsAsMs(claimed, 'expires') ?? Infinity)
}

function uncoveredComponent(
  { components }: ClaimedProof,
  request: HolderRequest,
  expected: ExpectedHolder,
): Denial | undefined {
  const required: string[] = [...REQUIRED_COMPONENTS]
  if (expected.credentialHeaderSent || request.header(CREDENTIAL_FIELD) !== undefined)
    required.push(CREDENTIAL_FIELD)
  // A credential that is not in its header is in the body, and must be part of what was signed.
  if (showsBody(request) || !expected.credentialHeaderSent) required.push(CONTENT_DIGEST_FIELD)
  const uncovered = required.filter((name) => !components.includes(name))
  return uncovered.length === 0
    ? undefined
    : deny('proof_invalid', `the signature must also cover ${uncovered.join(', ')}`)
}

/**
 * Of a body that we do not see the fields tell, but proxies take Content-Length away and HTTP/2
 * needs none: in doubt there is one.
 */
function showsBody({ body, method, header }: HolderRequest): boolean {
  if (body !== 'unseen') return body !== 'none' && body.length > 0
  if (!BODILESS_METHODS.has(method)) return true
  if (header(CONTENT_DIGEST_FIELD) !== undefined || header('transfer-encoding') !== undefined) return true
  return header('content-length')?.some((length) => length.trim() !== '0') ?? false
}

/**
 * The one denial that another host than the expected one can cause. Guards recognise it by its
 * detail and add which host they expect.
 */
export const WRONG_SIGNATURE: Denial = deny(
  'proof_invalid',
  'the signature is not one of this request by the holder_key; sign exactly the method, host, path, query and fields sent',
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
      'the signature covers a component that this request does not have, or that cannot be covered here',
    )
  return (await crypto.verify(holderKey, encodeUtf8(base), claimed.signature)) ? undefined : WRONG_SIGNATURE
}

/**
 * After the signature, so that only a holder can make us hash. A digest that is covered must be
 * right even where none was asked for.
 */
async function wrongBody({ components }: ClaimedProof, request: HolderRequest): Promise<Denial | undefined> {
  if (!components.includes(CONTENT_DIGEST_FIELD)) return undefined
  const digest = parseContentDigest(request.header(CONTENT_DIGEST_FIELD) ?? [])
  if (digest === undefined) return deny('proof_invalid', 'Content-Digest must hold one sha-256 (RFC 9530)')
  if (request.body === 'unseen') return undefined
  const body = request.body === 'none' ? new Uint8Array() : request.body
  return (await matchesDigest(digest, body))
    ? undefined
    : deny('proof_invalid', 'Content-Digest does not match the body')
}

function toHolderProof(claimed: ClaimedProof, { body }: HolderRequest): HolderProof {
  return {
    ok: true,
    nonce: readNonce(claimed),
    createdMs: secondsAsMs(claimed, 'created') as number,
    usableUntilMs: usableUntilMs(claimed),
    bodyChecked: body !== 'unseen',
  }
}
