import type { IncomingMessage } from 'node:http'

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i

/**
 * Turns the absolute form of a request target (RFC 9112 §3.2.2) into the origin form, the only form
 * that the rest of the service sees. Returns false when the target names another host.
 */
export function toOriginForm(request: IncomingMessage, host: string): boolean {
  const { url = '' } = request
  if (url.startsWith('/')) return true
  const [, authority, rest = ''] = ABSOLUTE.exec(url) ?? []
  if (authority === undefined) return true
  if (authority.toLowerCase() !== host) return false
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  return true
}
