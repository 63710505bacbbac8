import express, { type ErrorRequestHandler } from 'express'
import { describe, expect, test } from 'vitest'
import {
  captureRawBody,
  getAccessSignal,
  getCredential,
  protectedResource,
  requireCredential,
} from '../../src/adapters/express.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { createTestSite } from '../../src/testing/index.ts'
import { listening } from '../listening.ts'
import { RESOURCE } from './oauth-suite.ts'
import { rawRequest } from './raw-request.ts'
import { adapterSuite, refusal } from './suite.ts'

const quiet: ErrorRequestHandler = (error, _request, response, _next) =>
  void response.status(500).send(String(error.message))

/**
 * `first`: the guard stands in front of the parser. `kept`: the parser comes first and keeps the
 * bytes.
 */
function application(guard: Guard, order: 'first' | 'kept', onStreamEnd: (reason: unknown) => void) {
  const app = express()
  const parse = express.json(order === 'kept' ? { verify: captureRawBody, strict: false } : { strict: false })
  const who: express.RequestHandler = (request, response) => {
    const { subject, presented } = getCredential(request)
    response.json({ ppid: subject.ppid, scope: subject.scope, presented })
  }
  const read = requireCredential(guard, { scope: 'orders:read' })
  const write = requireCredential(guard, { scope: ['orders:write'] }, { bodyBytesMax: 1024 })
  const take: express.RequestHandler = (request, response) => {
    const credential = getCredential(request)
    response.json({
      received: request.body,
      holder: credential.presented === 'credential' && credential.holder,
    })
  }
  if (order === 'kept') app.use(parse)
  const resource = protectedResource(RESOURCE)
  app.use(resource)
  app.get('/orders', read, who)
  app.get('/resource/orders', requireCredential(guard, { scope: 'orders:read' }, { resource }), who)
  app.post('/orders', write, parse, take)
  app.post('/twice', requireCredential(guard), write, parse, take)
  app.get('/stream', read, (request, response) => {
    const signal = getAccessSignal(request)
    response.write('open\n')
    signal.addEventListener('abort', () => {
      onStreamEnd(signal.reason)
      response.destroy()
    })
  })
  app.get('/broken', read, () => {
    throw new Error('mine')
  })
  app.get('/failing-stream', read, (request) => {
    getAccessSignal(request)
    throw new Error('mine')
  })
  app.get('/unguarded', who)
  const nested = express.Router().get('/orders', read, who)
  const mounted = express().get('/orders', read, who).use('/nested', nested)
  app.use('/api/v1', mounted)
  app.use(quiet)
  return app
}

adapterSuite({
  name: 'express',
  serve: (guard, onStreamEnd) => listening(application(guard, 'first', onStreamEnd)),
})

describe('express with a parser in front', () => {
  async function served(order: 'first' | 'kept', parse?: express.RequestHandler) {
    const site = await createTestSite({ siteId: 'shop.localhost' })
    const guard = await site.guard()
    const inner = application(guard, order, () => undefined)
    const app = await listening(parse === undefined ? inner : express().use(parse).use(inner).use(quiet))
    const bound = await site.issue({ scope: ['orders:read', 'orders:write'], bound: true })
    const send = async (signed: string, sent = signed) => {
      const headers = {
        'content-type': 'application/json',
        ...(await bound.headersFor('POST', `${app.origin}/orders`, signed)),
      }
      return rawRequest(app.origin, { method: 'POST', path: '/orders', headers, body: sent })
    }
    const close = async () => {
      await app.close()
      await site.close()
    }
    return { send, close }
  }

  test('captureRawBody lets the digest be checked over the bytes that came, not over what was parsed', async () => {
    const { send, close } = await served('kept')
    const body = '{ "b": 1.0,\n "a": "\\u0041" }'
    expect((await send(body)).json()).toEqual({ received: { b: 1, a: 'A' }, holder: 'verified' })
    expect(refusal(await send(body, '{ "b": 1.0, "a": "A" }'))).toBe('proof_invalid')
    expect((await send('')).json()).toMatchObject({ holder: 'verified' })
    await close()
  })

  test('a parser that keeps nothing is found out, and no request is accepted', async () => {
    const { send, close } = await served('first', express.json())
    const answer = await send('{"a":1}')
    expect([answer.status, answer.text]).toEqual([
      500,
      expect.stringContaining('the body was read before requireCredential saw it'),
    ])
    await close()
  })
})

test('a scope that is none is told when the route is made', () => {
  expect(() => requireCredential({} as Guard, { scope: 'not a scope' })).toThrow(TypeError)
})
