import { once } from 'node:events'
import { connect } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import {
  getAccessSignal,
  getCredential,
  protectedResource,
  requireCredential,
} from '../../src/adapters/fastify.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { createTestSite } from '../../src/testing/index.ts'
import { RESOURCE } from './oauth-suite.ts'
import { adapterSuite } from './suite.ts'

function application(guard: Guard, onStreamEnd: (reason: unknown) => void): FastifyInstance {
  const app = Fastify()
  const read = { preParsing: requireCredential(guard, { scope: 'orders:read' }) }
  const write = { preParsing: requireCredential(guard, { scope: 'orders:write' }, { bodyBytesMax: 1024 }) }
  const who = (request: FastifyRequest) => {
    const { subject, presented } = getCredential(request)
    return { ppid: subject.ppid, scope: subject.scope, presented }
  }
  const resource = protectedResource(RESOURCE)
  app.addHook('onRequest', resource)
  app.get('/orders', read, async (request) => who(request))
  app.get(
    '/resource/orders',
    { preParsing: requireCredential(guard, { scope: 'orders:read' }, { resource }) },
    async (request) => who(request),
  )
  const take = async (request: FastifyRequest) => {
    const credential = getCredential(request)
    return { received: request.body, holder: credential.presented === 'credential' && credential.holder }
  }
  app.post('/orders', write, take)
  app.post('/twice', { preParsing: [requireCredential(guard), write.preParsing] }, take)
  app.get('/stream', read, (request, reply) => {
    const signal = getAccessSignal(request)
    reply.hijack()
    reply.raw.write('open\n')
    signal.addEventListener('abort', () => {
      onStreamEnd(signal.reason)
      reply.raw.destroy()
    })
  })
  app.get('/broken', read, async () => {
    throw new Error('mine')
  })
  app.get('/failing-stream', read, async (request) => {
    getAccessSignal(request)
    throw new Error('mine')
  })
  app.get('/unguarded', async (request) => who(request))
  app.register(
    async (mounted) => {
      // For a whole plugin at once.
      mounted.addHook('preParsing', read.preParsing)
      mounted.get('/orders', async (request) => who(request))
      mounted.register(async (nested) => void nested.get('/orders', async (request) => who(request)), {
        prefix: '/nested',
      })
    },
    { prefix: '/api/v1' },
  )
  return app
}

adapterSuite({
  name: 'fastify',
  async serve(guard, onStreamEnd) {
    const app = application(guard, onStreamEnd)
    const origin = await app.listen({ host: '127.0.0.1', port: 0 })
    const close = async () => {
      app.server.closeAllConnections()
      await app.close()
    }
    return { origin, port: Number(new URL(origin).port), close }
  },
})

test('A001: no handler runs for a caller that leaves while its denial is in an onSend hook', async () => {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const guard = await site.guard()
  const resource = protectedResource(RESOURCE)
  const app = Fastify()
  const entered: (() => void)[] = []
  app.addHook('onSend', async (_request, reply, payload) => {
    entered.shift()?.()
    await new Promise((resolve) => reply.raw.once('close', resolve))
    await new Promise((resolve) => setImmediate(resolve))
    return payload
  })
  let ran = 0
  app.all(
    '/*',
    { preParsing: requireCredential(guard, { scope: 'orders:read' }, { resource }) },
    async () => {
      ran++
      return 'mine'
    },
  )
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const left: Promise<unknown>[] = []
  app.server.on('request', (_, response) => left.push(once(response, 'close')))
  const metadata = `${new URL(resource.metadataUrl).pathname}`
  for (const [method, path] of [
    ['GET', '/orders'],
    ['DELETE', '/orders'],
    ['POST', '/orders'],
    ['GET', metadata],
  ]) {
    const isEntered = new Promise<void>((resolve) => entered.push(resolve))
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: shop.localhost\r\n\r\n`)
    await isEntered
    socket.destroy()
    await left.at(-1)
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(left).toHaveLength(4)
  expect(ran).toBe(0)
  await app.close()
  await site.close()
})

test('a hook that comes first and puts another stream in place is found out, and no request is accepted', async () => {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const app = application(await site.guard(), () => undefined)
  app.addHook('preParsing', async (_request, _reply, payload) =>
    payload.pipe(new (await import('node:stream')).PassThrough()),
  )
  const bound = await site.issue({ scope: 'orders:write', bound: true })
  const headers = {
    'content-type': 'application/json',
    ...(await bound.headersFor('POST', 'http://127.0.0.1/orders', '{}')),
  }
  const answer = await app.inject({
    method: 'POST',
    url: '/orders',
    headers: { ...headers, host: '127.0.0.1' },
    payload: '{}',
  })
  expect([answer.statusCode, answer.json()]).toMatchObject([
    500,
    { message: expect.stringContaining('the body was read before') },
  ])
  await app.close()
  await site.close()
})

test('a body that a hook made up for a request without one is not taken for signed', async () => {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const app = application(await site.guard(), () => undefined)
  app.addHook('preParsing', async () => (await import('node:stream')).Readable.from(['{"amount":1000000}']))
  const bound = await site.issue({ scope: 'orders:write', bound: true })
  const headers = await bound.headersFor('POST', 'http://127.0.0.1/orders')
  const answer = await app.inject({
    method: 'POST',
    url: '/orders',
    headers: { ...headers, host: '127.0.0.1' },
  })
  expect([answer.statusCode, answer.json()]).toMatchObject([
    500,
    { message: expect.stringContaining('the body was read before') },
  ])
  await app.close()
  await site.close()
})

test('as another hook than preParsing it says so', async () => {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const app = Fastify()
  app.get('/orders', { onRequest: requireCredential(await site.guard()) as never }, async () => 'in')
  const answer = await app.inject({
    url: '/orders',
    headers: { 'x-service-credential': (await site.issue()).header },
  })
  expect([answer.statusCode, answer.json()]).toMatchObject([
    500,
    { message: expect.stringContaining('preParsing') },
  ])
  await app.close()
  await site.close()
})
