import { joinBytes } from '../shared/bounded-body.ts'

/** What Node's `Readable` has, as far as it is used here. */
export interface NodeStream {
  readonly readableLength: number
  readonly readableEnded: boolean
  readonly readableDidRead: boolean
  readonly readableEncoding: string | null
  /** Of an `IncomingMessage`: all of the message has come. */
  readonly complete?: boolean
  read(): Uint8Array | null
  unshift(bytes: Uint8Array): void
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/**
 * Waits for the whole body of a request and leaves it where it is: code that reads the request
 * afterwards gets all of it. `'unseen'` when it was read before, `'too_large'` when it has more
 * than `bytesMax`. The body of a caller who goes away is taken for none.
 */
export async function bufferBody(
  stream: NodeStream,
  bytesMax: number,
): Promise<Uint8Array | undefined | 'unseen' | 'too_large'> {
  if (stream.readableDidRead || stream.readableEnded || stream.readableEncoding !== null) return 'unseen'
  // Node hands a request over before it has looked at the rest of what came with it. A moment later
  // it has.
  await undefined
  return new Promise((resolve) => {
    const parts: Uint8Array[] = []
    let length = 0
    const settle = (answer: Uint8Array | undefined | 'too_large') => {
      for (const [event, listener] of listeners) stream.off(event, listener)
      resolve(answer)
    }
    const take = () => {
      // Not one read more than there are bytes: reading at the end would end the stream for those
      // who come after us.
      while (stream.readableLength > 0) {
        const part = stream.read()
        if (part === null) break
        parts.push(part)
        length += part.length
        if (length > bytesMax) return settle('too_large')
      }
      if (!isWhole(stream)) return
      const body = joinBytes(parts, length)
      // At once, in the same turn: the stream ends in the next one if it is empty then.
      if (length > 0) stream.unshift(body)
      settle(body)
    }
    const leave = () => settle(undefined)
    const listeners = [
      ['readable', take],
      ['error', leave],
      ['close', leave],
    ] as const
    // What is all here already is not listened to: that would let an empty one end before other
    // code listens.
    if (isWhole(stream)) return take()
    for (const [event, listener] of listeners) stream.on(event, listener)
  })
}

function isWhole(stream: NodeStream): boolean {
  // HTTP/2 does not say `complete` until the end has been read; the state of a Readable has said so
  // since Node 0.10.
  return (
    stream.complete === true ||
    (stream as { _readableState?: { ended?: boolean } })._readableState?.ended === true
  )
}
