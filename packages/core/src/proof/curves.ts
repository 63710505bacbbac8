/**
 * Curve arithmetic to validate and decompress public keys. Uses BigInt and is not constant time:
 * never pass secret values.
 */

const P256_P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn
const P256_B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn

/** The coordinates of a compressed P-256 point, 32 bytes each. Undefined if no point has this x. */
export function decompressP256(
  compressed: Uint8Array,
): { readonly x: Uint8Array; readonly y: Uint8Array } | undefined {
  if (compressed.length !== 33) return undefined
  const x = compressed.subarray(1)
  const xNumber = numberFromBytes(x)
  if (xNumber >= P256_P) return undefined
  const ySquared = p256Right(xNumber)
  // p ≡ 3 (mod 4), so a square root is a single power (SEC 1 §2.3.4).
  let y = power(ySquared, (P256_P + 1n) / 4n, P256_P)
  if ((y * y) % P256_P !== ySquared) return undefined
  if ((y & 1n) !== BigInt((compressed[0] as number) & 1)) y = P256_P - y
  return { x, y: bytesFromNumber(y, 32) }
}

/**
 * The compressed form of a P-256 point. Undefined unless the coordinates have 32 bytes each and are
 * on the curve.
 */
export function compressP256(x: Uint8Array, y: Uint8Array): Uint8Array | undefined {
  if (x.length !== 32 || y.length !== 32) return undefined
  const xNumber = numberFromBytes(x)
  const yNumber = numberFromBytes(y)
  if (xNumber >= P256_P || yNumber >= P256_P) return undefined
  if ((yNumber * yNumber) % P256_P !== p256Right(xNumber)) return undefined
  const compressed = new Uint8Array(33)
  compressed[0] = (y[31] as number) & 1 ? 3 : 2
  compressed.set(x, 1)
  return compressed
}

/** x³ − 3x + b, which is y² for a point on the curve. */
function p256Right(x: bigint): bigint {
  return ((((x * x - 3n) * x + P256_B) % P256_P) + P256_P) % P256_P
}

const ED25519_P = 2n ** 255n - 19n
const ED25519_L = 2n ** 252n + 27742317777372353535851937790883648493n
const ED25519_D = 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n
const ED25519_SQRT_MINUS_ONE = 0x2b8324804fc1df0b2b4d00993dfbd7a72f431806ad2fe478c4ee1b274a0ea0b0n

/**
 * Why these 32 bytes are not a point in the prime-order group of Ed25519, to which all properly
 * generated keys belong.
 */
export function findEd25519PointFault(bytes: Uint8Array): 'off_curve' | 'wrong_group' | undefined {
  const point = ed25519Point(bytes)
  if (point === undefined) return 'off_curve'
  const product = ed25519Times(point, ED25519_L)
  return product.x === 0n && product.y === product.z ? undefined : 'wrong_group'
}

/** A point of Ed25519 in extended coordinates: x/z and y/z. */
export interface ExtendedPoint {
  readonly x: bigint
  readonly y: bigint
  readonly z: bigint
  readonly t: bigint
}

/** RFC 8032 §5.1.3. */
export function ed25519Point(bytes: Uint8Array): ExtendedPoint | undefined {
  const p = ED25519_P
  const encoded = numberFromBytes(bytes.toReversed())
  const sign = encoded >> 255n
  const y = encoded & (2n ** 255n - 1n)
  if (y >= p) return undefined
  const u = (y * y - 1n + p) % p
  const v = (ED25519_D * y * y + 1n) % p
  const v3 = (((v * v) % p) * v) % p
  const v7 = (((v3 * v3) % p) * v) % p
  let x = (((u * v3) % p) * power((u * v7) % p, (p - 5n) / 8n, p)) % p
  const check = (((v * x) % p) * x) % p
  if (check === (p - u) % p) x = (x * ED25519_SQRT_MINUS_ONE) % p
  else if (check !== u) return undefined
  if (x === 0n && sign === 1n) return undefined
  if ((x & 1n) !== sign) x = p - x
  return { x, y, z: 1n, t: (x * y) % p }
}

/** RFC 8032 §5.1.4. Complete, so it also doubles. */
export function ed25519Plus(one: ExtendedPoint, other: ExtendedPoint): ExtendedPoint {
  const p = ED25519_P
  const a = ((one.y - one.x + p) * (other.y - other.x + p)) % p
  const b = ((one.y + one.x) * (other.y + other.x)) % p
  const c = (((2n * ED25519_D * one.t) % p) * other.t) % p
  const d = (2n * one.z * other.z) % p
  const e = (b - a + p) % p
  const f = (d - c + p) % p
  const g = d + c
  const h = b + a
  return { x: (e * f) % p, y: (g * h) % p, z: (f * g) % p, t: (e * h) % p }
}

export function ed25519Times(point: ExtendedPoint, factor: bigint): ExtendedPoint {
  let product: ExtendedPoint = { x: 0n, y: 1n, z: 1n, t: 0n }
  let addend = point
  for (let rest = factor; rest > 0n; rest >>= 1n) {
    if (rest & 1n) product = ed25519Plus(product, addend)
    addend = ed25519Plus(addend, addend)
  }
  return product
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n
  let square = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

function numberFromBytes(bytes: Uint8Array): bigint {
  let hex = '0x0'
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0')
  return BigInt(hex)
}

function bytesFromNumber(number: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let rest = number
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn)
    rest >>= 8n
  }
  return bytes
}
