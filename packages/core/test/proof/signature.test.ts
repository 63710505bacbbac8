import { describe, expect, test } from 'vitest'
import { isSoundSignature } from '../../src/proof/signature.ts'
import { encodePoint, LOW_ORDER } from '../fuzz/edwards.ts'
import { unhex } from '../vectors.ts'

const L = 2n ** 252n + 27742317777372353535851937790883648493n

/** Any R, then S in the encoding of Ed25519. */
function withS(s: bigint): Uint8Array {
  const signature = new Uint8Array(64).fill(0xff)
  signature.set(unhex(s.toString(16).padStart(64, '0')).toReversed(), 32)
  return signature
}

describe('A048: S of an Ed25519 signature', () => {
  test.each([0n, 1n, L - 1n, L - 2n ** 128n, 2n ** 252n, 2n ** 252n - 1n])(
    'may be %d, which is below L',
    (s) => {
      expect(isSoundSignature('Ed25519', withS(s))).toBe(true)
    },
  )

  test.each([L, L + 1n, L + 2n ** 128n, 2n * L, 2n ** 253n, 2n ** 255n, 2n ** 256n - 1n])(
    'may not be %d',
    (s) => {
      expect(isSoundSignature('Ed25519', withS(s))).toBe(false)
    },
  )

  test('is no matter for P-256', () => {
    expect(isSoundSignature('P-256', withS(L))).toBe(true)
  })
})

test.each(['Ed25519', 'P-256'] as const)('a %s signature has 64 bytes', (algorithm) => {
  for (const length of [0, 32, 63, 65, 72])
    expect(isSoundSignature(algorithm, new Uint8Array(length))).toBe(false)
  expect(isSoundSignature(algorithm, new Uint8Array(64).fill(1))).toBe(true)
})

test('A354: R of an Ed25519 signature is not of low order', () => {
  for (const point of LOW_ORDER) {
    const signature = new Uint8Array(64)
    signature.set(encodePoint(point))
    expect(isSoundSignature('Ed25519', signature)).toBe(false)
    expect(isSoundSignature('P-256', signature)).toBe(true)
  }
})
