import type { ServerResponse } from 'node:http'
import type { RouteAnswer } from '../answer.ts'
import { acceptsPage } from '../pages/accepts-page.ts'
import { rememberLanguage, requestLanguage } from '../pages/request-language.ts'
import { toSignInUrl } from '../pages/sign-in-page.ts'
import { toWalletUrl } from '../pages/wallet-page.ts'
import type { AccessLog } from './access-log.ts'
import { hasLongBody } from './body.ts'
import type { RawRequest } from './raw-request.ts'
import type { MountedEndpoint, PageWanted, Reply, Responder } from './respond.ts'
import { sendStream } from './send-stream.ts'

export interface ServeDeps {
  readonly responder: Responder
  readonly accessLog: AccessLog
  /** The clock of `RawRequest.startedMs`. */
  readonly monotonicMs: () => number
  /** Whether connections are to be closed after their response. */
  readonly isClosing: () => boolean
}

/** Sends what `answer` returns, or the rejection of what it throws. Never rejects. */
export type Serve = (
  raw: RawRequest,
  endpoint: MountedEndpoint | undefined,
  response: ServerResponse,
  answer: () => RouteAnswer | Promise<RouteAnswer>,
) => Promise<void>

export function createServe({ responder, accessLog, monotonicMs, isClosing }: ServeDeps): Serve {
  return async (raw, endpoint, response, answer) => {
    let reply: Reply
    try {
      reply = responder.answer(await answer(), endpoint, raw.requestId)
    } catch (error) {
      if (hasLongBody(raw.message)) response.setHeader('connection', 'close')
      reply = responder.reject(error, endpoint, raw.requestId, findPageWanted(raw, endpoint))
    }
    // Closing waits for every connection that is kept alive.
    if (isClosing()) response.setHeader('connection', 'close')
    accessLog.request(raw, endpoint, reply, monotonicMs() - raw.startedMs)
    try {
      if (reply.stream === undefined) writeReply(reply, response)
      else await sendStream(reply, reply.stream, raw.message, response)
    } catch (fault) {
      // A header that cannot be written, or a stream that failed. The client must not take what was
      // sent so far for a complete response.
      accessLog.fault(fault, endpoint, raw.requestId)
      response.destroy()
    }
  }
}

function writeReply({ status, headers, body = '' }: Reply, response: ServerResponse): void {
  // RFC 9110 §8.6: neither of them has a length.
  if (status !== 204 && status !== 304) headers.push('content-length', String(Buffer.byteLength(body)))
  response.writeHead(status, headers)
  response.end(response.req.method === 'HEAD' ? '' : body)
}

/** The page that a rejection is sent as: to browsers, except at endpoints for programs. */
function findPageWanted(
  { query, lines, message }: RawRequest,
  endpoint: MountedEndpoint | undefined,
): PageWanted | undefined {
  const isWithPages =
    endpoint === undefined ||
    endpoint.errorFormat === 'page' ||
    endpoint.id === 'docs' ||
    endpoint.id === 'problem_page'
  if (!isWithPages || !acceptsPage(lines)) return undefined
  const uiLocales = new URLSearchParams(query).get('ui_locales') ?? undefined
  const isRepeatable = message.method === 'GET'
  const isOfSignIn = isRepeatable && endpoint?.errorFormat === 'page'
  return {
    isRepeatable,
    messages: requestLanguage(lines, uiLocales),
    toLanguage: isOfSignIn ? findLanguageLinks(endpoint, query) : undefined,
    toCookies: (baseUrl) => (isOfSignIn ? rememberLanguage(lines, uiLocales, baseUrl) : []),
  }
}

/**
 * Where a rejection can be read in other languages. Of the address only a well-formed state is
 * repeated. A callback itself has no language.
 */
function findLanguageLinks({ id }: MountedEndpoint, query: string): PageWanted['toLanguage'] {
  if (id === 'wallet_page') return toWalletUrl
  const state = new URLSearchParams(query).get('state') ?? ''
  const isRead = id === 'sign_in_page' || id === 'sign_in_callback'
  return isRead && /^[\w-]{43}$/.test(state) ? (lang) => toSignInUrl(state, lang) : undefined
}
