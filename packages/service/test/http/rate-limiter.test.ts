import { rateLimits } from '@countersign/core/contract'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { RateLimits } from '../../src/config.ts'
import { createRateLimiter } from '../../src/http/rate-limiter.ts'
import { createSecretText } from '../../src/keys/secret-text.ts'
import { Problem } from '../../src/problem.ts'
import type { Routes } from '../../src/routes/all.ts'
import { type AppDouble, createAppDouble } from './app-double.ts'

const tight = { ...rateLimits, keyless: { ...rateLimits.keyless, requests: 5 } }
const ADDRESS = '192.0.2.1'

function refusalOf(context: () => void): Problem | undefined {
  try {
    context()
    return undefined
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

describe('a pace', () => {
  test('lets the allowance through, then refuses and says how long to wait', () => {
    const rateLimiter = createRateLimiter(tight)
    for (let i = 0; i < 5; i++) rateLimiter.consume('keyless', ADDRESS, 1_000_000)
    const refused = refusalOf(() => rateLimiter.consume('keyless', ADDRESS, 1_000_000))
    expect(refused?.code).toBe('rate_limited')
    expect(refused?.facts).toMatchObject({ policy: { name: 'keyless', quota: 5, windowSeconds: 10 } })
    rateLimiter.consume('keyless', '192.0.2.2', 1_000_000)
  })
  test('lets one more through when the time it named has passed', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 8, maxLength: 60 }), (gaps) => {
        const rateLimiter = createRateLimiter(tight)
        let nowMs = 1_000_003
        for (const gap of gaps) {
          nowMs += gap
          const refused = refusalOf(() => rateLimiter.consume('keyless', ADDRESS, nowMs))
          if (refused === undefined) continue
          nowMs += (refused.facts.retryAfterSeconds ?? 0) * 1000
          expect(refusalOf(() => rateLimiter.consume('keyless', ADDRESS, nowMs))).toBeUndefined()
        }
      }),
    )
  })
  test('never lets more than twice the allowance through in any window', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2500 }), { minLength: 30, maxLength: 200 }), (gaps) => {
        const rateLimiter = createRateLimiter(tight)
        const passed: number[] = []
        let nowMs = 1_000_003
        for (const gap of gaps) {
          nowMs += gap
          if (refusalOf(() => rateLimiter.consume('keyless', ADDRESS, nowMs)) === undefined)
            passed.push(nowMs)
        }
        for (const start of passed)
          expect(passed.filter((at) => at >= start && at < start + 10_000).length).toBeLessThanOrEqual(10)
      }),
    )
  })
  test('counts failures apart from checking them', () => {
    const rateLimiter = createRateLimiter({
      ...rateLimits,
      wrong_key: { ...rateLimits.wrong_key, requests: 2 },
    })
    for (let i = 0; i < 100; i++) rateLimiter.check('wrong_key', ADDRESS, 0)
    rateLimiter.record('wrong_key', ADDRESS, 0)
    rateLimiter.check('wrong_key', ADDRESS, 0)
    rateLimiter.record('wrong_key', ADDRESS, 0)
    expect(refusalOf(() => rateLimiter.check('wrong_key', ADDRESS, 0))?.code).toBe('rate_limited')
  })
  test('takes a whole IPv6 network for one caller', () => {
    const rateLimiter = createRateLimiter(tight)
    for (let i = 0; i < 5; i++) rateLimiter.consume('keyless', `2001:db8:0:1::${i}`, 0)
    expect(refusalOf(() => rateLimiter.consume('keyless', '2001:db8::1:ffff:0:0:9', 0))?.code).toBe(
      'rate_limited',
    )
    rateLimiter.consume('keyless', '2001:db8:0:2::1', 0)
  })
  test('remembers so many callers and no more', () => {
    const rateLimiter = createRateLimiter(tight, 2)
    for (let i = 0; i < 5; i++) rateLimiter.consume('keyless', ADDRESS, 0)
    rateLimiter.consume('keyless', '192.0.2.2', 0)
    expect(refusalOf(() => rateLimiter.consume('keyless', ADDRESS, 0))?.code).toBe('rate_limited')
    rateLimiter.consume('keyless', '192.0.2.3', 0)
    expect(refusalOf(() => rateLimiter.consume('keyless', ADDRESS, 0))).toBeUndefined()
  })
})

