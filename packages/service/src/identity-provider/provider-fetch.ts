import { isLoopback } from '@countersign/core/contract'
import { guardedRequest, type RequestRules } from '../net/guarded-request.ts'

/** What `openid-client` passes to its `fetch`. */
interface Sent {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

export type ProviderFetch = (url: string, sent: Sent) => Promise<Response>

/** No answer of a provider needs more. */
const BYTES_MAX = 64 * 1024
const TIMEOUT_MS = 5000
/** The headers of an answer that its readers look at. */
const READ_HEADERS = ['content-type', 'www-authenticate'] as const

/** The provider has sent something that is not read: too large, compressed or cut off. */
class AnswerUnreadable extends Error {
  override readonly name = 'AnswerUnreadable'
}

/**
 * Requests to the identity provider. The operator has chosen its host, so that host may have any
 * port and any address, also in a private network. Its metadata can name other hosts; these must be
 * public, as for all hosts that other parties choose. Follows no redirects, and gives up after 5 s
 * or 64 KiB.
 */
export function createProviderFetch(
  issuer: string,
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
): ProviderFetch {
  const home = new URL(issuer)
  const toRules = (url: URL): RequestRules => {
    const allowLoopback = isLoopback(home)
    if (url.hostname !== home.hostname) return { allowLoopback }
    return { allowLoopback, isPublic: () => true, portsAllowed: [Number(url.port || 443)] }
  }
  return async (address, { method, headers, body, signal }) => {
    const url = new URL(address)
    const limit = AbortSignal.timeout(timeoutMs)
    const request = {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: { ...headers, 'accept-encoding': 'identity', 'user-agent': 'countersign' },
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      ...(body === undefined || body === null ? {} : { body: String(body) }),
    } as const
    const answer = await guardedRequest(url, request, toRules(url))
    const chunks: Buffer[] = []
    let bytes = 0
    try {
      if (!['identity', undefined].includes(answer.headers['content-encoding']))
        throw new AnswerUnreadable('the answer of the identity provider is compressed')
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        bytes += chunk.length
        if (bytes > BYTES_MAX)
          throw new AnswerUnreadable('the answer of the identity provider is larger than 64 KiB')
        chunks.push(chunk)
      }
    } finally {
      answer.destroy()
    }
    if (!answer.complete) throw new AnswerUnreadable('the answer of the identity provider was cut off')
    const status = answer.statusCode ?? 0
    const isEmpty = [204, 205, 304].includes(status)
    return new Response(isEmpty ? null : Buffer.concat(chunks), {
      status,
      headers: READ_HEADERS.flatMap((name): [string, string][] => {
        const value = answer.headers[name]
        return value === undefined ? [] : [[name, value]]
      }),
    })
  }
}
