import type { Guard } from '../guard/guard.ts'
import type { GuardBody, GuardRequest } from '../guard/request.ts'
import type { GuardAllow, GuardDenial } from '../guard/verdict.ts'
import { bufferBody, isWhole, type NodeStream } from './buffer-body.ts'
import type { MetadataAnswer } from './protected-resource.ts'
import { captureRawBody } from './raw-bodies.ts'

/** The parts of Node's `IncomingMessage` that are used here; HTTP/2 requests have them too. */
export interface NodeRequest extends NodeStream {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly httpVersionMajor: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly rawHeaders: readonly string[]
  readonly socket?: NodeSocket | null | undefined
  destroy(): unknown
}

/** The parts of Node's `Socket` and `TLSSocket` that are used here. */
interface NodeSocket {
  readonly encrypted?: boolean
  destroy?(): unknown
}

/** The parts of Node's `ServerResponse` that are used here. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(text: string): unknown
  once(event: 'close', listener: () => void): unknown
  readonly destroyed?: boolean
  readonly headersSent?: boolean
  /** With HTTP/2, where the response itself has no `destroyed`. */
  readonly stream?: { readonly destroyed: boolean }
}

/** Calls back when the response is over, also if it already is: the client may be gone. */
export function onResponseOver(
  response: Pick<NodeResponse, 'once' | 'destroyed' | 'stream'>,
  over: () => void,
): void {
  if (response.destroyed === true || response.stream?.destroyed === true) over()
  else response.once('close', over)
}

/**
 * A request of Node's HTTP server, for a guard. The host is that of the Host field, the path the
 * one in the request line (`target`, before routers cut pieces off it). Headers of proxies are
 * ignored; use `publicOrigin` instead. `kept` are the bytes of a body that was read already.
 */
export class NodeGuardRequest implements GuardRequest {
  readonly #request: NodeRequest
  readonly #target: string
  readonly #bodyBytesMax: number
  readonly #kept: GuardBody

  constructor(request: NodeRequest, target: string, bodyBytesMax: number, kept?: GuardBody) {
    this.#request = request
    this.#target = target
    this.#bodyBytesMax = bodyBytesMax
    this.#kept = kept
  }

  get method(): string {
    return this.#request.method ?? 'GET'
  }

  get url(): string {
    const { headers, socket } = this.#request
    // RFC 9112 §3.2.2: a target in absolute form is the whole address.
    if (!this.#target.startsWith('/')) return this.#target
    const scheme = socket?.encrypted ? 'https' : 'http'
    return `${scheme}://${headers.host ?? headers[':authority'] ?? ''}${this.#target}`
  }

  /** From the lines as they came: `headers` has joined or dropped repeated ones. */
  header(name: string): readonly string[] {
    const { rawHeaders } = this.#request
    const lines: string[] = []
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const given = rawHeaders[i] as string
      if (given.length === name.length && given.toLowerCase() === name)
        lines.push(rawHeaders[i + 1] as string)
    }
    return lines
  }

  body(): GuardBody | Promise<GuardBody> {
    // Other code has put another stream in its place, which may have a body where the request has
    // none.
    if (this.#kept === 'unseen') return 'unseen'
    return mayHaveBody(this.#request) ? (this.#kept ?? this.#bufferBody()) : undefined
  }

  /** Keeps the bytes for a guard that follows: the stream looks read then, though it is not. */
  async #bufferBody(): Promise<GuardBody> {
    const body = await bufferBody(this.#request, this.#bodyBytesMax)
    if (typeof body === 'object') captureRawBody(this.#request, undefined, body)
    return body
  }
}

/**
 * While the body of an accepted request arrives, ends the request when its access ends. Otherwise a
 * caller could hold back the last byte, and the handler would run after the revocation. Expiry does
 * not count here: an upload may take longer than the rest of a credential's time. A handler that
 * has begun to answer is left alone: it runs already.
 */
export function endWithAccess(
  request: NodeRequest,
  response: Pick<NodeResponse, 'headersSent'>,
  guard: Guard,
  accepted: GuardAllow,
): void {
  if (!mayHaveBody(request) || isWhole(request)) return
  const whole = new AbortController()
  const stop = () => whole.abort()
  const signal = guard.signal(accepted, whole.signal)
  const end = () => {
    const isExpired = accepted.subject.expiresAtMs <= Date.now()
    if (whole.signal.aborted || isExpired || response.headersSent === true) return
    // First the connection: Bun would answer with an empty 200. With HTTP/2 others use it too.
    if (request.httpVersionMajor < 2) request.socket?.destroy?.()
    request.destroy()
  }
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  request.on('end', stop)
  request.on('close', stop)
}

/** Sends the metadata of a resource. */
export function sendMetadata(response: NodeResponse, { status, headers, body }: MetadataAnswer): void {
  response.writeHead(status, { ...headers })
  response.end(body)
}

/** Sends a denial. */
export function sendDenial(request: NodeRequest, response: NodeResponse, denial: GuardDenial): void {
  response.writeHead(denial.status, denialHeaders(request, denial))
  response.end(JSON.stringify(denial.problem))
}

/**
 * Closes the connection after a body that was too large, instead of reading the rest. HTTP/2 has no
 * such field, and ends the stream by itself.
 */
export function denialHeaders(
  { httpVersionMajor }: NodeRequest,
  { status, headers }: GuardDenial,
): Record<string, string> {
  return status === 413 && httpVersionMajor < 2 ? { ...headers, connection: 'close' } : { ...headers }
}

function mayHaveBody({ headers, httpVersionMajor }: NodeRequest): boolean {
  const length = headers['content-length']
  if (length !== undefined) return length !== '0'
  return httpVersionMajor >= 2 || headers['transfer-encoding'] !== undefined
}
