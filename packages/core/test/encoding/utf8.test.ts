import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeUtf8, encodeUtf8 } from '../../src/encoding/utf8.ts'
import { runs } from '../runs.ts'
import { hex, unhex } from '../vectors.ts'

describe('UTF-8', () => {
  test('is read back as it was written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(decodeUtf8(encodeUtf8(text))).toBe(text)
      }),
    )
  })

  test('is written as Buffer writes it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(hex(encodeUtf8(text))).toBe(Buffer.from(text).toString('hex'))
      }),
    )
  })

  test('has one spelling for each text: what is read is written with the same bytes', () => {
    const bytes = fc.array(
      fc.oneof(fc.nat(0x7f), fc.integer({ min: 0x80, max: 0xbf }), fc.integer({ min: 0xc0, max: 0xff })),
      {
        maxLength: 8,
      },
    )
    fc.assert(
      fc.property(bytes, (content) => {
        const given = Uint8Array.from(content)
        const text = decodeUtf8(given)
        if (text !== undefined) expect(hex(encodeUtf8(text))).toBe(hex(given))
      }),
      { numRuns: runs(2000) },
    )
  })

  test('keeps a byte order mark, at the start and elsewhere', () => {
    expect(decodeUtf8(unhex('efbbbf7b7d'))).toBe('\ufeff{}')
    expect(decodeUtf8(unhex('7befbbbf7d'))).toBe('{\ufeff}')
  })

  test('has room for every code point up to the last', () => {
    expect(decodeUtf8(unhex('00'))).toBe('\u0000')
    expect(decodeUtf8(unhex('f48fbfbf'))).toBe('\u{10ffff}')
    expect(decodeUtf8(unhex('ed9fbfee8080'))).toBe('\ud7ff\ue000')
    expect(decodeUtf8(new Uint8Array())).toBe('')
  })

  test.each([
    ['A027 FF', 'ff'],
    ['FE', 'fe'],
    ['A027 an overlong slash', 'c0af'],
    ['an overlong NUL', 'c080'],
    ['an overlong slash of three bytes', 'e080af'],
    ['an overlong slash of four bytes', 'f08080af'],
    ['A027 a surrogate pair as two times three bytes (CESU-8)', 'eda0bdedb880'],
    ['a lone high surrogate', 'eda080'],
    ['a lone low surrogate', 'edbfbf'],
    ['a code point after the last', 'f4908080'],
    ['a sequence of five bytes', 'f888808080'],
    ['a continuation alone', '80'],
    ['a sequence cut off after one byte of two', 'c3'],
    ['a sequence cut off after two bytes of three', 'e282'],
    ['a sequence cut off after three bytes of four', 'f09f98'],
    ['a sequence broken by a letter', 'e28241'],
    ['Latin-1', 'e9'],
    ['UTF-16', 'fffe7b00'],
  ])('is not: %s', (_, bytes) => {
    expect(decodeUtf8(unhex(bytes))).toBeUndefined()
    expect(decodeUtf8(unhex(`22${bytes}22`))).toBeUndefined()
  })

  test('is read afresh each time: a text cut off leaves nothing behind', () => {
    expect(decodeUtf8(unhex('f09f98'))).toBeUndefined()
    expect(decodeUtf8(unhex('80'))).toBeUndefined()
    expect(decodeUtf8(unhex('61'))).toBe('a')
  })
})
