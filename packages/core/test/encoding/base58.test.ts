import { base58 } from '@scure/base'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BASE58_CHARS_MAX, decodeBase58, encodeBase58 } from '../../src/encoding/base58.ts'
import { runs } from '../runs.ts'
import { hex, unhex } from '../vectors.ts'

describe('base58', () => {
  test.each([
    ['', ''],
    ['00', '1'],
    ['000000', '111'],
    ['01', '2'],
    ['39', 'z'],
    ['3a', '21'],
    ['0000287fb4cd', '11233QC4'],
    ['48656c6c6f20576f726c6421', '2NEpo7TZRRrLZSi2U'],
    ['ffffffffffffffffffffffff', '5qCHTcgbQwpvYZQ9c'],
  ])('writes %s as "%s" and reads it back', (bytes, text) => {
    expect(encodeBase58(unhex(bytes))).toBe(text)
    expect(hex(decodeBase58(text) as Uint8Array)).toBe(bytes)
  })

  test('agrees with another library, both ways, for every length up to the longest', () => {
    const bytes = fc.uint8Array({ maxLength: 186, size: 'max' })
    const zeros = fc.nat(5)
    fc.assert(
      fc.property(bytes, zeros, (tail, leading) => {
        const whole = new Uint8Array([...new Uint8Array(leading), ...tail]).subarray(0, 186)
        const text = base58.encode(whole)
        expect(encodeBase58(whole)).toBe(text)
        expect(hex(decodeBase58(text) as Uint8Array)).toBe(hex(whole))
      }),
      { numRuns: runs(500) },
    )
  })

  test('agrees with another library about the largest number of each length', () => {
    for (let length = 1; length <= BASE58_CHARS_MAX; length++) {
      const text = 'z'.repeat(length)
      expect(hex(decodeBase58(text) as Uint8Array)).toBe(hex(base58.decode(text)))
    }
  })

  test('reads every text of the alphabet in exactly one way', () => {
    const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 200 }), (text) => {
        expect(encodeBase58(decodeBase58(text) as Uint8Array)).toBe(text)
      }),
    )
  })

  test.each(['0', 'O', 'I', 'l', ' ', '+', '/', '=', '\0', '\u0131', '\uff11', '\ud83d\ude00'])(
    'rejects the character %j anywhere',
    (bad) => {
      for (const text of [bad, `${bad}abc`, `ab${bad}c`, `abcd${bad}`, `111${bad}`])
        expect(decodeBase58(text)).toBeUndefined()
    },
  )

  test('rejects a text that is longer than the limit, before it looks at it', () => {
    expect(decodeBase58('z'.repeat(BASE58_CHARS_MAX))).toHaveLength(188)
    expect(decodeBase58('1'.repeat(BASE58_CHARS_MAX))).toHaveLength(BASE58_CHARS_MAX)
    expect(decodeBase58('z'.repeat(BASE58_CHARS_MAX + 1))).toBeUndefined()
    expect(decodeBase58('1'.repeat(BASE58_CHARS_MAX + 1))).toBeUndefined()
  })

  test('throws rather than write what it would not read back', () => {
    const longest = new Uint8Array(186).fill(255)
    expect(decodeBase58(encodeBase58(longest))).toEqual(longest)
    expect(() => encodeBase58(new Uint8Array(187))).toThrow(TypeError)
  })
})
