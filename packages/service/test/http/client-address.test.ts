import { describe, expect, test } from 'vitest'
import { addressGroup, createClientAddress } from '../../src/http/client-address.ts'

describe('the address of a client', () => {
  test('is that of its connection, whatever it says of itself', () => {
    expect(createClientAddress([])('192.0.2.1', ['203.0.113.9'])).toBe('192.0.2.1')
    expect(createClientAddress(['10.0.0.0/8'])('192.0.2.1', ['203.0.113.9'])).toBe('192.0.2.1')
  })
  test('is what the last trusted proxy says', () => {
    const address = createClientAddress(['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'])
    expect(address('10.1.2.3', ['203.0.113.9'])).toBe('203.0.113.9')
    expect(address('::ffff:10.1.2.3', ['198.51.100.1, 203.0.113.9'])).toBe('203.0.113.9')
    expect(address('10.1.2.3', ['198.51.100.1', '203.0.113.9, 192.0.2.7'])).toBe('203.0.113.9')
    expect(address('2001:db8::5', ['2001:db9::1'])).toBe('2001:db9::1')
  })
  test('is never made up by the client in front of the proxies', () => {
    expect(createClientAddress(['10.0.0.1'])('10.0.0.1', ['10.0.0.1, 198.51.100.1'])).toBe('198.51.100.1')
  })
  test('stays that of the proxy when the proxy says nothing or nonsense', () => {
    const address = createClientAddress(['10.0.0.1'])
    expect(address('10.0.0.1', undefined)).toBe('10.0.0.1')
    expect(address('10.0.0.1', ['unknown'])).toBe('10.0.0.1')
    expect(address('10.0.0.1', ['198.51.100.1, "<script>"'])).toBe('10.0.0.1')
    expect(address(undefined, ['198.51.100.1'])).toBe('')
  })
  test('needs proxies that are addresses or ranges, and says which are not', () => {
    expect(() =>
      createClientAddress([
        '10.0.0.1',
        'proxy.example',
        '10.0.0.0/33',
        '::1/129',
        '1.2.3.4/a',
        '1.2.3.4/8/9',
      ]),
    ).toThrow('proxy.example, 10.0.0.0/33, ::1/129, 1.2.3.4/a, 1.2.3.4/8/9')
  })
})

test('IPv6 addresses are grouped by their network, however they are written', () => {
  expect(addressGroup('192.0.2.1')).toBe('192.0.2.1')
  for (const address of ['2001:db8::1', '2001:0DB8:0:0:ffff::', '2001:db8:0:0:1:2:3:4', '2001:db8::1%eth0'])
    expect(addressGroup(address)).toBe('2001:db8:0:0::/64')
  expect(addressGroup('::1')).toBe('0:0:0:0::/64')
})
