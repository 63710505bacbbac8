import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  credentialDid,
  isDerivedId,
  type Ppid,
  parseCredentialDid,
  parseCredentialId,
  parsePermissionId,
  parsePpid,
  parseScope,
  parseScopeList,
  parseSiteId,
  SCOPE_LIST_MAX,
} from '../../src/credential/ids.ts'

const WORD = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-'
const SMALL = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** Every id type with its allowed characters and lengths. */
const GRAMMARS = [
  { name: 'a ppid', parse: parsePpid, prefix: 'did:service:ppid_', min: 8, max: 128, letters: WORD },
  { name: 'a credential id', parse: parseCredentialId, prefix: 'cred_', min: 8, max: 64, letters: WORD },
  { name: 'a permission id', parse: parsePermissionId, prefix: '', min: 1, max: 64, letters: `${WORD}.:` },
  { name: 'a scope', parse: parseScope, prefix: '', min: 1, max: 128, letters: `${SMALL}_.:/-` },
] as const

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
const BEYOND_ASCII = [
  '\u0430',
  '\uff41',
  '\u00e9',
  '\u017f',
  '\u212a',
  '\u0661',
  '\u2010',
  '\u200b',
  '\u{1d41a}',
  '\ud800',
  '\ufeff',
  '\u0085',
  '\u2028',
]
const NO_TEXT = [
  undefined,
  null,
  1,
  true,
  {},
  [],
  ['abcdefgh'],
  { toString: () => 'abcdefgh' },
  new String('abcdefgh'),
]

describe.each(GRAMMARS)('$name', ({ parse, prefix, min, max, letters }) => {
  const filler = letters[0]?.toLowerCase() as string
  const ofLength = (length: number) => prefix + filler.repeat(length)

  test('has a shortest and a longest form', () => {
    expect(parse(ofLength(min))).toBe(ofLength(min))
    expect(parse(ofLength(max))).toBe(ofLength(max))
    expect(parse(ofLength(min - 1))).toBeUndefined()
    expect(parse(ofLength(max + 1))).toBeUndefined()
  })

  test('may hold exactly its own letters', () => {
    const body = filler.repeat(min)
    const taken = (char: string) =>
      [`${char}${body}`, `${body}${char}`, `${body}${char}${body}`].map(
        (id) => parse(prefix + id) !== undefined,
      )
    for (const char of [...ASCII, ...BEYOND_ASCII]) {
      const expected = letters.includes(char)
      expect([char, ...taken(char)]).toEqual([char, expected, expected, expected])
    }
  })

  test('takes nothing in front or behind, above all no newline', () => {
    for (const extra of ['\n', '\r\n', ' ', '\t', '\u0000', '\u2028']) {
      expect(parse(ofLength(min) + extra)).toBeUndefined()
      expect(parse(extra + ofLength(min))).toBeUndefined()
      expect(parse(`${ofLength(min)}${extra}${ofLength(min)}`)).toBeUndefined()
    }
    expect(parse('')).toBeUndefined()
  })

  test('is a string', () => {
    for (const value of NO_TEXT) expect(parse(value)).toBeUndefined()
  })

  test('is given back as it is', () => {
    const id = fc
      .string({ unit: fc.constantFrom(...letters), minLength: min, maxLength: max })
      .map((body) => prefix + body)
    fc.assert(fc.property(id, (text) => parse(text) === text))
  })
})

describe('the prefix', () => {
  test.each([
    'ppid_abcdefgh',
    'did:service:abcdefgh',
    'DID:service:ppid_abcdefgh',
    'did:service:PPID_abcdefgh',
    'did:service:cred_abcdefgh',
    'did:service:ppid-abcdefgh',
    'xdid:service:ppid_abcdefgh',
    'did:service:did:service:ppid_abcdefgh',
    'did%3Aservice:ppid_abcdefgh',
  ])('of a ppid is not that of %s', (text) => {
    expect(parsePpid(text)).toBeUndefined()
  })

  test.each([
    'abcdefgh',
    'CRED_abcdefgh',
    'cred-abcdefgh',
    'did:service:cred_abcdefgh',
    'xcred_abcdefgh',
    'ppid_abcdefgh',
  ])('of a credential id is not that of %s', (text) => {
    expect(parseCredentialId(text)).toBeUndefined()
  })
})

describe('the DID of a credential', () => {
  test('is its id with did:service: in front, and back', () => {
    const id = parseCredentialId('cred_01k9x3v0h2e8y6q4b7d5m1n8ra')
    expect(id).toBeDefined()
    expect(credentialDid(id as never)).toBe('did:service:cred_01k9x3v0h2e8y6q4b7d5m1n8ra')
    expect(parseCredentialDid('did:service:cred_01k9x3v0h2e8y6q4b7d5m1n8ra')).toBe(id)
  })

  test('keeps the bounds of the id', () => {
    const ofLength = (length: number) => parseCredentialDid(`did:service:cred_${'a'.repeat(length)}`)
    expect([7, 8, 64, 65].map((length) => ofLength(length) !== undefined)).toEqual([false, true, true, false])
  })

  test.each([
    'cred_abcdefgh',
    'did:service:ppid_abcdefgh',
    'did:service:',
    'did:service:abcdefgh',
    'did:other:cred_abcdefgh',
    'DID:SERVICE:cred_abcdefgh',
    'did:servicecred_abcdefgh',
    'did:service:did:service:cred_abcdefgh',
    'did:service:cred_abcdefgh#key',
    'did:service:cred_abcdefgh\n',
    ' did:service:cred_abcdefgh',
    'xid:service:cred_abcdefgh',
    '',
  ])('is not %j', (text) => {
    expect(parseCredentialDid(text)).toBeUndefined()
  })

  test('is a string', () => {
    for (const value of [...NO_TEXT, ['did:service:cred_abcdefgh']])
      expect(parseCredentialDid(value)).toBeUndefined()
  })
})

