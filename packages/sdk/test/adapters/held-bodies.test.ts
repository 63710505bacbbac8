import { connect, type Socket } from 'node:net'
import express from 'express'
import Fastify from 'fastify'
import { describe, expect, test, vi } from 'vitest'
import { requireCredential as guardExpress } from '../../src/adapters/express.ts'
import { requireCredential as guardFastify } from '../../src/adapters/fastify.ts'
import { requireCredential as guardMcp } from '../../src/adapters/mcp.ts'
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

const onFastify: Serve = async (guard, onHandler) => {
  const app = Fastify()
  app.post('/orders', { preParsing: guardFastify(guard, DEMAND) }, async () => {
    onHandler()
    return { done: true }
  })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  return { origin, port: Number(new URL(origin).port), close: () => app.close() }
}

describe.each<[string, Serve]>([
  ['express', onExpress((guard) => guardExpress(guard, DEMAND))],
  ['fastify', onFastify],
  ['mcp', onExpress((guard) => guardMcp(guard, DEMAND))],
  [
    'mcp with the scopes of tools',
    onExpress((guard) => guardMcp(guard, DEMAND, { tools: { scopes: {}, default: 'orders:write' } })),
  ],
])('I-1: a body whose end is held back, with %s', (_, serve) => {
  /** Sends all but the last byte, and returns when the guard has accepted the request. */
  async function hold(guard: Guard, port: number, credential: TestCredential): Promise<Socket> {
    const verify = vi.spyOn(guard, 'verify')
    const socket = connect(port, '127.0.0.1')
    const head = `POST /orders HTTP/1.1\r\nHost: shop.localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`
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
    expect(['', '401']).toContain(status)
  })

  test('control: reaches the handler while access lasts', async () => {
    const { ran, status } = await run((site) => site.revokeUser('bob'))
    expect([ran, status]).toEqual([1, '200'])
  })
})
