import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { expect, expectTypeOf, test } from 'vitest'
import {
  type CredentialVariables,
  getAccessSignal,
  getCredential,
  protectedResource,
  requireCredential,
} from '../../src/adapters/hono.ts'
import type { Guard } from '../../src/guard/guard.ts'
import type { GuardAllow } from '../../src/guard/verdict.ts'
import { createTestSite } from '../../src/testing/index.ts'
import { listening } from '../listening.ts'
import { RESOURCE } from './oauth-suite.ts'
import { adapterSuite, expectUnwatchedHead } from './suite.ts'

type Env = { Variables: CredentialVariables }

function application(guard: Guard, onStreamEnd: (reason: unknown) => void) {
  const app = new Hono<Env>()
  const read = requireCredential(guard, { scope: 'orders:read' })
  const write = requireCredential(guard, { scope: 'orders:write' }, { bodyBytesMax: 1024 })
  const who = (c: Context<Env>) => {
    const { subject, presented } = c.get('credential')
    return c.json({ ppid: subject.ppid, scope: subject.scope, presented })
  }
  const resource = protectedResource(RESOURCE)
  app.use(resource)
  app.get('/orders', read, who)
  app.get('/resource/orders', requireCredential(guard, { scope: 'orders:read' }, { resource }), who)
  const take = async (c: Context<Env>) => {
    const credential = getCredential(c)
    const text = await c.req.text()
    return c.json({
      received: text === '' ? undefined : JSON.parse(text),
      holder: credential.presented === 'credential' && credential.holder,
    })
  }
  app.post('/orders', write, take)
  app.post('/twice', requireCredential(guard), write, take)
  app.get('/stream', read, (c) => {
    const signal = getAccessSignal(c)
    signal.addEventListener('abort', () => onStreamEnd(signal.reason))
    return c.body(
      new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('open\n')) }),
    )
  })
  app.get('/broken', read, () => {
    throw new Error('mine')
  })
  app.get('/failing-stream', read, (c) => {
    getAccessSignal(c)
    throw new Error('mine')
  })
  app.get('/unguarded', (c) => c.json(getCredential(c).subject))
  const nested = new Hono<Env>().get('/orders', read, who)
  app.route('/api/v1', new Hono<Env>().get('/orders', read, who).route('/nested', nested))
  app.onError((error, c) => c.text(error.message, 500))
  return app
}

adapterSuite({
  name: 'hono',
  serve: (guard, onStreamEnd) =>
    listening(createAdaptorServer({ fetch: application(guard, onStreamEnd).fetch }) as never),
})

test('middleware that reads the body first is found out, and no request is accepted', async () => {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const app = new Hono()
  app.use(async (c, next) => {
    await c.req.json()
    await next()
  })
  app.post('/orders', requireCredential(await site.guard(), { scope: 'orders:write' }), (c) => c.text('in'))
  app.onError((error, c) => c.text(error.message, 500))
  const bound = await site.issue({ scope: 'orders:write', bound: true })
  const url = 'http://127.0.0.1/orders'
  const answer = await app.request(url, {
    method: 'POST',
    body: '{}',
    headers: await bound.headersFor('POST', url, '{}'),
  })
  expect([answer.status, await answer.text()]).toEqual([
    500,
    expect.stringContaining('the body was read before'),
  ])
  await site.close()
})

test('a handler behind the guard knows the type of the credential, without any type arguments', async () => {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const guard = await site.guard()
  // As in the guide.
  const app = new Hono()
  app.get('/orders', requireCredential(guard, { scope: 'orders:read' }), (c) => {
    expectTypeOf(c.get('credential')).toEqualTypeOf<GuardAllow>()
    return c.json({ caller: c.get('credential').subject.ppid })
  })
  const { header, ppid } = await site.issue()
  const answer = await app.request('http://127.0.0.1/orders', { headers: { 'x-service-credential': header } })
  expect(await answer.json()).toEqual({ caller: ppid })
  await site.close()
})

test('I-19: an answer to HEAD is not watched, because its body is never read', () =>
  expectUnwatchedHead((guard, request) => application(guard, () => undefined).request(request)))
