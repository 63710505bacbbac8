import { BlockList, isIP } from 'node:net'

/** The client's address: that of the connection, or the one that a trusted proxy reports. */
export type ClientAddress = (peer: string | undefined, forwardedFor: readonly string[] | undefined) => string

/**
 * Reads X-Forwarded-For from the right as long as the hop that wrote it is trusted, so a client
 * cannot claim another address. `trusted` holds addresses and CIDR ranges; throws a TypeError that
 * names every bad one.
 */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const list = new BlockList()
  const mistakes = trusted.filter((range) => !addRange(list, range))
  if (mistakes.length > 0) throw new TypeError(`not an address or a CIDR range: ${mistakes.join(', ')}`)
  const isTrusted = (address: string) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

  return (peer, forwardedFor) => {
    let address = toIpv4(peer ?? '')
    if (trusted.length === 0 || forwardedFor === undefined) return address
    const hops = forwardedFor.join(',').split(',')
    while (isIP(address) !== 0 && isTrusted(address)) {
      const hop = toIpv4((hops.pop() ?? '').trim())
      if (isIP(hop) === 0) return address
      address = hop
    }
    return address
  }
}

/** Turns an IPv4-mapped IPv6 address into IPv4. */
function toIpv4(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}

function addRange(list: BlockList, range: string): boolean {
  const [network = '', bits, ...rest] = range.split('/')
  const version = isIP(network)
  if (version === 0 || rest.length > 0) return false
  const family = version === 6 ? 'ipv6' : 'ipv4'
  if (bits === undefined) {
    list.addAddress(network, family)
    return true
  }
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > (version === 6 ? 128 : 32)) return false
  list.addSubnet(network, Number(bits), family)
  return true
}

/** The part of an address that one client cannot choose freely: all of IPv4, the /64 of IPv6. */
export function addressGroup(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.toLowerCase().split('%')[0]?.split('::') ?? []
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups =
    tail === undefined
      ? left
      : [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