describe('requests', () => {
  const calls = { work: 0 }
  const routes = {
    introspect: async () => ({ status: 200, body: (calls.work++, { active: false }) as object }),
    revocation_status: async () => ({
      status: 200,
      body: { success: true, as_of: { epoch: 'm3x9q2k7v5t1', time: '2030-01-01T00:00:00Z' }, statuses: {} },
    }),
    protected_action: async (request) => {
      calls.work++
      request.requirePresentation()
      throw new Problem(request.body?.action === 'ours' ? 'revocation_view_stale' : 'issuer_untrusted')
    },
    forward_auth: async () => {
      throw new Problem('issuer_untrusted')
    },
    alive: async () => ({ status: 200, body: { status: 'alive' } }),
  } satisfies Routes as Routes
  const low = Object.fromEntries(
    Object.entries(rateLimits).map(([name, limit]) => [name, { ...limit, requests: 3 }]),
  ) as unknown as RateLimits
  let double: AppDouble
  const open = (more = {}, trustedProxies: readonly string[] = []) => {
    calls.work = 0
    double = createAppDouble({ routes, config: { rateLimits: { ...low, ...more }, trustedProxies } })
  }
  afterEach(() => double.app.close())

  const STATUS = '/api/wallet/revocation-status?credential_ids=cred_aaaaaaaa'
  const introspect = (key: string, remoteAddress = ADDRESS) =>
    double.call('POST', '/api/auth/introspect', {
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      payload: { token: 'x' },
      remoteAddress,
    })
  const context = (payload: object = {}, remoteAddress = ADDRESS) =>
    double.call('POST', '/api/protected/action', {
      headers: { 'x-service-credential': 'abc' },
      payload,
      remoteAddress,
    })

  test('without a key are limited by address', async () => {
    open()
    for (let i = 0; i < 3; i++)
      expect((await double.call('GET', STATUS, { remoteAddress: ADDRESS })).status).toBe(200)
    const refused = await double.call('GET', STATUS, { remoteAddress: ADDRESS })
    expect([refused.status, refused.json.code, refused.headers['ratelimit-policy']]).toEqual([
      429,
      'rate_limited',
      '"keyless";q=3;w=10',
    ])
    expect((await double.call('GET', STATUS, { remoteAddress: '192.0.2.2' })).status).toBe(200)
  })
  test('I-19: for pages outside of the contract are limited with them; files of pages are not', {
    tags: 'long',
  }, async () => {
    open({ keyless: { ...rateLimits.keyless, requests: 5 } })
    const get = (url: string) => double.call('GET', url, { remoteAddress: ADDRESS })
    for (const path of ['/', '/problems', '/openapi.yaml', '/llms-full.txt', '/robots.txt'])
      expect((await get(path)).status).not.toBe(429)
    for (const path of ['/', '/llms-full.txt', '/openapi.yaml', '/console'])
      expect((await get(path)).headers['ratelimit-policy']).toBe('"keyless";q=5;w=10')
    expect((await double.call('GET', STATUS, { remoteAddress: ADDRESS })).status).toBe(429)
    expect((await get('/favicon.svg')).status).toBe(200)
    expect((await double.call('GET', '/robots.txt', { remoteAddress: '192.0.2.2' })).status).toBe(200)
  })
  test('with a key are limited by key, wherever they come from', async () => {
    open()
    const key = double.key()
    for (let i = 0; i < 3; i++) expect((await introspect(key, `192.0.2.${i}`)).status).toBe(200)
    expect((await introspect(key, '192.0.2.9')).headers['ratelimit-policy']).toBe('"key";q=3;w=10')
    expect((await introspect(double.key())).status).toBe(200)
  })
  test('with wrong keys are limited by address, without keeping out a good key behind the same address', async () => {
    open({ key: rateLimits.key })
    const good = double.key()
    expect((await introspect(good)).status).toBe(200)
    for (let i = 0; i < 3; i++) expect((await introspect('svc_sk_wrong')).status).toBe(401)
    expect((await introspect('svc_sk_wrong')).headers['ratelimit-policy']).toBe('"wrong_key";q=3;w=10')
    double.now.ms += 1500 // longer than a key is remembered
    expect((await introspect(good)).status).toBe(200)
  })
  test('I-19: with wrong keys do not keep out a good key that the node has not seen; few such keys are looked up', async () => {
    open({ key: rateLimits.key })
    for (let i = 0; i < 3; i++) expect((await introspect('svc_sk_wrong')).status).toBe(401)
    expect((await introspect('svc_sk_wrong')).status).toBe(429)
    const good = double.key()
    expect((await introspect(good)).status).toBe(200)
    const unknown = (byte: number) => createSecretText('svc_sk_', Buffer.alloc(32, byte))
    for (const byte of [201, 202]) expect((await introspect(unknown(byte))).status).toBe(401)
    const { status, headers } = await introspect(unknown(203))
    expect([status, headers['ratelimit-policy']]).toEqual([429, '"unknown_key";q=3;w=10'])
    expect((await introspect('svc_sk_wrong')).headers['ratelimit-policy']).toBe('"wrong_key";q=3;w=10')
    expect((await introspect(double.key())).status).toBe(429)
    expect((await introspect(good)).status).toBe(200)
  })
  test('to protected routes are limited by failures only, before any work', async () => {
    open()
    for (let i = 0; i < 3; i++) expect((await context()).status).toBe(401)
    const before = calls.work
    const refused = await context()
    expect([refused.status, refused.headers['ratelimit-policy']]).toEqual([
      429,
      '"failed_presentation";q=3;w=10',
    ])
    expect(calls.work).toBe(before)
    expect((await context({}, '192.0.2.2')).status).toBe(401)
  })
  describe('through a proxy that asks for its callers', () => {
    const PROXY = '192.0.2.80'
    const forwarded = (key: string, client: string) =>
      double.call('GET', '/api/auth/verify', {
        headers: { 'x-api-key': key, 'x-service-credential': 'abc', 'x-forwarded-for': client },
        remoteAddress: PROXY,
      })
    test('are not limited by the address of the proxy: one caller of it must not lock out the others', async () => {
      open()
      const key = double.key()
      for (let i = 0; i < 10; i++) expect((await forwarded(key, ADDRESS)).json.code).toBe('issuer_untrusted')
    })
    test('are limited by the address that a trusted proxy names', async () => {
      open({}, [PROXY])
      const key = double.key()
      for (let i = 0; i < 3; i++) expect((await forwarded(key, ADDRESS)).json.code).toBe('issuer_untrusted')
      expect((await forwarded(key, ADDRESS)).headers['ratelimit-policy']).toBe(
        '"failed_presentation";q=3;w=10',
      )
      expect((await forwarded(key, '192.0.2.2')).json.code).toBe('issuer_untrusted')
    })
  })
  test('that fail through no fault of the caller do not count', async () => {
    open()
    for (let i = 0; i < 6; i++) expect((await context({ action: 'ours' })).status).toBe(503)
  })
  test('for health are not limited', async () => {
    open()
    for (let i = 0; i < 10; i++)
      expect((await double.call('GET', '/healthz', { remoteAddress: ADDRESS })).status).toBe(200)
  })
})
