import fc from 'fast-check'
import { parseDictionary, serializeDictionary as peerText, Token } from 'structured-headers'
import { describe, expect, test } from 'vitest'
import {
  type BareItem,
  isInnerList,
  parseStrictDictionary,
  serializeBytes,
  serializeDictionary,
} from '../../src/holder/structured-field.ts'
import { runs } from '../runs.ts'

test.each([
  [['a=1']],
  [['a=1, b=("x" y;z);q="a  b"']],
  [['a=1', 'b=:QUJD:']],
  [['a=1 \t,\tb']],
  [['a=(  "x"   "y"  );  b']],
  [['  a=1  ']],
  [['']],
])('reads %j', (lines) => expect(parseStrictDictionary(lines)).toBeDefined())

test.each([
  ['a label twice', ['a=1, b=2, a=3']],
  ['a label twice, the same', ['a=1', 'a=1']],
  ['a parameter twice', ['a=1;b=1;b=2']],
  ['a decimal that is an integer', ['a=1.0']],
  ['a decimal with too many digits', ['a=1.50']],
  ['zeros before', ['a=01']],
  ['minus zero', ['a=-0']],
  ['an integer of 16 digits', ['a=1000000000000000']],
  ['true in long', ['a=?1']],
  ['base64 without padding', ['a=:QUI:']],
  ['base64 with unused bits set', ['a=:QUJ=:']],
  ['base64url', ['a=:-_-_:']],
  ['a line break in base64', ['a=:QU\nJD:']],
  ['a comma at the end', ['a=1,']],
  ['an empty line', ['', 'a=1']],
  ['a capital in a key', ['A=1']],
  ['an open string', ['a="b']],
  ['an open list', ['a=("b"']],
  ['an open display string', ['a=%"b']],
  ['a string that is not ASCII', ['a="é"']],
  ['a line break', ['a=1,\nb=2']],
  ['a byte order mark', ['\ufeffa=1']],
  ['rubbish', ['{"a":1}']],
])('rejects %s', (_, lines) => expect(parseStrictDictionary(lines)).toBeUndefined())

test('keeps the order of members and the last word of none', () => {
  expect([...(parseStrictDictionary(['b=1', 'a=2']) ?? [])].map(([key]) => key)).toEqual(['b', 'a'])
})

test('writes bytes from the middle of a buffer', () => {
  expect(serializeBytes('a', new Uint8Array([0, 65, 66, 67, 0]).subarray(1, 4))).toBe('a=:QUJD:')
})

describe('next to structured-headers, which reads all of RFC 9651', () => {
  const key = fc.stringMatching(/^[a-z*][a-z0-9_.*-]{0,8}$/)
  const bare = fc.oneof(
    fc.stringMatching(/^[\x20-\x7e]{0,12}$/),
    fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 }),
    fc.boolean(),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => new Uint8Array(bytes).buffer),
    fc.stringMatching(/^[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]{0,8}$/).map((text) => new Token(text)),
  )
  const parameters = fc.array(fc.tuple(key, bare), { maxLength: 3 }).map((pairs) => new Map(pairs))
  const item = fc.tuple(bare, parameters)
  const member = fc.oneof(item, fc.tuple(fc.array(item, { maxLength: 4 }), parameters))
  const text = fc
    .array(fc.tuple(key, member), { maxLength: 4 })
    .map((members) => peerText(new Map(members as never)))

  /** The peer's values in our types. */
  const ours = (value: unknown): unknown => {
    if (value instanceof ArrayBuffer) return [...new Uint8Array(value)]
    if (value instanceof Token) return { token: value.toString() }
    if (value instanceof Map) return [...value].map(([name, inner]) => [name, ours(inner)])
    return Array.isArray(value) ? value.map(ours) : value
  }
  const plain = (value: BareItem | unknown): unknown => {
    if (value instanceof Uint8Array) return [...value]
    if (value instanceof Map) return [...value].map(([name, inner]) => [name, plain(inner)])
    return Array.isArray(value) ? value.map(plain) : value
  }

  test('reads and writes what it writes, alike', () => {
    fc.assert(
      fc.property(text, (written) => {
        const read = parseStrictDictionary([written])
        if (read === undefined) throw new Error(`not read: ${written}`)
        expect(plain(read)).toEqual(ours(parseDictionary(written)))
        expect(serializeDictionary(read)).toBe(written)
      }),
      { numRuns: runs(500) },
    )
  })

  test('accepts nothing that it rejects, and never with another meaning', () => {
    const junk = fc.stringMatching(/^[ \t()";=,:?@%\\a-cA0-9+/.-]{0,6}$/)
    fc.assert(
      fc.property(text, fc.nat(), fc.nat({ max: 3 }), junk, (written, place, cut, noise) => {
        const at = place % (written.length + 1)
        const changed = written.slice(0, at) + noise + written.slice(at + cut)
        const read = parseStrictDictionary([changed])
        if (read !== undefined) expect(plain(read)).toEqual(ours(parseDictionary(changed)))
      }),
      { numRuns: runs(3000) },
    )
  })

  test('tells a token from a string and a list from an item', () => {
    const read = parseStrictDictionary(['a=tag, b="tag", c=("x")'])
    expect(read?.get('a')?.[0]).toEqual({ token: 'tag' })
    expect(read?.get('b')?.[0]).toBe('tag')
    expect([...(read?.values() ?? [])].map(isInnerList)).toEqual([false, false, true])
  })
})

test.each([
  ['a decimal', 'a=1.5'],
  ['a date', 'a=@1659578233'],
  ['a display string', 'a=%"f%c3%bc"'],
])('does not read %s', (_, text) => {
  expect(parseStrictDictionary([text])).toBeUndefined()
})
