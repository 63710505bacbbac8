import { expect, test } from 'vitest'
import { holderRequestFrom } from '../../src/holder/request.ts'

test('takes a web-standard request apart', () => {
  const headers = new Headers([
    ['X-A', '1'],
    ['x-a', '2'],
    ['x-empty', ''],
  ])
  const body = new Uint8Array([1])
  const { header, ...request } = holderRequestFrom('POST', 'https://Shop.example:8443/a%2Fb?c=d#e', headers, body)
  expect(request).toEqual({ method: 'POST', authority: 'shop.example:8443', scheme: 'https', path: '/a%2Fb', query: '?c=d', body })
  expect([header('x-a'), header('x-empty'), header('x-absent')]).toEqual([['1, 2'], [''], undefined])
  expect(holderRequestFrom('GET', new URL('http://shop.example'), headers, 'none')).toMatchObject({ scheme: 'http', path: '/', query: '' })
})

test.each(['/orders', 'ftp://shop.example/', 'shop.example:80'])('throws a TypeError for %s', (url) => {
  expect(() => holderRequestFrom('GET', url, new Headers(), 'none')).toThrow(TypeError)
})
