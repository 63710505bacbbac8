import { type Denial, deny } from '../credential/denial.ts'
import { encodeBase64url } from '../encoding/base64url.ts'
import type { HolderProof } from '../holder/check.ts'
import type { NonceStore } from '../holder/nonces.ts'
import { PROOF_AGE_MS_MAX, PROOF_AHEAD_MS_MAX } from '../holder/profile.ts'
import type { HolderRequest } from '../holder/request.ts'
import { crypto } from '../proof/crypto.ts'
import { parseJwtKey, toThumbprint } from './jwk.ts'
import { readJwtWithKey } from './read.ts'
import { verifyJwtSignature } from './signature.ts'

export const DPOP_HEADER = 'dpop'

export interface ExpectedDpop {
  /** The access token as it was sent. */
  readonly token: string
  /** `cnf.jkt` of the token. */
  readonly thumbprint: string
  readonly nowMs: number
}

/** `jti` is used once per key, so it must be long enough not to collide. */
const JTI = /^[\x21-\x7e]{8,256}$/

/**
 * Checks that the holder of the token's key made a DPoP proof for this request (RFC 9449 §4.3).
 * Does not look whether the `jti` was used before; that is the caller's last step. Never throws.
 */
export async function checkDpopProof(
  request: HolderRequest,
  { token, thumbprint, nowMs }: ExpectedDpop,
): Promise<HolderProof | Denial> {
  const [proof, ...more] = request.header(DPOP_HEADER) ?? []
  if (proof === undefined)
    return deny('proof_required', 'This token is bound to a key. Send a DPoP proof for this request.')
  const jwt = more.length === 0 ? readJwtWithKey(proof) : undefined
  if (jwt === undefined) return invalid('send one DPoP header with one proof')
  const { header, claims } = jwt
  if (header.typ !== 'dpop+jwt') return invalid('typ of the proof must be dpop+jwt')
  const key = parseJwtKey(header.jwk)
  if (key === undefined) return invalid('jwk of the proof must be a public key that signs')
  if ((await toThumbprint(key.jwk)) !== thumbprint) return invalid('the token is bound to another key')
  const { htm, htu, iat, jti, ath } = claims
  if (htm !== request.method) return invalid('htm must be the method of the request')
  if (typeof htu !== 'string' || !isTarget(htu, request)) return WRONG_TARGET
  if (!Number.isSafeInteger(iat)) return invalid('iat must be the time of signing in whole seconds')
  const createdMs = (iat as number) * 1000
  const usableUntilMs = createdMs + PROOF_AGE_MS_MAX + 1
  // Asked positively: a clock that answers NaN accepts nothing.
  const isNow = createdMs - nowMs <= PROOF_AHEAD_MS_MAX && nowMs < usableUntilMs
  if (!isNow) return invalid('iat is too old or too far ahead; make a new proof, and check the clocks')
  if (typeof jti !== 'string' || !JTI.test(jti)) return invalid('jti must have 8 to 256 visible characters')
  if (ath !== encodeBase64url(await crypto.sha256(token)))
    return invalid('ath must be the SHA-256 of the access token in base64url')
  if (!(await verifyJwtSignature(jwt, key))) return invalid('the signature of the proof is invalid')
  return { ok: true, nonce: jti, createdMs, usableUntilMs, bodyChecked: false }
}

/** Uses the `jti` of a proof up, so that the same proof is rejected the next time. */
export async function consumeProof(
  { nonce, createdMs, usableUntilMs }: HolderProof,
  thumbprint: string,
  nonces: NonceStore,
  nowMs: number,
): Promise<Denial | undefined> {
  const use = await nonces.consume({ holderKey: thumbprint, nonce, createdMs, usableUntilMs, nowMs })
  if (use === 'fresh') return undefined
  return use === 'replayed'
    ? deny('proof_replayed', 'This DPoP proof was used before. Make a new one for each request.')
    : invalid('it is too old to exclude a replay; make a new one')
}

/** RFC 9449 §4.3: the URL without query and fragment, after normalization. */
function isTarget(htu: string, { authority, scheme, path }: HolderRequest): boolean {
  const claimed = parseUrl(htu)
  if (claimed === undefined || claimed.username !== '' || claimed.password !== '') return false
  const protocol = scheme ?? claimed.protocol.slice(0, -1)
  if (protocol !== 'http' && protocol !== 'https') return false
  const target = parseUrl(`${protocol}://${authority}${path}`)
  return target !== undefined && claimed.origin === target.origin && claimed.pathname === target.pathname
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Also what a proxy causes that changes the host or the path of requests. */
export const WRONG_TARGET: Denial = /* @__PURE__ */ invalid('htu must be the URL of the request')

function invalid(detail: string): Denial {
  return deny('proof_invalid', `The DPoP proof is invalid: ${detail}.`)
}
