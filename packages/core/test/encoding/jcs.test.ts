import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../src/encoding/jcs.ts'
import { type JsonObject, type JsonValue, parseJson } from '../../src/encoding/json.ts'
import { runs } from '../runs.ts'

const jsonValue = fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 }) as fc.Arbitrary<JsonValue>
const wideObject = fc.dictionary(fc.string({ unit: 'binary', maxLength: 3 }), fc.integer(), {
  minKeys: 17,
  maxKeys: 40,
  noNullPrototype: true,
})

/** Nested objects and arrays; the outermost is level 1. */
function nested(depth: number, wrap: (inner: JsonValue) => JsonValue, innermost: JsonValue): JsonValue {
  let value = innermost
  for (let level = 1; level < depth; level++) value = wrap(value)
  return value
}

describe('the canonical text', () => {
  test('is the one that another implementation writes', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(canonicalJson(value)).toBe(canonicalize(value))
      }),
      { numRuns: runs(500) },
    )
  })

  test('is the same for objects of many members', () => {
    fc.assert(
      fc.property(wideObject, (value) => {
        expect(canonicalJson(value)).toBe(canonicalize(value))
      }),
    )
  })

  test('does not depend on the order of the members', () => {
    const shuffled = fc
      .dictionary(fc.string({ unit: 'binary', maxLength: 3 }), jsonValue, {
        maxKeys: 40,
        noNullPrototype: true,
      })
      .chain((object) =>
        fc.tuple(
          fc.constant(object),
          fc.shuffledSubarray(Object.entries(object), { minLength: Object.keys(object).length }),
        ),
      )
    fc.assert(
      fc.property(shuffled, ([object, entries]) => {
        expect(canonicalJson(Object.fromEntries(entries))).toBe(canonicalJson(object))
      }),
    )
  })

  // A control character or a quote in a string can only be written with an escape.
  test('is the same when the strings of a text without escapes are not examined', () => {
    let plain = 0
    fc.assert(
      fc.property(jsonValue, fc.boolean(), (value, hasEscapes) => {
        const text = hasEscapes
          ? JSON.stringify(value)
          : JSON.stringify(value).replaceAll(/\\(?:u....|.)/g, 'x')
        const parsed = parseJson(text, { depthMax: 16 })
        if ('fault' in parsed || !parsed.hasPlainStrings) return
        plain++
        expect(canonicalJson(parsed.value, undefined, true)).toBe(canonicalize(parsed.value))
      }),
      { numRuns: runs(500) },
    )
    expect(plain).toBeGreaterThan(runs(500) / 4)
  })

  test('control: strings with escapes have to be examined', () => {
    const parsed = parseJson('["a\\nb"]', { depthMax: 2 })
    expect(parsed).toMatchObject({ value: ['a\nb'], hasPlainStrings: false })
    expect(canonicalJson(['a\nb'], undefined, true)).not.toBe(canonicalJson(['a\nb']))
  })

  test('is read back as the same value', () => {
    const value = { b: [1, 0.5, -3, 1e-7], a: { '': null, '\u{1f600}': 'x\n' }, c: [true, false] }
    const expected = { value, watched: undefined, hasPlainStrings: false }
    expect(parseJson(canonicalJson(value), { depthMax: 4 })).toEqual(expected)
  })

  test.each<[JsonValue, string]>([
    [null, 'null'],
    [true, 'true'],
    [false, 'false'],
    ['', '""'],
    [0, '0'],
    [-0, '0'],
    [1e21, '1e+21'],
    [1e-7, '1e-7'],
    [0.1 + 0.2, '0.30000000000000004'],
    [[], '[]'],
    [{}, '{}'],
    [[[], {}, [1, [2]]], '[[],{},[1,[2]]]'],
    [{ a: {}, b: { d: 1, c: [] } }, '{"a":{},"b":{"c":[],"d":1}}'],
  ])('of %j is %s', (value, text) => {
    expect(canonicalJson(value)).toBe(text)
  })

  test('escapes what must be escaped, and nothing else', () => {
    expect(canonicalJson('\u0000\b\t\n\v\f\r\u001f"\\')).toBe('"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\"\\\\"')
    expect(canonicalJson('/ \u007f\u0080\u2028\u2029\ufeff\ud7ff\ue000\u{1f600}')).toBe(
      '"/ \u007f\u0080\u2028\u2029\ufeff\ud7ff\ue000\u{1f600}"',
    )
    expect(canonicalJson({ '"': 1, '\n': 2 })).toBe('{"\\n":2,"\\"":1}')
  })
})

