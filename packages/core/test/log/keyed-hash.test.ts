import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keyedHash } from '../../src/log/keyed-hash.ts'

/**
 * The first and some later rows of `vectors_hsip64` (HalfSipHash-2-4, key 00…07, message 00 01 02 …
 * of that length), github.com/veorq/SipHash.
 */
const PUBLISHED_2_4: readonly (readonly [number, string])[] = [
  [0, '218d1f59b9b83cc8'],
  [1, 'be552412f8387315'],
  [2, '064f39ef7c50eb57'],
  [3, 'ce0f1a45f7060679'],
  [4, 'd5e78a175be52ea1'],
  [7, 'ff202728b07bc684'],
  [8, 'edfee820bce4858c'],
  [15, '217d0bcb4e81c902'],
  [31, '863c7f155c34117c'],
  [63, '2ea63c71bf326087'],
]
const KEY0 = 0x03020100
const KEY1 = 0x07060504

describe('keyedHash', () => {
  test('has a plain counterpart here that agrees with the published vectors', () => {
    for (const [length, hex] of PUBLISHED_2_4) expect(plainHash(counting(length), KEY0, KEY1, 2, 4)).toBe(hex)
  })

  test('is HalfSipHash-1-3 of every length and under every key', () => {
    for (let length = 0; length < 80; length++)
      expect(ours(counting(length), 0, KEY0, KEY1)).toBe(plainHash(counting(length), KEY0, KEY1, 1, 3))
    const word = fc.integer({ min: -(2 ** 31), max: 2 ** 32 - 1 })
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 300 }), word, word, (text, key0, key1) => {
        expect(ours(text, 0, key0, key1)).toBe(plainHash(text, key0, key1, 1, 3))
      }),
    )
  })

  test('begins where it is told to', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary-ascii', maxLength: 20 }),
        fc.string({ unit: 'binary-ascii', maxLength: 40 }),
        (prefix, text) => {
          expect(ours(prefix + text, prefix.length, KEY0, KEY1)).toBe(ours(text, 0, KEY0, KEY1))
        },
      ),
    )
  })

  test('scatters under one key what was chosen to collide under another', () => {
    // An attacker who knows the key could send ids whose hashes have the same start, so that they
    // collide in a table.
    const sameStart = (text: string, key0: number) => {
      const out = new Int32Array(2)
      keyedHash(text, 0, key0, KEY1, out)
      return (out[0] as number) >>> 24 === 0
    }
    const chosen = Array.from({ length: 60_000 }, (_, n) => `cred_${String(n).padStart(26, '0')}`).filter(
      (id) => sameStart(id, KEY0),
    )
    expect(chosen.length).toBeGreaterThan(100)
    expect(chosen.filter((id) => sameStart(id, KEY0 + 1)).length).toBeLessThan(chosen.length / 20)
  })
})

const counting = (length: number) => String.fromCharCode(...Array.from({ length }, (_, i) => i))

function ours(text: string, start: number, key0: number, key1: number): string {
  const out = new Int32Array(2)
  keyedHash(text, start, key0, key1, out)
  return hex(out[0] as number) + hex(out[1] as number)
}

/** As in the paper, with arrays and any number of rounds. */
function plainHash(text: string, key0: number, key1: number, c: number, d: number): string {
  const v = [key0 | 0, key1 ^ 0xee, key0 ^ 0x6c796765, key1 ^ 0x74656462] as [number, number, number, number]
  const bytes = Array.from(text, (character) => character.charCodeAt(0))
  const padded = [...bytes, ...Array<number>(3 - (bytes.length % 4)).fill(0), bytes.length & 0xff]
  for (let i = 0; i < padded.length; i += 4) {
    const [b0 = 0, b1 = 0, b2 = 0, b3 = 0] = padded.slice(i, i + 4)
    const word = b0 | (b1 << 8) | (b2 << 16) | (b3 << 24)
    v[3] ^= word
    for (let r = 0; r < c; r++) round(v)
    v[0] ^= word
  }
  v[2] ^= 0xee
  for (let r = 0; r < d; r++) round(v)
  const first = hex(v[1] ^ v[3])
  v[1] ^= 0xdd
  for (let r = 0; r < d; r++) round(v)
  return first + hex(v[1] ^ v[3])
}

function round(v: [number, number, number, number]): void {
  const rotate = (x: number, n: number) => (x << n) | (x >>> (32 - n))
  v[0] = (v[0] + v[1]) | 0
  v[1] = rotate(v[1], 5) ^ v[0]
  v[0] = rotate(v[0], 16)
  v[2] = (v[2] + v[3]) | 0
  v[3] = rotate(v[3], 8) ^ v[2]
  v[0] = (v[0] + v[3]) | 0
  v[3] = rotate(v[3], 7) ^ v[0]
  v[2] = (v[2] + v[1]) | 0
  v[1] = rotate(v[1], 13) ^ v[2]
  v[2] = rotate(v[2], 16)
}

/** Little-endian, as the vectors are written. */
function hex(word: number): string {
  return [0, 8, 16, 24].map((shift) => ((word >>> shift) & 0xff).toString(16).padStart(2, '0')).join('')
}
