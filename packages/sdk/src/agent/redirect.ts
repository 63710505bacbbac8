/** The parts of a request that a redirect depends on. */
interface SentRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: Uint8Array<ArrayBuffer> | undefined
}

export interface NextHop {
  readonly request: SentRequest
  /** Whether the redirect leads to another origin. */
  readonly isOtherOrigin: boolean
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
/** Fields that the caller meant for the first origin only. */
const PRIVATE_FIELDS = ['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'host']

/**
 * The request that a redirect asks for. Undefined when the caller gets the response as it is: it is
 * not a redirect, its address is not usable or has a user name, or it leads to another origin with
 * another method than GET or HEAD.
 */
export function nextHop(response: Response, sent: SentRequest): NextHop | undefined {
  const location = response.headers.get('location')
  if (!STATUSES.has(response.status) || location === null || !URL.canParse(location, sent.url))
    return undefined
  const url = new URL(location, sent.url)
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined
  url.hash = ''
  const isOtherOrigin = url.origin !== new URL(sent.url).origin
  const becomesGet =
    (response.status === 303 && sent.method !== 'GET' && sent.method !== 'HEAD') ||
    ((response.status === 301 || response.status === 302) && sent.method === 'POST')
  const method = becomesGet ? 'GET' : sent.method
  if (isOtherOrigin && method !== 'GET' && method !== 'HEAD') return undefined
  const headers = new Headers(sent.headers)
  for (const name of [...(becomesGet ? BODY_FIELDS : []), ...(isOtherOrigin ? PRIVATE_FIELDS : [])])
    headers.delete(name)
  return {
    request: { method, url: url.href, headers, body: becomesGet ? undefined : sent.body },
    isOtherOrigin,
  }
}
