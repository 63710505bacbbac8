import { lookup as lookUp } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** Reserved IPv4 (IANA special-purpose registry), and internal addresses of cloud providers. */
const NOT_PUBLIC_V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const

/**
 * All of IPv6 except 2000::/3, the only public part. This excludes unique local, link-local,
 * multicast, mapped (::ffff:0:0/96) and translated (64:ff9b::/96, 64:ff9b:1::/48) addresses. Within
 * 2000::/3: protocol assignments with Teredo and ORCHID, documentation, and 6to4, which contains
 * IPv4 addresses.
 */
const PUBLIC_V6 = [['2000::', 3]] as const
const NOT_PUBLIC_V6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const

const notPublicV4 = toBlockList(NOT_PUBLIC_V4, 'ipv4')
const publicV6 = toBlockList(PUBLIC_V6, 'ipv6')
const notPublicV6 = toBlockList(NOT_PUBLIC_V6, 'ipv6')
const loopbackV4 = toBlockList([['127.0.0.0', 8]], 'ipv4')

/**
 * Whether an address without brackets is on the public Internet. False for text that is not an
 * address.
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%')) return false
  const family = isIP(address)
  if (family === 4) return !notPublicV4.check(address, 'ipv4')
  return family === 6 && publicV6.check(address, 'ipv6') && !notPublicV6.check(address, 'ipv6')
}

/** Whether an address is on this machine: 127.0.0.0/8 or ::1. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address)
  return family === 4 ? loopbackV4.check(address, 'ipv4') : family === 6 && /^[0:]+:0*1$/.test(address)
}

/** Thrown, and passed to callbacks, before any packet is sent. */
export class AddressForbidden extends Error {
  override readonly name = 'AddressForbidden'
}

/**
 * A `lookup` for sockets that rejects a name when any of its addresses is not allowed. The socket
 * connects to the address that was checked, so a name that resolves differently the next time (DNS
 * rebinding) gains nothing. A socket does not call it for a host that is an address: check that
 * beforehand.
 */
export function createGuardedLookup(
  isAllowed: (address: string) => boolean,
  resolve: typeof lookUp = lookUp,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0)
      const [first] = addresses
      if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
        return callback(new AddressForbidden('the name resolves to an address that is not allowed'), '', 0)
      }
      if (options.all === true) callback(null, addresses as never, 0)
      else callback(null, first.address, first.family)
    })
  }
}

function toBlockList(ranges: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, bits] of ranges) list.addSubnet(network, bits, family)
  return list
}
