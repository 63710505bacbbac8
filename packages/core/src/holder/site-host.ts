import type { SiteId } from '../credential/ids.ts'

/**
 * Whether a holder proof for this authority (host and port) may be used at the site. `hosts` lists the authorities that the site has configured; without
 * such a list only the site's own name on a default port is valid. A site whose name is a loopback name accepts every loopback authority, for
 * development. The same rule applies in the service (forward-auth) and in the guards of the SDK.
 */
export function isSiteHost(authority: string, siteId: SiteId, hosts?: readonly string[]): boolean {
  const wanted = normalized(authority)
  if ((hosts ?? [siteId]).some((host) => normalized(host) === wanted)) return true
  return hosts === undefined && isLoopbackHost(siteId) && isLoopbackHost(wanted.replace(PORT, ''))
}

/** Whether the host of a URL is this machine, by name or address. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host)
}

const PORT = /:\d*$/
/** Without the scheme both count as default, as in the signature itself. */
const DEFAULT_PORT = /:(?:80|443)?$/
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:[a-z0-9-]+\.)*localhost)$/

function normalized(authority: string): string {
  return authority.toLowerCase().replace(DEFAULT_PORT, '')
}
