import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptsGzip } from '../../src/http/send-stream.ts'
import type { Routes } from '../../src/routes/all.ts'
import { type AppDouble, createAppDouble, SITE } from './app-double.ts'

const LINE = Buffer.from(`${'x'.repeat(65_535)}\n`)
let pulled = 0
let ended = 0
let handed: Socket[] = []
let release = 0
/** How many pieces there are before the stream ends or fails. */
let length = Infinity
let fails = false
/** What the route of the snapshot waits for. */
let beforeAnswer: Promise<void> | undefined

async function* pieces(encoding: 'gzip' | 'identity') {
  try {
    for (let i = 0; i < length; i++) {
      pulled++
      // Each piece is a gzip member of its own, which readers take for one text.
      yield encoding === 'gzip' ? gzipSync(LINE) : LINE
      await sleep(0)
    }
    if (fails) throw new Error('secret words')
  } finally {
    ended++
  }
}

const routes = {
  snapshot: async () => {
    await beforeAnswer
    return { status: 200, stream: { kind: 'pieces', pieces, release: () => void release++ } }
  },
  feed: async () => ({
    status: 200,
    stream: {
      kind: 'connection',
      accept: (socket: Socket) => {
        handed.push(socket)
        socket.write('hello\n')
      },
      release: () => void release++,
    },
  }),
} satisfies Routes as Routes

let double: AppDouble
let key: string
let port: number
beforeAll(async () => {
  double = createAppDouble({ routes })
  key = double.key({ permissions: ['feed:read'] })
  port = (await double.app.listen()).port
})
afterAll(() => double.app.close())

const head = (method: string, path: string, ...more: string[]) =>
  [
    `${method} /api/sites/${SITE}/${path} HTTP/1.1`,
    'Host: id.example',
    `X-API-Key: ${key}`,
    ...more,
    '',
    '',
  ].join('\r\n')

function ask(text: string): { socket: Socket; closed: Promise<Buffer> } {
  const socket = connect(port, '127.0.0.1')
  const parts: Buffer[] = []
  socket.on('data', (data) => parts.push(data))
  socket.on('error', () => {})
  const closed = new Promise<Buffer>((resolve) => socket.on('close', () => resolve(Buffer.concat(parts))))
  socket.write(text)
  return { socket, closed }
}

function begin(changes: { length?: number; fails?: boolean } = {}): void {
  ;({ length = Infinity, fails = false } = changes)
  pulled = 0
  ended = 0
  release = 0
  handed = []
  beforeAnswer = undefined
}

describe('an answer in pieces', () => {
  test('is in gzip for those who take it', async () => {
    begin({ length: 3 })
    const plain = await ask(head('GET', 'snapshot', 'Connection: close')).closed
    expect(plain.toString()).not.toMatch(/content-encoding/i)
    const packed = await ask(head('GET', 'snapshot', 'Connection: close', 'Accept-Encoding: br, gzip')).closed
    const start = packed.indexOf('\r\n\r\n') + 4
    expect(packed.subarray(0, start).toString()).toMatch(/^content-encoding: gzip\r$/im)
    expect(gunzipSync(joined(packed.subarray(start))).length).toBe(3 * LINE.length)
  })

  test('waits for a reader that does not read, and ends when it has gone', async () => {
    begin()
    const { socket } = ask(head('GET', 'snapshot'))
    socket.pause()
    await expect.poll(() => pulled).toBeGreaterThan(0)
    const settled = async () => {
      const before = pulled
      await sleep(100)
      return pulled === before
    }
    await expect.poll(settled).toBe(true)
    expect(ended).toBe(0)
    socket.destroy()
    await expect.poll(() => [ended, release]).toEqual([1, 1])
  })

  test('is cut when it fails, without a word of why and without looking complete', async () => {
    begin({ length: 2, fails: true })
    const text = (await ask(head('GET', 'snapshot')).closed).toString()
    expect(text).toMatch(/^HTTP\/1\.1 200/)
    expect(text).not.toContain('secret')
    expect(text.endsWith('0\r\n\r\n')).toBe(false)
    await expect.poll(() => double.logLines.some((line) => line.includes('secret words'))).toBe(true)
  })

  test('is not even begun for HEAD', async () => {
    begin()
    const text = (await ask(head('HEAD', 'snapshot', 'Connection: close')).closed).toString()
    expect(text).toMatch(/^HTTP\/1\.1 200/)
    expect(text).toMatch(/application\/x-ndjson/)
    expect([pulled, release]).toEqual([0, 1])
  })

  test('is not begun for a connection that is gone, and its place is given back', async () => {
    begin()
    const { promise: isGone, resolve: leave } = Promise.withResolvers<void>()
    beforeAnswer = isGone
    const accepted = once(double.app.server, 'request') as Promise<[IncomingMessage]>
    const { socket } = ask(head('GET', 'snapshot'))
    const [request] = await accepted
    const closed = once(request.socket, 'close')
    socket.destroy()
    await closed
    leave()
    await expect.poll(() => release).toBe(1)
    expect(pulled).toBe(0)
  })
})

describe('an answer that takes the connection', () => {
  test('has it to itself, without frames, until it ends it', async () => {
    begin()
    const { socket, closed } = ask(head('GET', 'feed'))
    await expect.poll(() => handed.length).toBe(1)
    handed[0]?.end('bye\n')
    const text = (await closed).toString()
    expect(text).toMatch(/\r\n\r\nhello\nbye\n$/)
    expect(text).toMatch(/^connection: close\r$/im)
    expect(text).not.toMatch(/^(?:transfer-encoding|content-length):/im)
    expect(release).toBe(0)
    socket.destroy()
  })

  test('is let go for HEAD', async () => {
    begin()
    await ask(head('HEAD', 'feed', 'Connection: close')).closed
    expect([handed.length, release]).toEqual([0, 1])
  })
})

describe('acceptsGzip', () => {
  test.each(['gzip', 'GZIP', 'br, gzip;q=0.5', '*', 'deflate, x-gzip', 'identity;q=0, *;q=0.1'])(
    '%s',
    (header) => {
      expect(acceptsGzip(header)).toBe(true)
    },
  )
  test.each([undefined, '', 'br', 'gzip;q=0', 'gzip; q=0.0, *', 'identity', 'gzipped', 'gzip;q=x'])(
    'not %s',
    (header) => {
      expect(acceptsGzip(header)).toBe(false)
    },
  )
})

/** Without the frames of Transfer-Encoding: chunked. */
function joined(frames: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let rest = frames; ; ) {
    const line = rest.indexOf('\r\n')
    const size = Number.parseInt(rest.subarray(0, line).toString(), 16)
    if (size === 0) return Buffer.concat(parts)
    parts.push(rest.subarray(line + 2, line + 2 + size))
    rest = rest.subarray(line + 2 + size + 2)
  }
}
