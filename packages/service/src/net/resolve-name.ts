import { type LookupAddress, type lookup as lookUp, Resolver } from 'node:dns'

type Answer = (fault: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** For tests, which have their own name server. */
interface NameServers {
  readonly servers?: readonly string[]
  readonly timeoutMs?: number
  readonly tries?: number
}

/** RFC 6761 §6.3: these names always resolve to this machine. */
const OF_THIS_MACHINE = /^(?:.+\.)?localhost$/
const THIS_MACHINE: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Resolves all addresses of a name through the name servers of this machine. The `dns.lookup` of
 * Node would block one of its few threads until the name server answers, and an attacker could run
 * a name server that never does.
 */
export function createNameResolver({
  servers,
  timeoutMs = 2500,
  tries = 2,
}: NameServers = {}): typeof lookUp {
  const resolve = (hostname: string, _options: object, callback: Answer): void => {
    if (OF_THIS_MACHINE.test(hostname)) {
      process.nextTick(callback, null, [...THIS_MACHINE])
      return
    }
    // A new resolver each time, because it reads the current name servers of the machine.
    const resolver = new Resolver({ timeout: timeoutMs, tries })
    if (servers !== undefined) resolver.setServers(servers)
    const found: LookupAddress[] = []
    let fault: NodeJS.ErrnoException | null = null
    let running = 2
    const collect =
      (family: 4 | 6) => (failed: NodeJS.ErrnoException | null, addresses: string[] | undefined) => {
        fault ??= failed
        for (const address of addresses ?? []) found.push({ address, family })
        if (--running > 0) return
        found.sort((a, b) => a.family - b.family)
        callback(found.length === 0 ? (fault ?? new Error('the name has no addresses')) : null, found)
      }
    resolver.resolve4(hostname, collect(4))
    resolver.resolve6(hostname, collect(6))
  }
  return resolve as unknown as typeof lookUp
}
