/** What there is to know of a request to see where a redirect leads. */
interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: Uint8Array<ArrayBuffer> | undefined
}

export interface NextHop {
  readonly request: Asked
  /** Whether it leaves the origin that was asked. */
  readonly isElsewhere: boolean
}

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** WHATWG Fetch, "HTTP-redirect fetch" and "request-body-header names". */
const BODY_FIELDS = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
]
/** What the caller meant for the origin that was asked only. */
const PRIVATE_FIELDS = ['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'host']

/**
 * The request that a redirect asks for. Undefined when there is nothing to follow: no redirect, no
 * usable address, one with a user name in it, or one to elsewhere that would take a body or a
 * change along. Such an answer is for the caller to look at.
 */
export function nextHop(response: Response, asked: Asked): NextHop | undefined {
  const location = response.headers.get('location')
  if (!STATUSES.has(response.status) || location === null || !URL.canParse(location, asked.url))
    return undefined
  const url = new URL(location, asked.url)
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined
  url.hash = ''
  const isElsewhere = url.origin !== new URL(asked.url).origin
  const becomesGet =
    (response.status === 303 && asked.method !== 'GET' && asked.method !== 'HEAD') ||
    ((response.status === 301 || response.status === 302) && asked.method === 'POST')
  const method = becomesGet ? 'GET' : asked.method
  if (isElsewhere && method !== 'GET' && method !== 'HEAD') return undefined
  const headers = new Headers(asked.headers)
  for (const name of [...(becomesGet ? BODY_FIELDS : []), ...(isElsewhere ? PRIVATE_FIELDS : [])])
    headers.delete(name)
  return {
    request: { method, url: url.href, headers, body: becomesGet ? undefined : asked.body },
    isElsewhere,
  }
}
