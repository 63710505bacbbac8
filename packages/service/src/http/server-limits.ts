import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { limits } from '@countersign/core/contract'
import { Problem } from '../problem.ts'
import type { Responder } from './respond.ts'

/** Limits that Node enforces before there is a request. */
export const serverOptions: ServerOptions = {
  maxHeaderSize: limits.header_section_bytes_max,
  headersTimeout: limits.headers_arrive_seconds_max * 1000,
  // This, and the time for the whole request, hold to within the interval.
  connectionsCheckingInterval: 1000,
  // `rejectMalformed` checks it instead, and answers with problem+json.
  requireHostHeader: false,
}

/**
 * How long a connection stays open after its last response. Closing it with unread bytes would
 * discard the response (RFC 9112 §9.6).
 */
const LINGER_MS = 1000

/**
 * A connection without traffic in either direction is closed after this time: otherwise responses
 * to a client that never reads would be kept without end. Longer than any response may take.
 */
const STALLED_MS = (limits.wait_seconds_max + 15) * 1000

/**
 * Answers with problem+json when Node's parser rejects what was sent, and closes the connection.
 */
export type OnClientError = (error: NodeJS.ErrnoException, socket: Socket) => void

export function createOnClientError(
  responder: Responder,
  newRequestId: () => string,
  onRejection: (code: string, requestId: string) => void,
): OnClientError {
  const answered = new WeakSet<Socket>()
  return (error, socket) => {
    if (answered.has(socket)) return
    answered.add(socket)
    if (!socket.writable || error.code === 'ECONNRESET' || isAnswering(socket)) {
      socket.destroy()
      return
    }
    const requestId = newRequestId()
    const { status, headers, body, code = '' } = responder.reject(toProblem(error), undefined, requestId)
    onRejection(code, requestId)
    const all = [...headers, 'connection', 'close', 'content-length', String(Buffer.byteLength(body ?? ''))]
    const lines = all.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${all[i + 1]}`] : []))
    const head = [`HTTP/1.1 ${status} ${code}`, ...lines].join('\r\n')
    socket.end(`${head}\r\n\r\n${body}`)
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}

/** Disables what Node would do silently, or answer in its own format. */
export function disableNodeDefaults(server: Server): void {
  server.timeout = STALLED_MS
  // Header lines above 2,000 would be dropped. Their size is limited, so their number is.
  server.maxHeadersCount = 0
  // Unknown expectations would be answered with 417; they may also be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  )
}

/** Part of another answer is on its way already; anything written now would become part of it. */
function isAnswering(socket: Socket): boolean {
  const { _httpMessage: message } = socket as Socket & { _httpMessage?: ServerResponse | null }
  return message?.headersSent ?? false
}

function toProblem({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('header_too_large')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return new Problem('request_too_large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('request_malformed', 'The request timed out. Send it again.')
  return new Problem('request_malformed', 'The request is not valid HTTP/1.1. Correct it.')
}
