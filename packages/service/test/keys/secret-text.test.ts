import { randomBytes } from 'node:crypto'
import { ACCESS_TOKEN_PATTERN, API_KEY_PATTERN } from '@countersign/core/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSecretText, parseSecretText, secretSha256 } from '../../src/keys/secret-text.ts'

const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 })

describe('secret texts', () => {
  test('have the form of the contract, whatever the random bytes are', () => {
    fc.assert(
      fc.property(bytes, (random) => {
        expect(createSecretText('svc_sk_', random)).toMatch(new RegExp(API_KEY_PATTERN))
        expect(createSecretText('svc_at_', random)).toMatch(new RegExp(ACCESS_TOKEN_PATTERN))
      }),
    )
  })
  test('are read back, under their own prefix only', () => {
    fc.assert(
      fc.property(bytes, (random) => {
        const secret = createSecretText('svc_sk_', random)
        expect(parseSecretText('svc_sk_', secret)).toBe(secret)
        expect(parseSecretText('svc_at_', secret)).toBeUndefined()
        expect(parseSecretText('svc_at_', secret.replace('svc_sk_', 'svc_at_'))).toBeUndefined()
      }),
    )
  })
  test('are refused with any one character changed, left out or added', () => {
    const secret = createSecretText('svc_at_', randomBytes(32))
    for (let i = 0; i < secret.length; i++) {
      const other = secret[i] === 'x' ? 'y' : 'x'
      expect(
        parseSecretText('svc_at_', secret.slice(0, i) + other + secret.slice(i + 1)),
        `${i} changed`,
      ).toBeUndefined()
      expect(
        parseSecretText('svc_at_', secret.slice(0, i) + secret.slice(i + 1)),
        `${i} left out`,
      ).toBeUndefined()
      expect(
        parseSecretText('svc_at_', secret.slice(0, i) + other + secret.slice(i)),
        `${i} added`,
      ).toBeUndefined()
    }
  })
  test('hold all 256 bits: different bytes give different texts', () => {
    const random = randomBytes(32)
    const texts = new Set([createSecretText('svc_sk_', random)])
    for (let bit = 0; bit < 256; bit++) {
      const flipped = Buffer.from(random)
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
      texts.add(createSecretText('svc_sk_', flipped))
    }
    expect(texts.size).toBe(257)
    expect(createSecretText('svc_sk_', Buffer.alloc(32, 255))).toHaveLength(56)
  })
  test('are made of exactly 32 bytes', () => {
    for (const length of [0, 31, 33])
      expect(() => createSecretText('svc_sk_', new Uint8Array(length))).toThrow(TypeError)
  })
  test('are stored as their SHA-256', () => {
    expect(secretSha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })
})