describe('the order of members', () => {
  test('goes by UTF-16 code units: a surrogate pair stands before U+FB33, whose code point is smaller', () => {
    const value = { '\ufb33': 1, '\u{1f600}': 2, '\u00f6': 3, '\u20ac': 4, '\r': 5, '1': 6, '\u0080': 7 }
    expect(canonicalJson(value)).toBe(
      '{"\\r":5,"1":6,"\u0080":7,"\u00f6":3,"\u20ac":4,"\u{1f600}":2,"\ufb33":1}',
    )
  })

  test('is the same in an object of more than sixteen members', () => {
    const many = Object.fromEntries(
      Array.from({ length: 17 }, (_, i) => [`k${String(16 - i).padStart(2, '0')}`, i]),
    )
    const names = [...canonicalJson({ '\ufb33': 1, '\u{1f600}': 2, ...many }).matchAll(/"([^"]*)"/g)].map(
      (match) => match[1],
    )
    expect(names).toEqual([
      ...Array.from({ length: 17 }, (_, i) => `k${String(i).padStart(2, '0')}`),
      '\u{1f600}',
      '\ufb33',
    ])
  })

  test('A034 treats names that look like integers as text', () => {
    expect(canonicalJson({ '9': 1, '10': 2, '1': 3, a: 4, '-1': 5 })).toBe(
      '{"-1":5,"1":3,"10":2,"9":1,"a":4}',
    )
  })

  test('puts a name before the longer ones that begin with it, and capitals before small letters', () => {
    expect(canonicalJson({ ab: 1, a: 2, '': 3, B: 4, aa: 5 })).toBe('{"":3,"B":4,"a":2,"aa":5,"ab":1}')
  })
})

describe('the member to skip', () => {
  test('is left out of the outermost object only', () => {
    expect(canonicalJson({ a: 1, proof: 2, z: { proof: 3 } }, 'proof')).toBe('{"a":1,"z":{"proof":3}}')
    expect(canonicalJson([{ proof: 1 }], 'proof')).toBe('[{"proof":1}]')
  })

  test('leaves no comma behind, wherever it stood', () => {
    expect(canonicalJson({ a: 1, b: 2 }, 'a')).toBe('{"b":2}')
    expect(canonicalJson({ a: 1, b: 2 }, 'b')).toBe('{"a":1}')
    expect(canonicalJson({ a: 1 }, 'a')).toBe('{}')
    expect(canonicalJson({ a: 1 }, 'b')).toBe('{"a":1}')
  })

  test('need not have a JSON form', () => {
    expect(canonicalJson({ a: 1, b: undefined } as unknown as JsonObject, 'b')).toBe('{"a":1}')
  })

  test('gives the text of a copy without it', () => {
    fc.assert(
      fc.property(wideObject, fc.nat(), (object, place) => {
        const skipped = Object.keys(object)[place % Object.keys(object).length] as string
        const { [skipped]: _, ...rest } = object
        expect(canonicalJson(object, skipped)).toBe(canonicalize(rest))
      }),
    )
  })
})

describe('what has no JSON form', () => {
  const cycle: JsonValue[] = []
  cycle.push(cycle)
  const ring: JsonObject = {}
  ring.ring = ring

  test.each<[string, unknown, string]>([
    ['a lone high surrogate', '\ud800', 'canonical JSON: a string has a lone surrogate'],
    ['a lone low surrogate', 'a\udfff', 'canonical JSON: a string has a lone surrogate'],
    ['surrogates the wrong way round', '\udc00\ud800', 'canonical JSON: a string has a lone surrogate'],
    ['a lone surrogate in a name', { '\ud800': 1 }, 'canonical JSON: a string has a lone surrogate'],
    ['NaN', Number.NaN, 'canonical JSON: number has no JSON form'],
    ['an infinity', [Number.POSITIVE_INFINITY], 'canonical JSON: number has no JSON form'],
    ['the other infinity', { a: Number.NEGATIVE_INFINITY }, 'canonical JSON: number has no JSON form'],
    ['undefined', undefined, 'canonical JSON: undefined has no JSON form'],
    ['a member that is undefined', { a: undefined }, 'canonical JSON: undefined has no JSON form'],
    ['an array with a hole', new Array(1), 'canonical JSON: undefined has no JSON form'],
    ['a function', { a: () => 1 }, 'canonical JSON: function has no JSON form'],
    ['a bigint', 1n, 'canonical JSON: bigint has no JSON form'],
    ['a symbol', Symbol('a'), 'canonical JSON: symbol has no JSON form'],
    ['an array inside itself', cycle, 'canonical JSON: nested too deeply'],
    ['an object inside itself', ring, 'canonical JSON: nested too deeply'],
  ])('throws a TypeError: %s', (_, value, message) => {
    expect(() => canonicalJson(value as JsonValue)).toThrow(new TypeError(message))
  })

  test('is what lies deeper than 64 levels', () => {
    const inArray = (inner: JsonValue) => [inner]
    const inObject = (inner: JsonValue) => ({ a: inner })
    expect(canonicalJson(nested(64, inArray, []))).toBe('['.repeat(64) + ']'.repeat(64))
    expect(canonicalJson(nested(64, inObject, {}))).toBe(`${'{"a":'.repeat(63)}{}${'}'.repeat(63)}`)
    expect(() => canonicalJson(nested(65, inArray, []))).toThrow(
      new TypeError('canonical JSON: nested too deeply'),
    )
    expect(() => canonicalJson(nested(65, inObject, {}))).toThrow(
      new TypeError('canonical JSON: nested too deeply'),
    )
    expect(() => canonicalJson(nested(65, inArray, {}))).toThrow(
      new TypeError('canonical JSON: nested too deeply'),
    )
  })
})
