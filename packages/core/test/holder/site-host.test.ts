import { describe, expect, test } from 'vitest'
import type { SiteId } from '../../src/credential/ids.ts'
import { isSiteHost, parseSiteHost } from '../../src/holder/site-host.ts'

const SHOP = 'shop.example' as SiteId
const LOCAL = 'demo.localhost' as SiteId
const LOOPBACK = [
  'localhost',
  'localhost:3000',
  'demo.localhost:8787',
  'x.y.localhost',
  '127.0.0.1:4444',
  '127.8.8.8',
  '[::1]:3000',
]

describe('S8: the host of a holder proof', () => {
  test.each(['shop.example', 'SHOP.example', 'shop.example:443', 'shop.example:80', 'shop.example:'])(
    '%s is that of the site',
    (host) => {
      expect(isSiteHost(host, SHOP)).toBe(true)
    },
  )

  test.each([
    '',
    'evil.shop.example',
    'shop.example:8443',
    'shop.example.',
    'notshop.example',
    'shop.example.evil.example',
    ...LOOPBACK,
  ])('%j is not', (host) => {
    expect(isSiteHost(host, SHOP)).toBe(false)
  })

  test.each(LOOPBACK)('%s is one of a loopback site, unless that lists its hosts', (host) => {
    expect(isSiteHost(host, LOCAL)).toBe(true)
    expect(isSiteHost(host, '127.0.0.1' as SiteId)).toBe(true)
    expect(isSiteHost(host, LOCAL, ['demo.localhost'])).toBe(false)
    expect(isSiteHost('evil.example', LOCAL)).toBe(false)
    expect(isSiteHost('localhost.evil.example', LOCAL)).toBe(false)
  })

  test('is one of the list, where the site has one, port for port', () => {
    const hosts = ['api.shop.example', 'shop.example:8443']
    expect(
      ['api.shop.example:443', 'API.shop.example', 'shop.example:8443'].map((host) =>
        isSiteHost(host, SHOP, hosts),
      ),
    ).toEqual([true, true, true])
    expect(
      ['shop.example', 'api.shop.example:8443', 'shop.example:84430'].map((host) =>
        isSiteHost(host, SHOP, hosts),
      ),
    ).toEqual([false, false, false])
    expect(isSiteHost('shop.example', SHOP, [])).toBe(false)
  })
})

test('a host of a site is a lower-case name with or without a port', () => {
  for (const host of ['shop.example', 'a', 'shop.example:1', 'shop.example:65535', '127.0.0.1:80'])
    expect(parseSiteHost(host)).toBe(host)
  for (const wrong of [
    '',
    ':80',
    'Shop.example',
    'shop.example:',
    'shop.example:0',
    'shop.example:65536',
    'shop.example:080',
    'a:1:2',
    '[::1]',
    'a/b',
    7,
  ])
    expect(parseSiteHost(wrong)).toBeUndefined()
})
