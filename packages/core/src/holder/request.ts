/**
 * The parts of an HTTP request that a holder signs, exactly as the client sent them: not decoded
 * and not normalized.
 */
export interface HolderRequest {
  readonly method: string
  /** Host and port from the client. */
  readonly authority: string
  /**
   * The scheme that the client used. Leave it out if a proxy in front of you may terminate TLS:
   * then both 80 and 443 are default ports, and `@scheme` and `@target-uri` cannot be covered.
   */
  readonly scheme?: 'http' | 'https'
  /** Raw, undecoded path. */
  readonly path: string
  /** '' or '?…', raw. */
  readonly query: string
  /** All field lines of a lower-case name, in order; undefined if absent. */
  readonly header: (name: string) => readonly string[] | undefined
  /**
   * The body as received. 'none': the request has no body, which is the same as an empty one.
   * 'unseen': this verifier does not get the body (forward-auth).
   */
  readonly body: Uint8Array | 'none' | 'unseen'
}

/**
 * Creates a `HolderRequest` from the parts of a web-standard `Request`. `url` must be the URL that
 * the client used, not that of an internal hop. Throws a TypeError if it is not an absolute http or
 * https URL, or if a URL parser would change it.
 */
export function holderRequestFrom(
  method: string,
  url: string | URL,
  headers: { get(name: string): string | null },
  body: Uint8Array | 'none' | 'unseen',
): HolderRequest {
  const { protocol, host, pathname, search } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new TypeError('only http and https requests can be signed')
  // A server that routes by the raw URL must not see another path than the signed one.
  const [, rawPath = '', rawQuery = ''] =
    typeof url === 'string' ? (AFTER_AUTHORITY.exec(url) ?? []) : ['', pathname, search]
  if ((rawPath || '/') !== pathname || (rawQuery === '?' ? '' : rawQuery) !== search) {
    throw new TypeError(
      'give the URL in its plain form, without dot segments, backslashes, blanks or control characters',
    )
  }
  return {
    method,
    authority: host,
    scheme: protocol === 'https:' ? 'https' : 'http',
    path: pathname,
    query: search,
    header: (name) => {
      const value = headers.get(name)
      return value === null ? undefined : [value]
    },
    body,
  }
}

/** Path and query of an absolute URL, as written. */
const AFTER_AUTHORITY = /^[a-z]+:\/\/[^/?#\\]+([^?#]*)(\?[^#]*)?/i
