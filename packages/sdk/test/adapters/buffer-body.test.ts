import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bufferBody } from '../../src/adapters/buffer-body.ts'
import { type Listening, listening } from '../listening.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function joined(parts: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const part of parts) all.push(part)
  return Buffer.concat(all)
}

/** The ways in which frameworks read a request. */
const readers: Record<string, (message: IncomingMessage) => Promise<Buffer>> = {
  iterated: joined,
  events: (message) =>
    new Promise((resolve, reject) => {
      const all: Buffer[] = []
      message.on('data', (part: Buffer) => all.push(part))
      message.on('end', () => resolve(Buffer.concat(all)))
      message.on('error', reject)
    }),
  piped: (message) => joined(message.pipe(new PassThrough())),
  later: async (message) => {
    await turn()
    await turn()
    return joined(message)
  },
}

let app: Listening
beforeAll(async () => {
  app = await listening(
    createServer(async (message, response) => {
      const query = new URLSearchParams(message.url?.split('?')[1])
      if (query.has('late')) await turn()
      const peeked = await bufferBody(message, 1_000_000)
      if (!(peeked instanceof Uint8Array))
        return void response.setHeader('connection', 'close').end(String(peeked))
      const read = await readers[query.get('as') ?? '']?.(message)
      response.end(`${sha256(peeked)} ${sha256(read ?? Buffer.alloc(0))} ${await bufferBody(message, 9)}`)
    }),
  )
})
afterAll(() => app?.close())

function send(query: string, parts: readonly Uint8Array[], chunked: boolean): Promise<string> {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return new Promise((resolve, reject) => {
    const headers = chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }
    const outgoing = request({
      port: app.port,
      hostname: '127.0.0.1',
      method: 'POST',
      path: `/?${query}`,
      headers,
      agent: false,
    })
    outgoing.on('error', reject)
    outgoing.on('response', (response) => joined(response).then((text) => resolve(String(text)), reject))
    const write = async () => {
      if (query.includes('slow')) {
        outgoing.flushHeaders()
        await sleep(5)
      }
      for (const part of parts) {
        if (part.length > 0) outgoing.write(part)
        await turn()
      }
      outgoing.end()
    }
    void write()
  })
}

test('code that reads a request that was peeked into gets all of it, however it came and however it is read', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(0, 1, 100, 16_383, 16_384, 65_536, 65_537, 150_000), { maxLength: 6 }),
      fc.boolean(),
      fc.constantFrom(...Object.keys(readers)),
      fc.constantFrom('', '&late', '&slow', '&late&slow'),
      async (sizes, chunked, as, when) => {
        const parts = sizes.map((size) => randomBytes(size))
        const expected = sha256(Buffer.concat(parts))
        const answer = await send(`as=${as}${when}`, parts, chunked)
        // Afterwards it has been read, and is not to be had again.
        expect(answer).toBe(`${expected} ${expected} unseen`)
      },
    ),
    { numRuns: 100 },
  )
})

test('what is too large is not waited for', async () => {
  for (const chunked of [true, false]) {
    const fitting = randomBytes(1_000_000)
    expect(await send('as=iterated', [fitting], chunked)).toBe(`${sha256(fitting)} ${sha256(fitting)} unseen`)
    expect(await send('as=iterated', [fitting, randomBytes(1)], chunked)).toBe('too_large')
  }
})

test('a caller that was gone before its body is read is not waited for', async () => {
  const body = new PassThrough()
  body.write('half')
  body.destroy()
  await once(body, 'close')
  expect(await bufferBody(body, 9)).toBeUndefined()
})
