import type { AnswerStream } from '../../answer.ts'

type Pieces = Extract<AnswerStream, { kind: 'pieces' }>

/** The session is looked up at most a second late, so both are less than two seconds. */
const CONFIRM_MS = 500

/** The same stream, cut when the session or role of its caller has ended. */
export function confirmWhileSending(stream: Pieces, confirmCaller: () => Promise<void>): Pieces {
  const stop = new AbortController()
  const { signal = stop.signal } = stream
  return {
    ...stream,
    signal: AbortSignal.any([signal, stop.signal]),
    async *pieces(encoding) {
      let confirmedMs = performance.now()
      for await (const piece of stream.pieces(encoding)) {
        if (performance.now() - confirmedMs > CONFIRM_MS) {
          try {
            await confirmCaller()
          } catch {
            stop.abort()
            return
          }
          confirmedMs = performance.now()
        }
        yield piece
      }
    },
  }
}
