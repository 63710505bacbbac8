import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { isPromise } from '../is-promise.ts'
import { crypto } from '../proof/crypto.ts'
import { type PublicKey, publicKeyFromJwk } from '../proof/keys.ts'

/** The signature algorithms of access tokens. The key decides which is used, never the token. */
export type JwtAlgorithm = 'RS256' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA'

/** The members that RFC 7638 takes the thumbprint of, in their order, and no others. */
export type JwtJwk =
  | { readonly e: 'AQAB'; readonly kty: 'RSA'; readonly n: string }
  | { readonly crv: 'P-256' | 'P-384'; readonly kty: 'EC'; readonly x: string; readonly y: string }
  | { readonly crv: 'Ed25519'; readonly kty: 'OKP'; readonly x: string }

/** A public key of an OAuth issuer that has passed the strict checks of its encoding. */
export interface JwtKey {
  readonly algorithm: JwtAlgorithm
  readonly jwk: JwtJwk
  /** The same key for the algorithms that credentials use too: ES256 and EdDSA. */
  readonly publicKey: PublicKey | undefined
}

const RSA_BYTES_MIN = 2048 / 8
const RSA_BYTES_MAX = 4096 / 8
const P384_COORDINATE_BYTES = 48

/**
 * Undefined unless the JWK is an RSA key of 2048 to 4096 bits with the exponent 65537, a P-256, a
 * P-384 or an Ed25519 key, meant for signatures. A private key is rejected, and so is a key whose
 * `use`, `key_ops` or `alg` names another purpose. Members that are not read are ignored.
 */
export function parseJwtKey(jwk: unknown): JwtKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined
  const { kty, crv, n, e, x, y, d, k, use, alg, key_ops: keyOps } = jwk as Readonly<Record<string, unknown>>
  if (d !== undefined || k !== undefined) return undefined
  if (use !== undefined && use !== 'sig') return undefined
  if (keyOps !== undefined && !(Array.isArray(keyOps) && keyOps.includes('verify'))) return undefined
  if (kty === 'RSA') {
    const algorithm = alg ?? 'RS256'
    if (algorithm !== 'RS256' && algorithm !== 'PS256') return undefined
    if (e !== 'AQAB' || typeof n !== 'string' || !isModulus(n)) return undefined
    return { algorithm, jwk: { e, kty, n }, publicKey: undefined }
  }
  if (kty === 'EC' && crv === 'P-384') {
    if (alg !== undefined && alg !== 'ES384') return undefined
    if (!isP384Coordinate(x) || !isP384Coordinate(y)) return undefined
    return { algorithm: 'ES384', jwk: { crv, kty, x, y }, publicKey: undefined }
  }
  const publicKey = publicKeyFromJwk(jwk)
  if (publicKey === undefined || typeof x !== 'string') return undefined
  if (publicKey.algorithm === 'Ed25519')
    return { algorithm: 'EdDSA', jwk: { crv: 'Ed25519', kty: 'OKP', x }, publicKey }
  if (typeof y !== 'string') return undefined
  return { algorithm: 'ES256', jwk: { crv: 'P-256', kty: 'EC', x, y }, publicKey }
}

/** The RFC 7638 thumbprint in base64url, with SHA-256. */
export function toThumbprint(jwk: JwtJwk): string | Promise<string> {
  const digest = crypto.sha256(encodeUtf8(JSON.stringify(jwk)))
  return isPromise(digest) ? digest.then(encodeBase64url) : encodeBase64url(digest)
}

/** One spelling: no leading zero byte. An even modulus cannot be the product of two odd primes. */
function isModulus(text: string): boolean {
  if (text.length > Math.ceil((RSA_BYTES_MAX * 4) / 3)) return false
  const bytes = decodeBase64url(text)
  if (bytes === undefined || bytes.length < RSA_BYTES_MIN || bytes.length > RSA_BYTES_MAX) return false
  const [first = 0] = bytes
  // With the shortest length the first bit must be set, otherwise the modulus is below 2048 bits.
  const isLongEnough = bytes.length > RSA_BYTES_MIN ? first !== 0 : first >= 0x80
  return isLongEnough && ((bytes.at(-1) ?? 0) & 1) === 1
}

function isP384Coordinate(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length === (P384_COORDINATE_BYTES * 4) / 3 &&
    decodeBase64url(value)?.length === P384_COORDINATE_BYTES
  )
}
