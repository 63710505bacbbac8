import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Routes } from '../../src/routes/all.ts'
import { createAppDouble } from './app-double.ts'

const clients: Socket[] = []
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy()
})

const HOST = 'Host: id.example\r\n'
const EXCHANGE = `POST /api/auth/exchange-proof HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`

/** An app with one held connection: `sent` has been written, and the app has seen `until` of it. */
async function held(sent: string, { routes = {}, until = 'connection', drainMsMax = 60_000 } = {}) {
  const double = createAppDouble({ routes: routes as Routes, drainMsMax })
  const { server } = double.app
  const seen = new Promise((resolve) => server.once(until, resolve))
  const { port } = await double.app.listen()
  const client = connect(port, '127.0.0.1')
  clients.push(client)
  let text = ''
  client.on('error', () => {})
  const gone = new Promise<string>((resolve) => client.on('close', () => resolve(text)))
  if (sent !== '') client.write(sent)
  await seen
  return { ...double, client, read: () => client.on('data', (data) => (text += data)), gone }
}

async function* withoutEnd() {
  for (;;) yield Buffer.alloc(64 * 1024)
}

describe('closing (B3)', () => {
  test.each([
    ['sends nothing', '', 'connection'],
    ['has sent half a header', 'GET /heal', 'connection'],
    ['has sent half a body', `${EXCHANGE}Content-Length: 100\r\n\r\n{"credential"`, 'request'],
    [
      'sends a body in chunks without an end',
      `${EXCHANGE}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      'request',
    ],
  ])('does not wait for a client that %s', async (_, sent, until) => {
    const { app, read, gone } = await held(sent, {
      until,
      routes: { exchange_proof: () => new Promise(() => {}) },
    })
    read()
    await app.close()
    expect(await gone).toBe('')
  })

  test('does not wait for a kept connection whose request was answered while the app closed', async () => {
    const { promise: started, resolve: start } = Promise.withResolvers<void>()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const alive = async () => {
      start()
      await released
      return { status: 200, body: { status: 'alive' } }
    }
    const { app, read, gone } = await held(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`, { routes: { alive } })
    read()
    await started
    const closed = app.close()
    release()
    await closed
    expect(await gone).toMatch(/^HTTP\/1\.1 200 .*connection: close.*"alive"/is)
  })

  test.each([
    ['a request that is never answered', '/healthz', { alive: () => new Promise(() => {}) }],
    [
      'an answer that is not read',
      '/docs',
      {
        docs: async () => ({
          status: 200,
          contentType: 'text/html',
          stream: { kind: 'pieces', pieces: withoutEnd() },
        }),
      },
    ],
  ])('waits no longer than its deadline for %s', async (_, path, routes) => {
    const { app, gone, read } = await held(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`, {
      routes,
      until: 'request',
      drainMsMax: 50,
    })
    await app.close()
    read()
    await gone
  })

  test('control: Node by itself waits for a client that sends nothing', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const accepted = new Promise((resolve) => server.once('connection', resolve))
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    await accepted
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    const open = await new Promise((resolve, reject) =>
      server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    )
    expect(open).toBe(1)
    client.destroy()
    await closed
  })
})
