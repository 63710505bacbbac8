import { createAdaptorServer } from '@hono/node-server'
import { expect, expectTypeOf, test } from 'vitest'
import {
  denialResponse,
  getAccessSignal,
  getCredential,
  protectedResource,
  requireCredential,
  verifyRequest,
} from '../../src/adapters/fetch.ts'
import type { Guard } from '../../src/guard/guard.ts'
import type { GuardAllow } from '../../src/guard/verdict.ts'
import { createTestSite } from '../../src/testing/index.ts'
import { listening } from '../listening.ts'
import { RESOURCE } from './oauth-suite.ts'
import { adapterSuite, expectUnwatchedHead } from './suite.ts'

/** Web-standard handlers behind a table of routes, as a worker or Next would have them. */
function application(
  guard: Guard,
  onStreamEnd: (reason: unknown) => void,
): (request: Request) => Promise<Response> {
  const who = (_request: Request, { subject, presented }: GuardAllow) =>
    Response.json({ ppid: subject.ppid, scope: subject.scope, presented })
  const read = { scope: 'orders:read' }
  const orders = requireCredential(guard, read, who)
  const take = requireCredential(
    guard,
    { scope: 'orders:write' },
    async (request, credential) => {
      const text = await request.text()
      const holder = credential.presented === 'credential' && credential.holder
      return Response.json({ received: text === '' ? undefined : JSON.parse(text), holder })
    },
    { bodyBytesMax: 1024 },
  )
  const resource = protectedResource(RESOURCE)
  const routes: Record<string, (request: Request) => Response | Promise<Response>> = {
    'GET /orders': orders,
    'GET /resource/orders': requireCredential(guard, read, who, { resource }),
    'GET /api/v1/orders': orders,
    'GET /api/v1/nested/orders': orders,
    'POST /orders': take,
    'POST /twice': requireCredential(guard, (request) => take(request)),
    'GET /stream': requireCredential(guard, read, (request) => {
      const signal = getAccessSignal(request)
      signal.addEventListener('abort', () => onStreamEnd(signal.reason))
      return new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('open\n')) }),
      )
    }),
    'GET /broken': requireCredential(guard, read, () => {
      throw new Error('mine')
    }),
    'GET /failing-stream': requireCredential(guard, read, (request) => {
      getAccessSignal(request)
      throw new Error('mine')
    }),
    'GET /unguarded': (request) => Response.json(getCredential(request).subject),
  }
  return async (request) => {
    const route = routes[`${request.method} ${new URL(request.url).pathname}`]
    try {
      return resource(request) ?? (await route?.(request)) ?? new Response('not found', { status: 404 })
    } catch (error) {
      return new Response((error as Error).message, { status: 500 })
    }
  }
}

adapterSuite({
  name: 'fetch',
  serve: (guard, onStreamEnd) =>
    listening(createAdaptorServer({ fetch: application(guard, onStreamEnd) }) as never),
})

test('what a framework passes besides the request reaches the handler', async () => {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const route = requireCredential(
    await site.guard(),
    (_request, credential, context: { params: { id: string } }) => {
      return Response.json({ id: context.params.id, ppid: credential.subject.ppid })
    },
  )
  expectTypeOf(route).parameters.toEqualTypeOf<[Request, { params: { id: string } }]>()
  const { header, ppid } = await site.issue()
  const request = new Request('https://shop.example/orders/7', {
    headers: { 'x-service-credential': header },
  })
  expect(await (await route(request, { params: { id: '7' } })).json()).toEqual({ id: '7', ppid })
  await site.close()
})

test('middleware may look at the verdict itself', async () => {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const guard = await site.guard()
  const verdict = await verifyRequest(guard, new Request('https://shop.example/'))
  if (verdict.ok) throw new Error('no caller was there')
  const answer = denialResponse(verdict)
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringContaining('ServiceCredential'),
  ])
  await site.close()
})

test('an answer whose signal was not asked for is passed on as it is', async () => {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const given = new Response('as it is')
  const route = requireCredential(await site.guard(), () => given)
  const { header } = await site.issue()
  expect(
    await route(new Request('https://shop.example/', { headers: { 'x-service-credential': header } })),
  ).toBe(given)
  await site.close()
})

test('I-19: an answer to HEAD is not watched, because its body is never read', () =>
  expectUnwatchedHead((guard, request) =>
    requireCredential(guard, (guarded) => {
      getAccessSignal(guarded)
      return new Response('a body that no server reads')
    })(request),
  ))
