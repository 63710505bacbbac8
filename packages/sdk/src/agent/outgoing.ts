import { CREDENTIAL_HEADER, isLoopbackHost } from '@countersign/core'
import { readBoundedBody } from '../shared/bounded-body.ts'

/** A request that can be sent several times. */
export interface Outgoing {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: Uint8Array<ArrayBuffer> | undefined
  readonly redirect: Request['redirect']
  /** The other options of the caller, for the runtimes that support them. */
  readonly rest: RequestInit
}

/** The origin of a request. */
export function toOrigin(input: string | URL | Request): string {
  const text = typeof input === 'string' || input instanceof URL ? input : input.url
  // In a browser, an address may be relative to the page.
  return new URL(text, (globalThis as { location?: { href: string } }).location?.href).origin
}

/**
 * Reads a request with its whole body. Throws a TypeError for a body that is too long, and for
 * header fields that agentFetch sets.
 */
export async function readOutgoing(
  input: string | URL | Request,
  init: RequestInit,
  bodyBytesMax: number,
): Promise<Outgoing> {
  const { method: _method, headers: _headers, body: _body, redirect: _redirect, ...rest } = init
  // `Request` knows the rules: methods, forbidden headers, the content type of a form.
  const request = new Request(input, init)
  requireNoOwnFields(request.headers)
  const body = request.body === null ? undefined : await readBoundedBody(request.body, bodyBytesMax)
  if (request.body !== null && body === undefined)
    throw new TypeError(`the body has more than ${bodyBytesMax} bytes (bodyBytesMax)`)
  const url = new URL(request.url)
  url.hash = ''
  return {
    method: request.method,
    url: url.href,
    headers: new Headers(request.headers),
    body,
    redirect: request.redirect,
    rest: { ...rest, signal: request.signal },
  }
}

/** The request as `fetch` takes it. Redirects are left to the caller. */
export function toRequestInit({ method, body, rest }: Outgoing, headers: Headers): RequestInit {
  return { ...rest, method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) }
}

function requireNoOwnFields(headers: Headers): void {
  for (const name of [CREDENTIAL_HEADER, 'signature', 'signature-input', 'content-digest']) {
    if (headers.has(name)) throw new TypeError(`leave ${name} out; agentFetch sets it`)
  }
  if (/^bearer\b/i.test(headers.get('authorization') ?? ''))
    throw new TypeError('leave out the bearer token; agentFetch presents the credential')
}

/** Throws a TypeError for anything but an origin: a path would look like a limit but not be one. */
export function readOrigins(
  given: string | readonly string[],
  isPlainHttpFine: boolean,
): ReadonlySet<string> {
  const all = typeof given === 'string' ? [given] : (given ?? [])
  if (all.length === 0) throw new TypeError('origins must name at least one origin')
  for (const text of all) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.origin !== text.replace(/\/$/, ''))
      throw new TypeError(
        `an origin is a scheme, a host and a port, such as https://shop.example; this is not one: ${text}`,
      )
    if (url.protocol === 'http:' && !isLoopbackHost(url.hostname) && !isPlainHttpFine)
      throw new TypeError(`credentials go to https; plain http is for loopback, or for [PLAIN_HTTP]: ${text}`)
  }
  return new Set(all.map((text) => new URL(text).origin))
}
