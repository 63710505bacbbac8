import { decodeBase58, encodeBase58 } from '../encoding/base58.ts'
import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { compressP256, decompressP256, findEd25519PointFault } from './curves.ts'

export type KeyAlgorithm = 'Ed25519' | 'P-256'

/** A public key with a valid encoding. Equal keys may be different objects; compare `multikey`. */
export interface PublicKey {
  readonly algorithm: KeyAlgorithm
  /** 32 bytes (Ed25519) or the 33-byte compressed point (P-256). Do not modify them. */
  readonly bytes: Uint8Array
  /** The canonical text: `z` + base58btc of multicodec and bytes. */
  readonly multikey: string
}

export type PublicJwk =
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }

export type PrivateJwk = PublicJwk & { readonly d: string }

/**
 * A key that can sign. The private key is not a member, so no log line and no `JSON.stringify` can
 * reveal it. Any object with these two members works, for example a key in a cloud KMS.
 */
export interface PrivateKey {
  readonly publicKey: PublicKey
  /** 64 bytes: an Ed25519 signature, or r and s of ECDSA P-256 with SHA-256 (IEEE P1363). */
  sign(data: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/** The longest Multikey has 49 characters. */
const MULTIKEY_CHARS_MAX = 52
const CODEC_BYTES = 2
/** The multicodec numbers 0xed and 0x1200 as varints. */
const ED25519_CODEC = [0xed, 0x01] as const
const P256_CODEC = [0x80, 0x24] as const

/**
 * Undefined unless the text is `z`, base58btc, the multicodec of Ed25519 or P-256 and a key of the
 * right length. An Ed25519 key must be canonical and not of low order; a P-256 key must have an x
 * below p. Takes microseconds, because it does not check whether the point is on the curve. No
 * signature verifies with a key off the curve; before you register a key, call `findKeyFault` as
 * well.
 */
export function parseMultikey(text: unknown): PublicKey | undefined {
  if (typeof text !== 'string' || text.length > MULTIKEY_CHARS_MAX || text.charCodeAt(0) !== 0x7a)
    return undefined
  const decoded = decodeBase58(text.slice(1))
  if (decoded === undefined) return undefined
  const algorithm = findAlgorithm(decoded)
  if (algorithm === undefined) return undefined
  const bytes = decoded.subarray(CODEC_BYTES)
  return isStrictEncoding(algorithm, bytes) ? { algorithm, bytes, multikey: text } : undefined
}

function findAlgorithm(decoded: Uint8Array): KeyAlgorithm | undefined {
  if (decoded[0] === ED25519_CODEC[0] && decoded[1] === ED25519_CODEC[1]) return 'Ed25519'
  if (decoded[0] === P256_CODEC[0] && decoded[1] === P256_CODEC[1]) return 'P-256'
  return undefined
}

/**
 * The same checks as `parseMultikey`, for the 32 bytes of an Ed25519 key or the 33 of a compressed
 * P-256 point. Copies the bytes.
 */
export function publicKeyFromBytes(algorithm: KeyAlgorithm, bytes: Uint8Array): PublicKey | undefined {
  if (!isStrictEncoding(algorithm, bytes)) return undefined
  const encoded = new Uint8Array(CODEC_BYTES + bytes.length)
  encoded.set(algorithm === 'Ed25519' ? ED25519_CODEC : P256_CODEC)
  encoded.set(bytes, CODEC_BYTES)
  return { algorithm, bytes: encoded.subarray(CODEC_BYTES), multikey: `z${encodeBase58(encoded)}` }
}

/**
 * Why a key must not be registered, for the operator. Unlike `parseMultikey` it also checks that
 * the point is on the curve and, for Ed25519, in the prime-order group. Takes up to a few
 * milliseconds.
 */
export function findKeyFault(key: PublicKey): string | undefined {
  const { algorithm, bytes } = key
  if (algorithm === 'P-256') {
    if (!isStrictP256(bytes)) return 'the P-256 key is not a compressed point with x below p'
    return decompressP256(bytes) === undefined ? 'the P-256 key is not a point on the curve' : undefined
  }
  if (algorithm !== 'Ed25519') return 'the key is neither Ed25519 nor P-256'
  if (bytes.length !== 32 || !isCanonicalEd25519(bytes)) return 'the Ed25519 key is not in its canonical form'
  if (isLowOrderEd25519(bytes)) return 'the Ed25519 key is of low order: anyone can sign for it'
  const fault = findEd25519PointFault(bytes)
  if (fault === 'off_curve') return 'the Ed25519 key is not a point on the curve'
  return fault === undefined ? undefined : 'the Ed25519 key is not in the prime-order group'
}

const JWK_ALGS: Readonly<Record<KeyAlgorithm, readonly unknown[]>> = {
  Ed25519: ['EdDSA', 'Ed25519'],
  'P-256': ['ES256'],
}
const COORDINATE_CHARS = 43

/**
 * Undefined unless the JWK is an Ed25519 or P-256 public key of exact length, and the P-256 point
 * is on the curve. Rejects a private key (`d`) and a key for another use (`use`, `alg`, `key_ops`).
 * Ignores other members.
 */
export function publicKeyFromJwk(jwk: unknown): PublicKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined
  const { kty, crv, x, y, d, use, alg, key_ops: keyOps } = jwk as Readonly<Record<string, unknown>>
  if (d !== undefined) return undefined
  if (use !== undefined && use !== 'sig') return undefined
  if (keyOps !== undefined && !(Array.isArray(keyOps) && keyOps.includes('verify'))) return undefined
  if (alg !== undefined && !JWK_ALGS[crv === 'P-256' ? 'P-256' : 'Ed25519'].includes(alg)) return undefined
  const xBytes = parseCoordinate(x)
  if (xBytes === undefined) return undefined
  if (kty === 'OKP' && crv === 'Ed25519' && y === undefined) return publicKeyFromBytes('Ed25519', xBytes)
  if (kty !== 'EC' || crv !== 'P-256') return undefined
  const yBytes = parseCoordinate(y)
  const point = yBytes && compressP256(xBytes, yBytes)
  return point && publicKeyFromBytes('P-256', point)
}

function parseCoordinate(value: unknown): Uint8Array | undefined {
  return typeof value === 'string' && value.length === COORDINATE_CHARS ? decodeBase64url(value) : undefined
}

/** Throws a TypeError for a P-256 key that is not on the curve. */
export function publicKeyToJwk({ algorithm, bytes }: PublicKey): PublicJwk {
  if (algorithm === 'Ed25519') return { kty: 'OKP', crv: 'Ed25519', x: encodeBase64url(bytes) }
  const point = decompressP256(bytes)
  if (point === undefined) throw new TypeError('the P-256 key is not a point on the curve')
  return { kty: 'EC', crv: 'P-256', x: encodeBase64url(point.x), y: encodeBase64url(point.y) }
}

/** The fast checks of `parseMultikey`, for a backend that uses a key for the first time. */
export function isStrictEncoding(algorithm: KeyAlgorithm, bytes: Uint8Array): boolean {
  if (algorithm === 'P-256') return isStrictP256(bytes)
  return (
    algorithm === 'Ed25519' && bytes.length === 32 && isCanonicalEd25519(bytes) && !isLowOrderEd25519(bytes)
  )
}

/** y < p = 2^255 − 19. The top bit is the sign of x and is ignored. */
function isCanonicalEd25519(bytes: Uint8Array): boolean {
  if (((bytes[31] as number) & 0x7f) !== 0x7f || (bytes[0] as number) < 0xed) return true
  for (let i = 1; i < 31; i++) if (bytes[i] !== 0xff) return true
  return false
}

/**
 * The y coordinates of the eight points whose order divides eight, little-endian. With both signs
 * these are ten encodings; the other four of the fourteen are not canonical.
 */
const LOW_ORDER_Y = /* @__PURE__ */ [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
].map(bytesFromHex)

/** Of 32 bytes, or of the first half of a signature. */
export function isLowOrderEd25519(bytes: Uint8Array): boolean {
  const top = (bytes[31] as number) & 0x7f
  for (const y of LOW_ORDER_Y) {
    if (y[31] !== top) continue
    let i = 0
    while (i < 31 && bytes[i] === y[i]) i++
    if (i === 31) return true
  }
  return false
}

const P256_P = /* @__PURE__ */ bytesFromHex(
  'ffffffff00000001000000000000000000000000ffffffffffffffffffffffff',
)

function isStrictP256(bytes: Uint8Array): boolean {
  if (bytes.length !== 33 || (bytes[0] !== 2 && bytes[0] !== 3)) return false
  for (let i = 0; i < 32; i++) {
    const difference = (bytes[i + 1] as number) - (P256_P[i] as number)
    if (difference !== 0) return difference < 0
  }
  return false
}

function bytesFromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
