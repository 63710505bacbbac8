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

/** Where this service may send requests when another party has chosen the address. */
export interface RequestRules {
  /** For development: also allows this machine, over http and on any port. */
  readonly allowLoopback: boolean
  // The rest is for tests, which have no public addresses of their own.
  readonly resolve?: typeof lookUp
  readonly ca?: string
  readonly isPublic?: (address: string) => boolean
  readonly portsAllowed?: readonly number[]
}

/** With other ports, the administrator of a site could use this service as a port scanner. */
const PORTS_ALLOWED = [443, 8443]

/** Whether a URL may be requested, by its text. The address is checked when connecting. */
export function isAllowedUrl(url: URL, rules: RequestRules): boolean {
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
  /** Ends the request and its response. */
  readonly signal: AbortSignal
}

/**
 * Sends a request to a public address over a new connection. Resolves when the head of the response
 * has arrived; the caller reads as much of the body as it needs. Every address of the name is
 * checked when the connection is made. Follows no redirects. Rejects with an `AddressForbidden`
 * before any packet is sent, or with the error of the request.
 */
export function guardedRequest(
  url: URL,
  { method, headers, body, signal }: OutwardRequest,
  rules: RequestRules,
): Promise<IncomingMessage> {
  if (!isAllowedUrl(url, rules)) return Promise.reject(new AddressForbidden('this URL is not allowed'))
  const isHere = isLoopback(url)
  const { isPublic = isPublicAddress, resolve = createNameResolver(), ca } = rules
  const lookup = createGuardedLookup(isHere ? isLoopbackAddress : isPublic, resolve)
  const answered = Promise.withResolvers<IncomingMessage>()
  const ask = url.protocol === 'http:' ? requestHttp : requestHttps
  const request = ask(url, { method, headers, lookup, agent: false, signal, ca })
  request.on('error', answered.reject)
  // This code owns the socket then, and no other code listens to its errors.
  request.on('upgrade', (_answer, socket) => {
    socket.on('error', () => {}).destroy()
    answered.reject(new Error('the host wants to switch protocols'))
  })
  request.on('response', (answer) => {
    answer.on('error', () => {}) // The reader of the body receives the error too.
    answered.resolve(answer)
  })
  request.end(body)
  return answered.promise
}
