/** One event of a stream. `id` is the last id of the stream, also if this event has none. */
export interface SseEvent {
  readonly event: string
  readonly data: string
  readonly id: string
}

export interface SseReader {
  /**
   * Returns the events that these bytes complete, and keeps the rest for the next call. Throws a
   * RangeError for an event that is too long.
   */
  push(bytes: Uint8Array): SseEvent[]
  /** How long to wait before reconnecting, if the stream has said so. */
  readonly retryMs: number | undefined
}

const CHARS_MAX = 262_144

/**
 * Reads server-sent events (HTML Living Standard §9.2.6) from chunks of any size. An event is
 * complete with its empty line. Why not a library: decision 62.
 */
export function createSseReader(charsMax = CHARS_MAX): SseReader {
  const decoder = new TextDecoder()
  /** The line that has no end yet, in the pieces in which it came: joined once, not for each. */
  let rest: string[] = []
  let restChars = 0
  /** The last chunk ended with a carriage return, whose line feed may be the next character. */
  let afterReturn = false
  let event = ''
  let data: string[] = []
  let dataChars = 0
  let id = ''
  let retryMs: number | undefined

  const takeField = (line: string) => {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') {
      data.push(value)
      dataChars += value.length + 1
    } else if (name === 'event') event = value
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d+$/.test(value)) retryMs = Number(value)
  }

  const addRest = (piece: string) => {
    if (piece !== '') rest.push(piece)
    restChars += piece.length
    if (restChars + dataChars > charsMax) throw new RangeError('an event of the feed is too long')
  }

  return {
    get retryMs() {
      return retryMs
    },
    push(bytes) {
      const events: SseEvent[] = []
      let piece = decoder.decode(bytes, { stream: true })
      if (afterReturn && piece !== '') {
        if (piece[0] === '\n') piece = piece.slice(1)
        afterReturn = false
      }
      if (!/[\r\n]/.test(piece)) {
        addRest(piece)
        return events
      }
      const text = rest.join('') + piece
      const ends = /\r\n?|\n/g
      let start = 0
      for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
        const line = text.slice(start, end.index)
        start = ends.lastIndex
        if (start === text.length && end[0] === '\r') afterReturn = true
        if (line !== '') takeField(line)
        else {
          if (data.length > 0) events.push({ event: event || 'message', data: data.join('\n'), id })
          event = ''
          data = []
          dataChars = 0
        }
      }
      rest = []
      restChars = 0
      addRest(text.slice(start))
      return events
    },
  }
}
