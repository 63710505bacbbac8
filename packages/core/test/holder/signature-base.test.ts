import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { signatureBase } from '../../src/holder/signature-base.ts'
import { parseStrictDictionary } from '../../src/holder/structured-field.ts'
import { crypto } from '../../src/proof/crypto.ts'
import { importPrivateKey } from '../../src/proof/private-key.ts'
import { GET, received, type Sent } from './forged-proof.ts'

const member = (text: string, key: string) => parseStrictDictionary([text])?.get(key)

describe('RFC 9421 appendix B.2.6', () => {
  const vector = JSON.parse(
    readFileSync(new URL('../../../../vectors/rfc9421/b2-ed25519.json', import.meta.url), 'utf8'),
  )
  const { base: expectedBase, signatureInput, signature, label, keyid } = vector.cases[0]

  const [head = '', body = ''] = (vector.testRequest as string).split('\n\n')
  const [requestLine = '', ...fieldLines] = head.split('\n')
  const [method = '', target = ''] = requestLine.split(' ')
  const headers = Object.fromEntries(
    fieldLines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.slice(line.indexOf(': ') + 2)]),
  )
  const { pathname, search } = new URL(target, 'https://example.com')
  const request = received({
    method,
    authority: headers.host,
    path: pathname,
    query: search,
    headers,
    body: Buffer.from(body),
  })

  test('gives the signature base of the RFC, its signature is valid, and signing again gives the same bytes', async () => {
    const [components] = member(signatureInput, label) as unknown as [[string][], unknown]
    const names = components.map(([name]) => name)
    const base = signatureBase(request, names, signatureInput.slice(label.length + 1))
    expect(base).toBe(expectedBase)

    const key = await importPrivateKey(vector.keys[keyid])
    const [bytes] = member(signature, label) as unknown as [Uint8Array, unknown]
    const signed = new TextEncoder().encode(base as string)
    expect(await crypto.verify(key.publicKey, signed, new Uint8Array(bytes))).toBe(true)
    expect(Buffer.from(await key.sign(signed))).toEqual(Buffer.from(bytes))
  })
})

/** The value of one component, or undefined. */
function componentIn(component: string, part: Partial<Sent>): string | undefined {
  const base = signatureBase(received({ ...GET, ...part }), [component], '()')
  if (typeof base !== 'string') {
    expect(base).toEqual({ missing: component })
    return undefined
  }
  expect(base.split('\n')).toHaveLength(2)
  expect(base).toMatch(/\n"@signature-params": \(\)$/)
  expect(base.startsWith(`"${component}": `)).toBe(true)
  return base.slice(component.length + 4, base.indexOf('\n'))
}

describe('@method', () => {
  test.each([['GET'], ['get'], ['M-SEARCH'], ["!#$%&'*+.^_`|~09"]])('is taken as it is: %s', (method) =>
    expect(componentIn('@method', { method })).toBe(method),
  )
  test.each([[''], ['GET '], ['G\nT'], ['GÉT'], ['GET\n']])('has no value as %j', (method) =>
    expect(componentIn('@method', { method })).toBeUndefined(),
  )
})

describe('@authority', () => {
  test.each<[string, 'http' | 'https' | undefined, string | undefined]>([
    ['Shop.EXAMPLE', undefined, 'shop.example'],
    ['shop.example:443', 'https', 'shop.example'],
    ['shop.example:80', 'https', 'shop.example:80'],
    ['shop.example:80', 'http', 'shop.example'],
    ['shop.example:443', 'http', 'shop.example:443'],
    ['shop.example:443', undefined, 'shop.example'],
    ['shop.example:80', undefined, 'shop.example'],
    ['shop.example:8443', undefined, 'shop.example:8443'],
    ['shop.example:4430', undefined, 'shop.example:4430'],
    ['shop.example:', undefined, 'shop.example'],
    ['127.0.0.1:8787', undefined, '127.0.0.1:8787'],
    ['[::1]:80', undefined, '[::1]'],
    ['[::80]', undefined, '[::80]'],
    ['[2001:DB8::1]:8443', undefined, '[2001:db8::1]:8443'],
    ['::1', undefined, undefined],
    ['', undefined, undefined],
    [':80', undefined, undefined],
    ['a:b', undefined, undefined],
    ['a:80:80', undefined, undefined],
    ['user@shop.example', undefined, undefined],
    ['shop.example/x', undefined, undefined],
    ['shop.example?', undefined, undefined],
    ['shop.example, evil.example', undefined, undefined],
    ['shop.example\n', undefined, undefined],
    ['shop.exampl\u0435', undefined, undefined],
    ['\u212a.example', undefined, undefined],
    ['shop.example,evil.example', undefined, undefined],
  ])('of %j over %s is %j', (authority, scheme, value) => {
    const sent = scheme === undefined ? { authority } : { authority, scheme }
    expect(componentIn('@authority', sent)).toBe(value)
  })
})

