import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSseReader, type SseEvent } from '../../src/feed/sse-reader.ts'

const encoder = new TextEncoder()
const toBytes = (text: string) => encoder.encode(text)

/** Reads the bytes in pieces that end at these places. */
function readCut(bytes: Uint8Array, cuts: readonly number[] = []): SseEvent[] {
  const reader = createSseReader()
  const places = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  )
  let start = 0
  return places.flatMap((end) => {
    const piece = bytes.subarray(start, end)
    start = end
    return reader.push(piece)
  })
}

/** What another parser makes of the whole text. */
function oracle(text: string) {
  const events: { event: string; data: string; id: string | undefined }[] = []
  createParser({
    onEvent: ({ event, data, id }) => events.push({ event: event || 'message', data, id }),
  }).feed(text)
  return events
}

const text = fc
  .array(
    fc.constantFrom(
      ...[
        'data',
        'event',
        'id',
        'retry',
        ': ',
        ':',
        ' ',
        'x',
        '{"a":1}',
        '7',
        'é',
        '😀',
        '\0',
        '\n',
        '\r',
        '\r\n',
        '\n\n',
        '\r\r',
        '\r\n\r\n',
      ],
      ...[
        'data: 1\n',
        'event: heartbeat\r\n',
        'id: e.1\n',
        ': comment\n',
        'data\n',
        'data:\n',
        'unknown: y\n',
      ],
    ),
    { maxLength: 60, size: 'max' },
  )
  // A return at the very end may be half of a line end; whether it counts already is a matter of
  // taste.
  .map((parts) => `${parts.join('')}:`)

describe('a stream of events', () => {
  test('is read like another parser reads it, however the bytes are cut', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 20 }), (whole, cuts) => {
        const events = readCut(toBytes(whole), cuts)
        const expected = oracle(whole)
        expect(events.map(({ event, data }) => ({ event, data }))).toEqual(
          expected.map(({ event, data }) => ({ event, data })),
        )
        expected.forEach(({ id }, i) => {
          if (id !== undefined) expect(events[i]?.id).toBe(id)
        })
      }),
      { numRuns: 2_000 },
    )
  })

  test('says the same byte by byte as at once', () => {
    fc.assert(
      fc.property(text, (whole) => {
        const bytes = toBytes(whole)
        expect(readCut(bytes, [...bytes.keys()])).toEqual(readCut(bytes))
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    ['line feeds', 'id: e.1\nevent: a\ndata: 1\n\n'],
    ['carriage returns', 'id: e.1\revent: a\rdata: 1\r\r:'],
    ['both', 'id: e.1\r\nevent: a\r\ndata: 1\r\n\r\n'],
    ['no space after the colon', 'id:e.1\nevent:a\ndata:1\n\n'],
    ['comments in between', ': hello\nid: e.1\n:\nevent: a\ndata: 1\n: x\n\n'],
    ['a byte order mark in front', '\uFEFFid: e.1\nevent: a\ndata: 1\n\n'],
  ])('is read with %s', (_, stream) => {
    const bytes = toBytes(stream)
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(readCut(bytes, [cut])).toEqual([{ event: 'a', data: '1', id: 'e.1' }])
  })

  test('keeps a character together that is cut in its middle', () => {
    const bytes = toBytes('data: €😀\n\n')
    for (let cut = 0; cut <= bytes.length; cut++) expect(readCut(bytes, [cut])[0]?.data).toBe('€😀')
  })

  test('has no event that has not come to its end', () => {
    expect(readCut(toBytes('event: a\ndata: 1\n'))).toEqual([])
    expect(readCut(toBytes('event: a\ndata: 1'))).toEqual([])
    expect(readCut(toBytes('event: a\n\nid: 3\n\n: only a comment\n\n'))).toEqual([])
  })

  test('joins several lines of data, and begins each event again', () => {
    expect(readCut(toBytes('id: 1\nevent: a\ndata: 1\ndata: 2\n\ndata: 3\n\n'))).toEqual([
      { event: 'a', data: '1\n2', id: '1' },
      { event: 'message', data: '3', id: '1' },
    ])
  })

  test('takes no id with a NUL in it', () => {
    expect(readCut(toBytes('id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n'))).toMatchObject([
      { id: '1' },
      { id: '1' },
    ])
  })

  test('says how long to wait, if it says so in digits', () => {
    const reader = createSseReader()
    expect(reader.retryMs).toBeUndefined()
    reader.push(toBytes('retry: 1e3\nretry: -1\nretry:\n'))
    expect(reader.retryMs).toBeUndefined()
    reader.push(toBytes('retry: 1500\n'))
    expect(reader.retryMs).toBe(1_500)
  })

  test.each([
    ['in one line', 'data: ', 'x'],
    ['in many lines', '', 'data: x\n'],
  ])('may not go on without end %s', (_, first, more) => {
    const reader = createSseReader(1_000)
    reader.push(toBytes(first))
    expect(() => {
      for (let i = 0; i < 1_001; i++) reader.push(toBytes(more))
    }).toThrow(RangeError)
  })
})
