import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { type ConnectionOptions, checkServerIdentity } from 'node:tls'

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

/** A database URL for the driver, and how it secures connections. */
export interface TlsOptions {
  readonly url: string
  /** Undefined: as the driver decides. */
  readonly ssl?: ConnectionOptions | 'allow' | 'prefer' | 'require' | false
}

const read = new Map<string, TlsOptions>()

/**
 * Reads `sslmode` and `sslrootcert` of a database URL, with the meaning that libpq gives them. The
 * driver knows no root certificates, and compares a certificate with `localhost` when the host is
 * an address. Reads files once for each URL. Throws for a mode that does not exist and for a file
 * that cannot be read.
 */
export function readTls(url: string): TlsOptions {
  const known = read.get(url)
  if (known !== undefined) return known
  const [address = '', query = ''] = url.split(/\?(.*)/s)
  const parameters = new URLSearchParams(query)
  const mode = parameters.get('sslmode') ?? undefined
  const rootFile = parameters.get('sslrootcert') ?? undefined
  if (mode === undefined && rootFile === undefined) return { url }
  parameters.delete('sslmode')
  parameters.delete('sslrootcert')
  const options = {
    url: parameters.size === 0 ? address : `${address}?${parameters}`,
    ssl: toSsl(mode, rootFile, readHosts(address)),
  }
  read.set(url, options)
  return options
}

const LOOPBACK = /^(?:$|localhost$|127\.|::1$|.*%2f)/i

/**
 * The first host of a database URL that is another machine, and is connected to in clear text, or
 * would be if it asked for that.
 */
export function findUnsecuredHost(url: string): string | undefined {
  const [address = '', query = ''] = url.split(/\?(.*)/s)
  const mode = new URLSearchParams(query).get('sslmode') ?? ''
  if (/^(?:require|verify-)/.test(mode)) return undefined
  return readHosts(address).find((host) => !LOOPBACK.test(host))
}

function toSsl(
  mode: string | undefined,
  rootFile: string | undefined,
  hosts: readonly string[],
): NonNullable<TlsOptions['ssl']> {
  const found = MODES.find((each) => each === mode)
  if (mode !== undefined && found === undefined)
    throw new Error(`database_url: sslmode must be ${MODES.slice(0, -1).join(', ')} or ${MODES.at(-1)}`)
  switch (found) {
    case 'verify-full':
      return {
        ...readRoot(rootFile),
        checkServerIdentity(name, certificate) {
          // For an address, Node passes another name.
          const names = hosts.includes(name) ? [name] : hosts.filter((host) => isIP(host) !== 0)
          const faults = names.map((each) => checkServerIdentity(each, certificate))
          if (faults.includes(undefined)) return undefined
          return faults[0] ?? checkServerIdentity(name, certificate)
        },
      }
    case 'verify-ca':
      return { ...readRoot(rootFile), checkServerIdentity: () => undefined }
    case 'require':
      return rootFile === undefined ? found : { ...readRoot(rootFile), checkServerIdentity: () => undefined }
  }
  if (rootFile !== undefined)
    throw new Error('database_url: sslrootcert needs sslmode=verify-full, verify-ca or require')
  return found === undefined || found === 'disable' ? false : found
}

/** `system`: the certificates that Node trusts. */
function readRoot(file: string | undefined): Pick<ConnectionOptions, 'ca'> {
  if (file === undefined || file === 'system') return {}
  try {
    return { ca: readFileSync(file, 'utf8') }
  } catch (fault) {
    const code = fault instanceof Error && 'code' in fault ? fault.code : fault
    throw new Error(`database_url: sslrootcert: ${file} cannot be read (${code})`, { cause: fault })
  }
}

/** A URL may name several hosts, separated by commas. */
function readHosts(address: string): readonly string[] {
  const [, hosts = ''] = /^[a-z]+:\/\/(?:[^/]*@)?([^/]*)/.exec(address) ?? []
  return hosts.split(',').map((host) => host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1'))
}
