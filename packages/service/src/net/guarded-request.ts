import type { lookup as lookUp } from 'node:dns'
import { type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { isLoopback } from '@countersign/core/contract'
import {
  AddressForbidden,
  createGuardedLookup,
  isLoopbackAddress,
  isPublicAddress,
} from './public-address.ts'
import { createNameResolver } from './resolve-name.ts'

/** Where requests of this service may go when another party has named the address. */
export interface OutwardRules {
  /** For development: this machine is asked too, by http and on any port. */
  readonly allowLoopback: boolean
  // The rest is for tests, which have no public addresses of their own.
  readonly resolve?: typeof lookUp
  readonly ca?: string
  readonly isPublic?: (address: string) => boolean
  readonly portsAllowed?: readonly number[]
}

/** On other ports our requests would be a port scan by order of a site administrator. */
const PORTS_ALLOWED = [443, 8443]

/**
 * Whether a URL may be asked, as far as its spelling tells. Where its name leads is seen when the
 * connection is made.
 */
export function mayBeAsked(url: URL, rules: OutwardRules): boolean {
  const { isPublic = isPublicAddress, portsAllowed = PORTS_ALLOWED } = rules
  if (isLoopback(url)) return rules.allowLoopback && /^https?:$/.test(url.protocol)
  if (
    url.protocol !== 'https:' ||
    !portsAllowed.includes(Number(url.port || 443)) ||
    url.username !== '' ||
    url.password !== ''
  )
    return false
  const address = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(address) === 0 || isPublic(address)
}

export interface OutwardRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: OutgoingHttpHeaders
  readonly body?: string
  /** Ends all of it, the answer included. */
  readonly signal: AbortSignal
}

/**
 * Asks a public address, over a connection of its own, and gives the answer as soon as its head is
 * there; how much of the rest is read is for the caller. The address is checked where the
 * connection is made, for every address of the name. Follows no redirect. Rejects with an
 * `AddressForbidden` before a single packet was sent, or with whatever went wrong.
 */
export function guardedRequest(
  url: URL,
  { method, headers, body, signal }: OutwardRequest,
  rules: OutwardRules,
): Promise<IncomingMessage> {
  if (!mayBeAsked(url, rules)) return Promise.reject(new AddressForbidden('this URL may not be asked'))
  const isHere = isLoopback(url)
  const { isPublic = isPublicAddress, resolve = createNameResolver(), ca } = rules
  const lookup = createGuardedLookup(isHere ? isLoopbackAddress : isPublic, resolve)
  const answered = Promise.withResolvers<IncomingMessage>()
  const ask = url.protocol === 'http:' ? requestHttp : requestHttps
  const request = ask(url, {
    method,
    headers,
    lookup,
    agent: false,
    signal,
    ...(ca === undefined ? {} : { ca }),
  })
  request.on('error', answered.reject)
  // The socket is ours then, and no other code listens to its errors.
  request.on('upgrade', (_answer, socket) => {
    socket.on('error', () => {}).destroy()
    answered.reject(new Error('the host wants to switch protocols'))
  })
  request.on('response', (answer) => {
    answer.on('error', () => {}) // The reader of the body hears of it all the same.
    answered.resolve(answer)
  })
  request.end(body)
  return answered.promise
}
