import { parseSiteId, type SiteId } from '../credential/ids.ts'

/**
 * Whether a holder proof for this authority (host and port) may be used at the site. `hosts` lists
 * the authorities that the site has configured; without such a list only the site's own name on a
 * default port is valid. A site whose name is a loopback name accepts every loopback authority, for
 * development. The same rule applies in the service (forward-auth) and in the guards of the SDK.
 */
export function isSiteHost(authority: string, siteId: SiteId, hosts?: readonly string[]): boolean {
  const wanted = normalizeHost(authority)
  if ((hosts ?? [siteId]).some((host) => normalizeHost(host) === wanted)) return true
  return hosts === undefined && isLoopbackHost(siteId) && isLoopbackHost(wanted.replace(PORT, ''))
}

/**
 * Undefined unless the value is a lower-case host name with an optional port: `shop.example`,
 * `api.shop.example:8443`.
 */
export function parseSiteHost(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > HOST_CHARS_MAX) return undefined
  const [name, port, more] = value.split(':')
  const isPort = port === undefined || (PORT_NUMBER.test(port) && Number(port) <= PORT_MAX)
  return parseSiteId(name) !== undefined && isPort && more === undefined ? value : undefined
}

/** Whether the host of a URL is a loopback name or address. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host)
}

const PORT = /:\d*$/
const PORT_NUMBER = /^[1-9]\d{0,4}$/
const PORT_MAX = 65_535
const HOST_CHARS_MAX = 253
/** Both ports are default ports without a scheme, as in the signature. */
const DEFAULT_PORT = /:(?:80|443)?$/
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:[a-z0-9_-]+\.)*localhost)$/

function normalizeHost(authority: string): string {
  return authority.toLowerCase().replace(DEFAULT_PORT, '')
}
