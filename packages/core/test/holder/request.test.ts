import { describe, expect, test } from 'vitest'
import { holderRequestFrom } from '../../src/holder/request.ts'

test('takes a web-standard request apart', () => {
  const headers = new Headers([
    ['X-A', '1'],
    ['x-a', '2'],
    ['x-empty', ''],
  ])
  const body = new Uint8Array([1])
  const { header, ...request } = holderRequestFrom(
    'POST',
    'https://Shop.example:8443/a%2Fb?c=d#e',
    headers,
    body,
  )
  expect(request).toEqual({
    method: 'POST',
    authority: 'shop.example:8443',
    scheme: 'https',
    path: '/a%2Fb',
    query: '?c=d',
    body,
  })
  expect([header('x-a'), header('x-empty'), header('x-absent')]).toEqual([['1, 2'], [''], undefined])
  expect(holderRequestFrom('GET', new URL('http://shop.example'), headers, 'none')).toMatchObject({
    scheme: 'http',
    path: '/',
    query: '',
  })
})

test.each(['/orders', 'ftp://shop.example/', 'shop.example:80'])('throws a TypeError for %s', (url) => {
  expect(() => holderRequestFrom('GET', url, new Headers(), 'none')).toThrow(TypeError)
})

describe('a URL that a parser would change', () => {
  const from = (url: string) => () => holderRequestFrom('GET', url, new Headers(), 'none')

  test.each([
    'https://shop.example/a/../b',
    'https://shop.example/a/%2e%2e/b',
    'https://shop.example/a\\b',
    'https://shop.example/a\tb',
    'https://shop.example/a b',
    'https://shop.example/a?q="x"',
  ])('is not taken: %j', (url) => {
    expect(from(url)).toThrow(TypeError)
  })

  test.each([
    ['https://shop.example', '/', ''],
    ['https://shop.example?a=1', '/', '?a=1'],
    ['https://shop.example/a?', '/a', ''],
    ['https://shop.example:8443/a%20b?x=%22#f', '/a%20b', '?x=%22'],
    ['http://[::1]:8787/x', '/x', ''],
  ])('is taken when it is plain: %s', (url, path, query) => {
    expect(from(url)()).toMatchObject({ path, query })
  })
})
