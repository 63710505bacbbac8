import { joinBytes } from '../shared/bounded-body.ts'

/** The parts of Node's `Readable` that are used here. */
export interface NodeStream {
  readonly readableLength: number
  readonly readableEnded: boolean
  readonly readableDidRead: boolean
  readonly readableEncoding: string | null
  /** Of an `IncomingMessage`: the whole message has arrived. */
  readonly complete?: boolean
  readonly destroyed?: boolean
  /** Bytes, because `readableEncoding` is null where this is called. */
  read(): Uint8Array | string | null
  unshift(bytes: Uint8Array): void
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/**
 * Reads the whole body of a request and puts it back, so that code that reads the request
 * afterwards gets all of it. `'unseen'` when it was read before, `'too_large'` when it has more
 * than `bytesMax`. Undefined when the caller disconnects.
 */
export async function bufferBody(
  stream: NodeStream,
  bytesMax: number,
): Promise<Uint8Array | undefined | 'unseen' | 'too_large'> {
  if (stream.readableDidRead || stream.readableEnded || stream.readableEncoding !== null) return 'unseen'
  // Node emits a request before it has parsed the bytes that came with its headers. One microtask
  // later it has.
  await undefined
  return new Promise((resolve) => {
    const parts: Uint8Array[] = []
    let length = 0
    const settle = (answer: Uint8Array | undefined | 'too_large') => {
      for (const [event, listener] of listeners) stream.off(event, listener)
      resolve(answer)
    }
    const take = () => {
      // Never reads when there are no bytes: at the end that would end the stream for later
      // readers.
      while (stream.readableLength > 0) {
        const part = stream.read() as Uint8Array | null
        if (part === null) break
        parts.push(part)
        length += part.length
        if (length > bytesMax) return settle('too_large')
      }
      if (!isWhole(stream)) return
      const body = joinBytes(parts, length)
      // In the same tick: the stream ends in the next one if it is empty.
      if (length > 0) stream.unshift(body)
      settle(body)
    }
    const leave = () => settle(undefined)
    const listeners = [
      ['readable', take],
      ['error', leave],
      ['close', leave],
    ] as const
    // Adds no listeners when the body is complete: they would let an empty stream end before other
    // code listens.
    if (isWhole(stream)) return take()
    // Nothing more will come.
    if (stream.destroyed === true) return settle(undefined)
    for (const [event, listener] of listeners) stream.on(event, listener)
  })
}

/** Whether all bytes have arrived, read or not. */
export function isWhole(stream: NodeStream): boolean {
  // HTTP/2 does not say `complete` until the end has been read; the state of a Readable has said so
  // since Node 0.10.
  return (
    stream.complete === true ||
    (stream as { _readableState?: { ended?: boolean } })._readableState?.ended === true
  )
}
