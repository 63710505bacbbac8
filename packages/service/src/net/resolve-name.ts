import { type LookupAddress, type lookup as lookUp, Resolver } from 'node:dns'

type Answer = (fault: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** For tests, which have a name server of their own. */
interface NameServers {
  readonly servers?: readonly string[]
  readonly timeoutMs?: number
  readonly tries?: number
}

/** RFC 6761 §6.3: these lead to this machine, whatever a name server says. */
const OF_THIS_MACHINE = /^(?:.+\.)?localhost$/
const THIS_MACHINE: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Asks the name servers of this machine for all addresses of a name, as a socket's `lookup` does.
 * The system's own look-up would hold one of the few threads of the process for as long as a name
 * server keeps silent, and the name may belong to an attacker who runs such a server on purpose.
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
    // A new one each time: it reads again which name servers the machine has.
    const resolver = new Resolver({ timeout: timeoutMs, tries })
    if (servers !== undefined) resolver.setServers(servers)
    const found: LookupAddress[] = []
    let fault: NodeJS.ErrnoException | null = null
    let running = 2
    const take =
      (family: 4 | 6) => (failed: NodeJS.ErrnoException | null, addresses: string[] | undefined) => {
        fault ??= failed
        for (const address of addresses ?? []) found.push({ address, family })
        if (--running > 0) return
        found.sort((a, b) => a.family - b.family)
        callback(found.length === 0 ? (fault ?? new Error('the name has no addresses')) : null, found)
      }
    resolver.resolve4(hostname, take(4))
    resolver.resolve6(hostname, take(6))
  }
  return resolve as unknown as typeof lookUp
}
