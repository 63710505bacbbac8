import { connect, type Socket } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, test, vi } from 'vitest'
import { requireCredential as guardExpress } from '../../src/adapters/express.ts'
import { requireCredential as guardFastify } from '../../src/adapters/fastify.ts'
import { requireCredential as guardFetch } from '../../src/adapters/fetch.ts'
import { requireCredential as guardHono } from '../../src/adapters/hono.ts'
import { requireCredential as guardMcp, guardMcp as guardMcpFetch } from '../../src/adapters/mcp.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestCredential } from '../../src/testing/index.ts'
import { type Listening, listening } from '../listening.ts'

const BODY = '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"orders://all"}}'
const DEMAND = { scope: 'orders:write' }

type Serve = (guard: Guard, onHandler: () => void) => Promise<Listening>

const onExpress =
  (require: (guard: Guard) => unknown): Serve =>
  (guard, onHandler) => {
    const app = express()
    app.post('/orders', require(guard) as express.RequestHandler, express.json(), (_request, response) => {
      onHandler()
      response.json({ done: true })
    })
    app.use(((_error, _request, response, _next) => {
      response.status(500).end()
    }) satisfies express.ErrorRequestHandler)
    return listening(app)
  }

/** A request of Bun: when it is destroyed before its connection, Bun answers with an empty 200. */
const onBun: Serve = (guard, onHandler) => {
  const app = express()
  app.use((request, _response, next) => {
    const destroy = request.destroy.bind(request)
    request.destroy = () => {
      if (!request.socket.destroyed) request.socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
      return destroy()
    }
    next()
  })
  app.post('/orders', guardExpress(guard, DEMAND), express.json(), (_request, response) => {
    onHandler()
    response.json({ done: true })
  })
  return listening(app)
}

const onFastify: Serve = async (guard, onHandler) => {
  const app = Fastify()
  app.post('/orders', { preParsing: guardFastify(guard, DEMAND) }, async () => {
    onHandler()
    return { done: true }
  })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  return { origin, port: Number(new URL(origin).port), close: () => app.close() }
}

type Fetch = (request: Request) => Response | Promise<Response>

const onFetch =
  (createFetch: (guard: Guard, onHandler: () => void) => Fetch): Serve =>
  (guard, onHandler) =>
    listening(createAdaptorServer({ fetch: createFetch(guard, onHandler) }) as never)

const onMcpFetch = onFetch((guard, onHandler) => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'orders', version: '1.0.0' })
    server.registerResource('all', 'orders://all', {}, async () => {
      onHandler()
      return { contents: [{ uri: 'orders://all', text: '[]' }] }
    })
    return server
  })
  return guardMcpFetch(guard, handler, DEMAND)
})

