import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AnswerStream } from '../answer.ts'
import { detachSocket } from './detach-socket.ts'
import type { Reply } from './respond.ts'

/** A client that reads nothing for so long is disconnected. */
const STALLED_MS = 30_000

/**
 * Sends a streamed answer. Resolves when it has ended or its connection was passed on. Rejects when
 * the service failed to produce it.
 */
export async function sendStream(
  { status, headers }: Pick<Reply, 'status' | 'headers'>,
  stream: AnswerStream,
  request: IncomingMessage,
  response: ServerResponse,
  stalledMs = STALLED_MS,
): Promise<void> {
  const isAsked = request.method !== 'HEAD'
  if (stream.kind === 'pieces') {
    try {
      const encoding = acceptsGzip(request.headers['accept-encoding']) ? 'gzip' : 'identity'
      headers.push('vary', 'accept-encoding', ...(encoding === 'gzip' ? ['content-encoding', encoding] : []))
      response.writeHead(status, headers)
      if (isAsked) await sendPieces(stream, encoding, response, stalledMs)
      else response.end()
    } finally {
      stream.release()
    }
    return
  }
  const { socket } = response
  // A response that waits behind an earlier one on its connection has no socket.
  if (!isAsked || socket === null || !socket.writable) {
    stream.release()
    response.writeHead(status, headers)
    response.end()
    return
  }
  try {
    // The stream ends with its connection and is not chunked, which HTTP/1.0 understands too.
    response.useChunkedEncodingByDefault = false
    response.writeHead(status, [...headers, 'connection', 'close'])
    response.flushHeaders()
  } catch (fault) {
    stream.release()
    throw fault
  }
  // After this turn the request has been parsed completely.
  await nextTurn()
  if (socket.destroyed) {
    stream.release()
    return
  }
  detachSocket(response, socket)
  stream.accept(socket)
}

type Pieces = Extract<AnswerStream, { kind: 'pieces' }>

/** Rejects when `pieces` fails. A client that disconnects is not a fault. */
async function sendPieces(
  { pieces, signal }: Pieces,
  encoding: 'gzip' | 'identity',
  response: ServerResponse,
  stalledMs: number,
): Promise<void> {
  let fault: unknown
  const noted = async function* () {
    try {
      yield* pieces(encoding)
    } catch (thrown) {
      // Also thrown when the client has disconnected.
      if (!response.destroyed) fault = thrown
      throw thrown
    }
  }
  // A reset, so that the kernel discards what the client has not read.
  const cut = () => {
    response.socket?.resetAndDestroy()
    response.destroy()
  }
  // A large answer may take longer to prepare: then there is nothing that the client could read.
  const onIdle = () => (response.writableLength > 0 ? cut() : response.setTimeout(stalledMs))
  response.setTimeout(stalledMs, onIdle)
  signal?.addEventListener('abort', cut)
  if (signal?.aborted) cut()
  await pipeline(Readable.from(noted()), response).catch(cut)
  signal?.removeEventListener('abort', cut)
  response.off('timeout', onIdle)
  if (fault !== undefined) throw fault
}

/** RFC 9110 §12.5.3, as far as it concerns gzip. */
export function acceptsGzip(header: string | undefined): boolean {
  const weights = new Map<string, number>()
  for (const part of header?.toLowerCase().split(',') ?? []) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    const weight = parameters.find((text) => text.startsWith('q='))?.slice(2)
    weights.set(name, weight === undefined ? 1 : Number(weight))
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
}
