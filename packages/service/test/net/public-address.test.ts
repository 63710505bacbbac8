import type { LookupAddress, lookup } from 'node:dns'
import { describe, expect, it } from 'vitest'
import {
  AddressForbidden,
  createGuardedLookup,
  isLoopbackAddress,
  isPublicAddress,
} from '../../src/net/public-address.ts'

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '191.255.255.255',
  '192.0.1.1',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:82a::200e',
  '2001:4860:4860::8888',
  '2003::1',
  '3ffe::1',
] // prettier-ignore

const NOT_PUBLIC = {
  'this network': ['0.0.0.0', '0.1.2.3', '0.255.255.255'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'carrier-grade NAT': ['100.64.0.1', '100.100.100.200', '100.127.255.255'],
  loopback: ['127.0.0.1', '127.1.2.3', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1'],
  'link-local and cloud metadata': [
    '169.254.0.1',
    '169.254.169.254',
    '169.254.170.2',
    'fe80::1',
    'febf::1',
    'fd00:ec2::254',
    '168.63.129.16',
    '192.0.0.192',
  ],
  'protocol assignments and relays': ['192.0.0.1', '192.88.99.1', '2001::1', '2001:1ff:ffff::1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1', '3fff:fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  reserved: ['240.0.0.1', '255.255.255.255', '4000::1', '8000::1', '5f00::1'],
  unspecified: ['::', '::0.0.0.0'],
  'unique local': ['fc00::1', 'fd12:3456::1', 'fdff:ffff::1'],
  'site-local': ['fec0::1'],
  'IPv4 in IPv6, mapped or compatible': [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
  ],
  'IPv4 in IPv6, NAT64': ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b::808:808', '64:ff9b:1::1'],
  'IPv4 in IPv6, 6to4': ['2002:7f00:1::1', '2002:a9fe:a9fe::1', '2002:808:808::1'],
  'IPv4 in IPv6, Teredo': ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:0:7f00:1::'],
  'ORCHID, discard-only': ['2001:10::1', '2001:20::1', '100::1'],
  'with a zone': ['fe80::1%eth0', '2606:4700:4700::1111%eth0'],
  'not an address': [
    '',
    'localhost',
    '127.1',
    '0x7f.1',
    '2130706433',
    '0177.0.0.1',
    '1.2.3.4.5',
    '1.2.3',
    '[::1]',
    '①②⑦.0.0.1',
    '127.0.0.1 ',
    '::g',
  ],
}

describe('isPublicAddress', () => {
  it.each(PUBLIC)('takes %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
  for (const [kind, addresses] of Object.entries(NOT_PUBLIC)) {
    it.each(addresses)(`A200: refuses ${kind}: %s`, (address) => {
      expect(isPublicAddress(address)).toBe(false)
    })
  }
})

describe('isLoopbackAddress', () => {
  it.each(['127.0.0.1', '127.8.8.8', '::1', '0:0:0:0:0:0:0:1'])('takes %s', (address) =>
    expect(isLoopbackAddress(address)).toBe(true),
  )
  it.each(['128.0.0.1', '::', '::2', '1::1', '::ffff:127.0.0.1', '10.0.0.1', 'localhost', ''])(
    'refuses %s',
    (address) => expect(isLoopbackAddress(address)).toBe(false),
  )
})

function resolverOf(addresses: readonly string[] | Error): typeof lookup {
  return ((
    _name: string,
    _options: object,
    callback: (error: Error | null, found: LookupAddress[]) => void,
  ) => {
    if (addresses instanceof Error) return callback(addresses, [])
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }) as unknown as typeof lookup
}

const ask = (addresses: readonly string[] | Error, options: { all?: boolean } = {}) =>
  new Promise((resolve, reject) => {
    createGuardedLookup(isPublicAddress, resolverOf(addresses))(
      'host.test',
      options,
      (error, address, family) =>
        error ? reject(error) : resolve(options.all ? address : { address, family }),
    )
  })

describe('createGuardedLookup', () => {
  it('gives the first address, or all of them', async () => {
    expect(await ask(['8.8.8.8', '1.1.1.1'])).toEqual({ address: '8.8.8.8', family: 4 })
    expect(await ask(['8.8.8.8', '2606:4700:4700::1111'], { all: true })).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700:4700::1111', family: 6 },
    ])
  })

  it.each([
    [['127.0.0.1']],
    [['8.8.8.8', '127.0.0.1']],
    [['127.0.0.1', '8.8.8.8']],
    [['8.8.8.8', '::1']],
    [[]],
  ])('refuses the name when it leads to %j', async (addresses) => {
    await expect(ask(addresses)).rejects.toThrow(AddressForbidden)
    await expect(ask(addresses, { all: true })).rejects.toThrow(AddressForbidden)
  })

  it('passes on that a name is not known', async () => {
    await expect(ask(new Error('ENOTFOUND'))).rejects.toThrow('ENOTFOUND')
  })
})
