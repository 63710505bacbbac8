import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { sendStream } from '../../src/http/send-stream.ts'

const STALLED_MS = 300

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** A server that streams these pieces, and resolves `ended` when the answer is over. */
async function serve(pieces: () => AsyncGenerator<Uint8Array>) {
  let released = () => {}
  const ended = new Promise<void>((resolve) => {
    released = resolve
  })
  server = createServer((message, response) => {
    const stream = { kind: 'pieces', pieces, release: released } as const
    void sendStream({ status: 200, headers: [] }, stream, message, response, STALLED_MS)
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ port, host: '127.0.0.1' }, resolve).once('error', reject).end()
  })
  return { answer, ended }
}

it('waits for an answer that takes long to prepare', { tags: 'long' }, async () => {
  const { answer, ended } = await serve(async function* () {
    yield Buffer.from('first ')
    await sleep(3 * STALLED_MS)
    yield Buffer.from('last')
  })
  let text = ''
  for await (const chunk of answer) text += chunk
  expect(text).toBe('first last')
  await ended
})

it('cuts the connection of a client that does not read', async () => {
  const piece = Buffer.alloc(1024 * 1024)
  const { answer, ended } = await serve(async function* () {
    for (let i = 0; i < 200; i++) yield piece
  })
  answer.once('error', () => {})
  // Paused: it is not read.
  await ended
  expect(answer.readableFlowing).not.toBe(true)
})
