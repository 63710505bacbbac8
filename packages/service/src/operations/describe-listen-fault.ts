import type { Config } from '../config.ts'

/** Ports below this one need a privilege on most systems. */
const UNPRIVILEGED_PORT_MIN = 1024

/**
 * Says why a server cannot listen, and what to do. Undefined for every other fault, and for one
 * whose message says it already.
 */
export function describeListenFault(
  fault: unknown,
  { host, adminHost }: Pick<Config, 'host' | 'adminHost'>,
): string | undefined {
  if (!(fault instanceof Error)) return undefined
  const { code, port, address, hostname } = fault as ListenFault
  const wrong = findSettings(address ?? hostname, { host, admin_host: adminHost })
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} is taken; choose another (--port, --admin-port), or stop the process that has it`
    case 'EACCES':
      if (port === undefined) return undefined
      return port < UNPRIVILEGED_PORT_MIN
        ? `This user may not use port ${port}. Choose a port from ${UNPRIVILEGED_PORT_MIN} on (--port, --admin-port).`
        : `This user may not use port ${port}. Choose another one (--port, --admin-port).`
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
      return address && `This machine does not have the address ${address}. Correct ${wrong}.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return hostname && `The host name ${hostname} has no address here. Correct ${wrong}.`
    default:
      return undefined
  }
}

interface ListenFault extends NodeJS.ErrnoException {
  readonly port?: number
  readonly address?: string
  /** Of a name that cannot be resolved. */
  readonly hostname?: string
}

/** `host`, `admin_host`, or both: the settings with this value. */
function findSettings(value: string | undefined, settings: Readonly<Record<string, string>>): string {
  const found = Object.entries(settings).flatMap(([name, each]) => (each === value ? [name] : []))
  return (found.length > 0 ? found : Object.keys(settings)).join(' and ')
}
