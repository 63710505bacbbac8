/**
 * The parts of an HTTP request that a holder signs, as the client sent them. Nothing in it may be
 * decoded or tidied up.
 */
export interface HolderRequest {
  readonly method: string
  /** Host and port as the client addressed them. */
  readonly authority: string
  /**
   * The scheme that the client used. Leave it out when TLS may end in front of you: then the ports
   * 80 and 443 both count as default, and `@scheme` and `@target-uri` cannot be covered.
   */
  readonly scheme?: 'http' | 'https'
  /** Raw, undecoded path. */
  readonly path: string
  /** '' or '?…', raw. */
  readonly query: string
  /** Every field line of that lower-case name, in order; undefined when absent. */
  readonly header: (name: string) => readonly string[] | undefined
  /**
   * The body as received; 'none' when there is none; 'unseen' when this verifier is not given the
   * body (forward-auth). No bytes at all count as none.
   */
  readonly body: Uint8Array | 'none' | 'unseen'
}

/**
 * A `HolderRequest` from the parts of a web-standard `Request`. The URL must be the one that the
 * client used, not that of an inner hop. Throws a TypeError for a URL that is not absolute http or
 * https, or that a URL parser would change.
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
  // A server that routes by the text that was sent must not see another path than the one that was
  // signed.
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

/** Path and query of an absolute URL as they are written. */
const AFTER_AUTHORITY = /^[a-z]+:\/\/[^/?#\\]+([^?#]*)(\?[^#]*)?/i
