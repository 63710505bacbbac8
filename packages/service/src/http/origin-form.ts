import type { IncomingMessage } from 'node:http'

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i

/**
 * Turns the absolute form of a request target (RFC 9112 §3.2.2) into the origin form, so that
 * everything behind sees one spelling of a path. False, and nothing is changed, when it names
 * another host than this service's.
 */
export function toOriginForm(request: IncomingMessage, host: string): boolean {
  const [, authority, rest = ''] = ABSOLUTE.exec(request.url ?? '') ?? []
  if (authority === undefined) return true
  if (authority.toLowerCase() !== host) return false
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  return true
}