describe('a list of scopes', () => {
  const scopes = (count: number) => Array.from({ length: count }, (_, i) => `scope:${i}`)

  test('has at most 32 entries', () => {
    expect(SCOPE_LIST_MAX).toBe(32)
    expect(parseScopeList(scopes(32))).toEqual(scopes(32))
    expect(parseScopeList(scopes(33))).toBeUndefined()
    expect(parseScopeList(scopes(1000))).toBeUndefined()
  })

  test('may be empty', () => {
    expect(parseScopeList([])).toEqual([])
  })

  test('keeps its order', () => {
    expect(parseScopeList(['b', 'a', 'c'])).toEqual(['b', 'a', 'c'])
  })

  test.each([
    ['one scope twice', ['a', 'b', 'a']],
    ['one scope twice in a row', ['a', 'a']],
    ['two words in one entry', ['read write']],
    ['an empty entry', ['a', '']],
    ['a wildcard', ['*']],
    ['a wildcard behind a prefix', ['orders:*']],
    ['capitals', ['Orders:read']],
    ['an entry of 129 characters', ['a'.repeat(129)]],
    ['a number', [1]],
    ['a list in the list', [['a']]],
    ['null', ['a', null]],
    ['a hole', new Array(1)],
  ])('rejects %s', (_, list) => {
    expect(parseScopeList(list)).toBeUndefined()
  })

  test('is an array', () => {
    for (const value of [undefined, null, 'a', 'read write', {}, { 0: 'a', length: 1 }, new Set(['a']), 1])
      expect(parseScopeList(value)).toBeUndefined()
  })
})

describe('a site id', () => {
  const label63 = 'a'.repeat(63)
  const chars253 = `${label63}.${label63}.${label63}.${'a'.repeat(61)}`

  test.each([
    'shop.example',
    'localhost',
    'a',
    '0',
    'a.b.c.d.e.f',
    'a-b.example',
    'a--b.example',
    'xn--bcher-kva.example',
    '1and1.example',
    '3com',
    '127.0.0.1',
    `${label63}.example`,
    `example.${label63}`,
    chars253,
  ])('may be %s', (site) => {
    expect(parseSiteId(site)).toBe(site)
  })

  test.each([
    ['a name of 254 characters', `${label63}.${label63}.${label63}.${'a'.repeat(62)}`],
    ['a label of 64 characters', `${'a'.repeat(64)}.example`],
    ['a last label of 64 characters', `example.${'a'.repeat(64)}`],
    ['a hyphen at the start', '-shop.example'],
    ['a hyphen at the end', 'shop-.example'],
    ['a hyphen at the start of a later label', 'shop.-example'],
    ['a hyphen at the very end', 'shop.example-'],
    ['a hyphen alone', '-'],
    ['a label that is a hyphen', 'a.-.b'],
    ['A083 a final dot', 'a.example.'],
    ['a dot in front', '.a.example'],
    ['an empty label', 'a..example'],
    ['a dot alone', '.'],
    ['nothing', ''],
    ['A083 capitals', 'A.EXAMPLE'],
    ['one capital', 'a.examplE'],
    ['A083 a port', 'a.example:443'],
    ['A083 a scheme', 'https://a.example'],
    ['a path', 'a.example/'],
    ['A083 a space in front', ' a.example'],
    ['a space behind', 'a.example '],
    ['a newline at the end', 'a.example\n'],
    ['a newline within', 'a.example\nb.example'],
    ['NUL at the end', 'a.example\u0000'],
    ['an underscore', 'a_b.example'],
    ['a wildcard', '*.example'],
    ['a user', 'me@a.example'],
    ['A086 an umlaut', 'b\u00fccher.example'],
    ['a Cyrillic a', '\u0430.example'],
    ['a full-width letter', '\uff41.example'],
    ['an ideographic full stop', 'a\u3002example'],
    ['a soft hyphen', 'a\u00adb.example'],
    ['an IPv6 address', '[::1]'],
    ['a bare IPv6 address', '::1'],
    ['a percent sign', 'a%2eexample'],
    ['a comma', 'a.example,b.example'],
  ])('may not have %s', (_, site) => {
    expect(parseSiteId(site)).toBeUndefined()
  })

  test('is a string', () => {
    for (const value of [undefined, null, 1, ['a.example'], ['a.example', 'b.example'], {}])
      expect(parseSiteId(value)).toBeUndefined()
  })

  test('has an answer for a name made to make a regular expression try everything', () => {
    expect(parseSiteId(`${'a'.repeat(100_000)}!`)).toBeUndefined()
    expect(parseSiteId(`${'a-'.repeat(126)}!`)).toBeUndefined()
    expect(parseSiteId(`${'a.'.repeat(126)}!`)).toBeUndefined()
  })
})

test('ids of access tokens have the prefix and 43 characters, and other ids do not', () => {
  const isDerived = (id: string) => isDerivedId(id as Ppid)
  for (const prefix of ['did:service:ppid_j_', 'cred_jt_', 'cred_js_']) {
    expect(isDerived(prefix + 'A'.repeat(43))).toBe(true)
    // An issuer may call a user j_smith01.
    expect(isDerived(`${prefix}smith01`)).toBe(false)
    expect(isDerived(prefix + 'A'.repeat(42))).toBe(false)
    expect(isDerived(prefix + 'A'.repeat(44))).toBe(false)
  }
  expect(isDerived(`cred_ju_${'A'.repeat(43)}`)).toBe(false)
})