describe('@path and @query', () => {
  test.each([
    ['', '/'],
    ['/', '/'],
    ['//a/../b;c=d/%2F', '//a/../b;c=d/%2F'],
    ['/~!$&\'()*+,;=:@-._"<>[]{}|^`\\', '/~!$&\'()*+,;=:@-._"<>[]{}|^`\\'],
    ['a', undefined],
    ['*', undefined],
    ['/a b', undefined],
    ['/a?b', undefined],
    ['/a#b', undefined],
    ['/a\n', undefined],
    ['/\x7f', undefined],
    ['/é', undefined],
  ])('path %j is %j', (path, value) => expect(componentIn('@path', { path })).toBe(value))

  test.each([
    ['', '?'],
    ['?', '?'],
    ['?a=1&a=%20+?/', '?a=1&a=%20+?/'],
    ['a=1', undefined],
    ['?a b', undefined],
    ['?a#b', undefined],
    ['?a\r', undefined],
    ['?é', undefined],
  ])('query %j is %j', (query, value) => expect(componentIn('@query', { query })).toBe(value))
})

describe('@scheme and @target-uri', () => {
  test('have a value where the scheme is known', () => {
    expect(componentIn('@scheme', { scheme: 'http' })).toBe('http')
    expect(componentIn('@target-uri', { scheme: 'https', authority: 'SHOP.example:443' })).toBe(
      'https://shop.example/orders/7?a=1&b=2',
    )
    expect(componentIn('@target-uri', { scheme: 'https', path: '', query: '' })).toBe('https://shop.example/')
    expect(componentIn('@target-uri', { scheme: 'https', path: '/', query: '?' })).toBe(
      'https://shop.example/?',
    )
  })
  test('have none where it is not, or where a part is malformed', () => {
    expect(componentIn('@scheme', {})).toBeUndefined()
    expect(componentIn('@target-uri', {})).toBeUndefined()
    for (const part of [{ authority: '' }, { path: 'a' }, { query: 'a' }])
      expect(componentIn('@target-uri', { scheme: 'https', ...part })).toBeUndefined()
  })
})

describe('a field', () => {
  const field = (...lines: string[]) => componentIn('x-a', { headers: { 'x-a': lines } })
  test.each<[string[], string | undefined]>([
    [['v'], 'v'],
    [[''], ''],
    [['  two  words \t'], 'two  words'],
    [[' a ', '', '\tb'], 'a, , b'],
    [['a\r\n b'], 'a b'],
    [['a \t\n\t  b'], 'a b'],
    [['a\r\n\tb\n c'], 'a b c'],
    [['tab\there'], 'tab\there'],
    [['a\nb'], undefined],
    [['a\n b\nc'], undefined],
    [['a\n'], undefined],
    [['\nb'], undefined],
    [['a\rb'], undefined],
    [['a\0'], undefined],
    [['\u00a0'], undefined],
    [['a\u2028'], undefined],
    [['é'], undefined],
    [['ok', 'a\nb'], undefined],
    [[], undefined],
  ])('of the lines %j is %j', (lines, value) => expect(field(...lines)).toBe(value))

  test('that is absent or wrongly named has no value', () => {
    for (const name of ['x-absent', 'X-A', 'x a', '', '@x-a', 'x-a"'])
      expect(
        componentIn(name, {
          headers: { 'x-a': 'v', 'X-A': 'v', '@x-a': 'v', '': 'v', 'x a': 'v', 'x-a"': 'v' },
        }),
      ).toBeUndefined()
  })
})
