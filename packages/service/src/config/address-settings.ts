import { isLoopback } from '@countersign/core/contract'
import { createClientAddress } from '../http/client-address.ts'
import type { SettingReader } from './setting-reader.ts'

/** Where a node listens, and the addresses under which clients and browsers reach it. */
export interface Addresses {
  readonly host: string
  readonly port: number
  readonly adminHost: string
  /** Undefined: there is no admin listener. */
  readonly adminPort: number | undefined
  readonly baseUrl: string
  /** Undefined: the console is at the base URL. */
  readonly consoleUrl: string | undefined
}

const LOOPBACK = '127.0.0.1'
const PORT_MAX = 65_535

export function readAddresses(
  settings: SettingReader,
  mode: 'development' | 'production',
  workers: number,
): Addresses {
  const port = settings.integer('port', 8787, 0, PORT_MAX)
  const host = readHost(settings, 'host')
  const adminHost = readHost(settings, 'admin_host')
  const adminPort = readAdminPort(settings, port, workers)
  const baseUrl = settings.value(
    'base_url',
    `http://127.0.0.1:${port}`,
    parseOrigin,
    'an origin such as https://id.example, without a path',
  )
  const consoleUrl = settings.value(
    'console_url',
    baseUrl,
    parseConsoleUrl,
    'an origin such as https://console.example, without a path; http is for loopback only',
  )
  if (mode === 'production') rejectInsecureBaseUrl(settings, baseUrl)
  else rejectPublicHosts(settings, { host, admin_host: adminHost })
  if (workers > 1 && port === 0)
    settings.report('workers above 1 need a fixed port: with port 0 each worker would get a different one')
  return {
    host,
    port,
    adminHost,
    adminPort,
    baseUrl,
    consoleUrl: consoleUrl === baseUrl ? undefined : consoleUrl,
  }
}

function readHost(settings: SettingReader, name: 'host' | 'admin_host'): string {
  const parse = (text: string) => (/^[0-9A-Za-z.:-]+$/.test(text) ? text : undefined)
  return settings.value(name, LOOPBACK, parse, 'an address or a host name')
}

/** By default the port after that of the service; undefined when it is `off`. */
function readAdminPort(settings: SettingReader, port: number, workers: number): number | undefined {
  const next = port === 0 ? 0 : Math.min(port + 1, PORT_MAX)
  const adminPort = settings.value<number | 'off'>('admin_port', next, parseAdminPort, 'a port, or off')
  if (adminPort === 'off') return undefined
  if (adminPort !== 0 && adminPort + workers - 1 > PORT_MAX)
    settings.report(`admin_port must leave room for ${workers} ports, one for each worker`)
  return adminPort
}

function parseAdminPort(text: string): number | 'off' | undefined {
  if (text === 'off') return text
  return /^\d{1,5}$/.test(text) && Number(text) <= PORT_MAX ? Number(text) : undefined
}

function rejectInsecureBaseUrl(settings: SettingReader, baseUrl: string): void {
  if (!settings.isSet('base_url'))
    settings.report('base_url must be set: the address under which clients reach the service')
  else if (baseUrl.startsWith('http:') && !isLoopback(new URL(baseUrl)))
    settings.report('base_url must be https, unless it is on loopback')
}

function rejectPublicHosts(settings: SettingReader, hosts: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(hosts)) {
    if ([LOOPBACK, '::1', 'localhost'].includes(value)) continue
    settings.report(`${name} must be on loopback in development; use the production start to serve others`)
  }
}

/** An origin without a path; a slash at its end is removed. */
function parseOrigin(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
  return text === url.origin || text === `${url.origin}/` ? url.origin : undefined
}

function parseConsoleUrl(text: string): string | undefined {
  const origin = parseOrigin(text)
  const isSafe = origin !== undefined && (origin.startsWith('https:') || isLoopback(new URL(origin)))
  return isSafe ? origin : undefined
}

/** The addresses of proxies whose X-Forwarded-For is trusted. */
export function readTrustedProxies(settings: SettingReader): readonly string[] {
  const wanted = 'addresses or CIDR ranges, separated by spaces'
  return settings.value('trusted_proxies', [], parseProxies, wanted)
}

function parseProxies(text: string): readonly string[] | undefined {
  const proxies = toWords(text)
  try {
    createClientAddress(proxies)
    return proxies
  } catch {
    return undefined
  }
}

/** The parts of a list that is separated by blanks or commas. */
export function toWords(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}