describe.each<[string, Serve]>([
  ['express', onExpress((guard) => guardExpress(guard, DEMAND))],
  ['express on Bun', onBun],
  ['fastify', onFastify],
  ['mcp', onExpress((guard) => guardMcp(guard, DEMAND))],
  [
    'mcp with the scopes of tools',
    onExpress((guard) => guardMcp(guard, DEMAND, { tools: { scopes: {}, default: 'orders:write' } })),
  ],
  [
    'hono',
    onFetch((guard, onHandler) => {
      const app = new Hono()
      app.post('/orders', guardHono(guard, DEMAND), async (c) => {
        await c.req.json()
        onHandler()
        return c.json({ done: true })
      })
      return app.fetch
    }),
  ],
  [
    'fetch',
    onFetch((guard, onHandler) =>
      guardFetch(guard, DEMAND, async (request) => {
        await request.json()
        onHandler()
        return Response.json({ done: true })
      }),
    ),
  ],
  ['mcp on web-standard requests', onMcpFetch],
])('I-1: a body whose end is held back, with %s', (_, serve) => {
  /** Sends all but the last byte, and returns when the guard has accepted the request. */
  async function hold(guard: Guard, port: number, credential: TestCredential): Promise<Socket> {
    const verify = vi.spyOn(guard, 'verify')
    const socket = connect(port, '127.0.0.1')
    const head = `POST /orders HTTP/1.1\r\nHost: shop.localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${BODY.length}\r\n`
    socket.write(`${head}X-Service-Credential: ${credential.header}\r\n\r\n${BODY.slice(0, -1)}`)
    await vi.waitFor(() => expect(verify).toHaveBeenCalled())
    expect(await verify.mock.results[0]?.value).toMatchObject({ ok: true })
    verify.mockRestore()
    return socket
  }

  async function run(act: (site: Awaited<ReturnType<typeof createTestSite>>) => Promise<void>) {
    const site = await createTestSite({ siteId: 'shop.localhost' })
    const guard = await site.guard()
    let ran = 0
    const app = await serve(guard, () => ran++)
    const credential = await site.issue({ user: 'alice', scope: 'orders:write' })
    const socket = await hold(guard, app.port, credential)
    let answer = ''
    const over = new Promise<void>((resolve) => {
      socket.on('data', (bytes) => {
        answer += bytes
        if (answer.includes('\r\n\r\n')) resolve()
      })
      socket.on('error', () => undefined).on('close', () => resolve())
    })
    await act(site)
    socket.write(BODY.slice(-1))
    await over
    socket.destroy()
    await app.close()
    await site.close()
    return { ran, status: answer.slice(9, 12) }
  }

  test('reaches no handler after the revocation', async () => {
    const { ran, status } = await run((site) => site.revokeUser('alice'))
    expect(ran).toBe(0)
    // An MCP server that cannot read the body may be the first to answer, with 400.
    expect(['', '400', '401']).toContain(status)
  })

  test('control: reaches the handler while access lasts', async () => {
    const { ran, status } = await run((site) => site.revokeUser('bob'))
    expect([ran, status]).toEqual([1, '200'])
  })
})

describe('I-1: a web-standard body that arrives after access has ended', () => {
  /** Answers with what the handler has got of the body, which ends when `act` is over. */
  async function read(
    handle: (request: Request) => unknown,
    act: (site: Awaited<ReturnType<typeof createTestSite>>) => Promise<void>,
  ): Promise<Response> {
    const site = await createTestSite({ siteId: 'shop.localhost' })
    const route = guardFetch(await site.guard(), DEMAND, async (request) =>
      Response.json({ read: typeof (await handle(request)) }),
    )
    const { header } = await site.issue({ user: 'alice', scope: 'orders:write' })
    // Pulled only when the handler reads.
    const pull = async (controller: ReadableStreamDefaultController) => {
      await act(site)
      controller.enqueue(new TextEncoder().encode(BODY))
      controller.close()
    }
    const body = new ReadableStream({ pull }, { highWaterMark: 0 })
    const headers = {
      'x-service-credential': header,
      'content-type': 'application/x-www-form-urlencoded',
    }
    const init: RequestInit & { duplex: 'half' } = { method: 'POST', headers, body, duplex: 'half' }
    const answer = await route(new Request('http://shop.localhost/orders', init))
    await site.close()
    return answer
  }

  const reads: readonly [string, (request: Request) => unknown][] = [
    ['json', (request) => request.json()],
    ['text', (request) => request.text()],
    ['arrayBuffer', (request) => request.arrayBuffer()],
    ['blob', (request) => request.blob()],
    ['formData', (request) => request.formData()],
    ['json of a copy', (request) => request.clone().json()],
    ['text of a copy of a copy', (request) => request.clone().clone().text()],
  ]

  test.each(reads)('%s is answered with the denial', async (_name, handle) => {
    const answer = await read(handle, (site) => site.revokeUser('alice'))
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ code: 'credential_revoked' })
  })

  test.each(reads)('control: %s is given to the handler while access lasts', async (_name, handle) => {
    expect((await read(handle, (site) => site.revokeUser('bob'))).status).toBe(200)
  })
})
