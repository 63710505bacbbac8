import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import type { AnswerStream } from '../answer.ts'
import { detachSocket } from './detach-socket.ts'
import type { Reply } from './respond.ts'

/** A reader that takes nothing for so long is treated as gone. */
const STALLED_MS = 30_000
/** Ids do not compress, and what lies between them does so at any level. */
const GZIP_LEVEL = 1

/**
 * Sends an answer that goes on. Resolves when it is over or in other hands; rejects when it failed
 * on our side.
 */
export async function sendStream(
  { status, headers }: Pick<Reply, 'status' | 'headers'>,
  stream: AnswerStream,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isAsked = request.method !== 'HEAD'
  if (stream.kind === 'pieces') {
    try {
      const gzip = acceptsGzip(request.headers['accept-encoding'])
      headers.push('vary', 'accept-encoding', ...(gzip ? ['content-encoding', 'gzip'] : []))
      response.writeHead(status, headers)
      if (isAsked) await sendPieces(stream, gzip, response)
      else response.end()
    } finally {
      stream.release()
    }
    return
  }
  const { socket } = response
  // Behind an earlier request on the same connection there is no connection to be had.
  if (!isAsked || socket === null || !socket.writable) {
    stream.release()
    response.writeHead(status, headers)
    response.end()
    return
  }
  try {
    // The stream ends with its connection, and needs no frames: any proxy and HTTP/1.0 understand
    // that.
    response.useChunkedEncodingByDefault = false
    response.writeHead(status, [...headers, 'connection', 'close'])
    response.flushHeaders()
  } catch (fault) {
    stream.release()
    throw fault
  }
  // By then the request has been parsed to its end.
  await nextTurn()
  if (socket.destroyed) {
    stream.release()
    return
  }
  detachSocket(response, socket)
  stream.accept(socket)
}

type Pieces = Extract<AnswerStream, { kind: 'pieces' }>

/** That the reader has gone is no fault; that we could not go on is. */
async function sendPieces(
  { pieces, signal }: Pieces,
  gzip: boolean,
  response: ServerResponse,
): Promise<void> {
  let fault: unknown
  const noted = async function* () {
    try {
      yield* pieces
    } catch (thrown) {
      // What is thrown into it because the connection is gone is no fault of ours.
      if (!response.destroyed) fault = thrown
      throw thrown
    }
  }
  // A reset, so that the kernel does not go on holding what the reader does not take.
  const cut = () => {
    response.socket?.resetAndDestroy()
    response.destroy()
  }
  response.setTimeout(STALLED_MS, cut)
  signal?.addEventListener('abort', cut)
  if (signal?.aborted) cut()
  const source = Readable.from(noted())
  await (gzip
    ? pipeline(source, createGzip({ level: GZIP_LEVEL }), response)
    : pipeline(source, response)
  ).catch(cut)
  signal?.removeEventListener('abort', cut)
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
