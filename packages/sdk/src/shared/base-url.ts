/**
 * Allows a `baseUrl` without TLS that is not on this machine, as `{ [PLAIN_HTTP]: true }`, for
 * networks that encrypt all traffic. An attacker on the network path can then grant access to
 * anyone. A symbol, so that neither JSON nor the environment can set it.
 */
export const PLAIN_HTTP: unique symbol = /* @__PURE__ */ Symbol('countersign.plainHttp')

export interface BaseUrlOptions {
  readonly [PLAIN_HTTP]?: true
}

/**
 * The address of a service without a slash at its end. Throws a TypeError for anything but https,
 * or http on loopback, without user name, query or fragment: keys and credentials are sent there.
 */
export function readBaseUrl(text: unknown, options: BaseUrlOptions = {}): string {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new TypeError('baseUrl must be an http or https URL')
  if (url.username !== '' || url.password !== '')
    throw new TypeError('baseUrl must not hold a user name or password')
  if (url.search !== '' || url.hash !== '') throw new TypeError('baseUrl must not have a query or fragment')
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && options[PLAIN_HTTP] !== true)
    throw new TypeError('baseUrl must be https; plain http is for loopback, or for [PLAIN_HTTP]')
  return url.href.replace(/\/+$/, '')
}

/**
 * The rule of the core's `isLoopbackHost`. The core is not imported here, so that the typed client
 * loads without it.
 */
function isLoopback(host: string): boolean {
  return /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:[a-z0-9-]+\.)*localhost)$/.test(host)
}
