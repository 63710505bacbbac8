import { type ExtendedPoint, ed25519Plus, ed25519Times } from '../../src/proof/curves.ts'

export const P = 2n ** 255n - 19n
export const L = 2n ** 252n + 27742317777372353535851937790883648493n
export const BASE = fromAffine(
  0x216936d3cd6e53fec0a4e231fdd6dc5c692cc7609525a7b2c9562d608f25d51an,
  0x6666666666666666666666666666666666666666666666666666666666666658n,
)

/** The eight points whose order divides eight, as multiples of one of order eight. */
export const LOW_ORDER: readonly ExtendedPoint[] = Array.from({ length: 8 }, (_, i) =>
  ed25519Times(
    fromAffine(
      0x1fd5b9a006394a28e933993238de4abb5c193c7013e5e238dea14646c545d14an,
      0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
    ),
    BigInt(i),
  ),
)

export { ed25519Plus as plus, ed25519Times as times }

/** With `shift` 1, p is added to y: a second encoding of the same point if y + p has 255 bits. */
export function encodePoint({ x, y, z }: ExtendedPoint, shift = 0n): Uint8Array {
  const inverse = power(z, P - 2n)
  const affineY = (((y * inverse) % P) + shift * P) & (2n ** 255n - 1n)
  return encodeNumber(affineY | ((((x * inverse) % P) & 1n) << 255n))
}

/** 32 bytes, little-endian. */
export function encodeNumber(number: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => Number((number >> BigInt(8 * i)) & 0xffn))
}

export function decodeNumber(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n)
}

function fromAffine(x: bigint, y: bigint): ExtendedPoint {
  return { x, y, z: 1n, t: (x * y) % P }
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  let square = base % P
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % P
    square = (square * square) % P
  }
  return result
}
