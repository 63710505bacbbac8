import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as express from '../../src/adapters/express.ts'
import * as fastify from '../../src/adapters/fastify.ts'
import * as web from '../../src/adapters/fetch.ts'
import * as hono from '../../src/adapters/hono.ts'
import * as mcp from '../../src/adapters/mcp.ts'
import { ANY_CREDENTIAL } from '../../src/guard/demand.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestSite, testRequest } from '../../src/testing/index.ts'
import { ROUTE } from '../protected.ts'

/**
 * Everything that takes a demand and options, as untyped code calls it. `rest` is what follows the
 * guard.
 */
type Protect = (guard: Guard, ...rest: readonly unknown[]) => unknown
type Loose = (...args: readonly unknown[]) => unknown

const handler = () => new Response('in')
const mcpHandler = { fetch: async () => new Response('in') }

const adapters: Readonly<Record<string, Protect>> = {
  express: express.requireCredential as Loose,
  fastify: fastify.requireCredential as Loose,
  hono: hono.requireCredential as Loose,
  'mcp requireCredential': mcp.requireCredential as Loose,
  'mcp guardMcp': (guard, ...rest) => (mcp.guardMcp as Loose)(guard, mcpHandler, ...rest),
  'fetch requireCredential': (guard, ...rest) => {
    const [demand, ...options] = rest
    return (web.requireCredential as Loose)(
      guard,
      ...(rest.length === 0 ? [] : [demand]),
      handler,
      ...options,
    )
  },
  'fetch verifyRequest': (guard, ...rest) => (web.verifyRequest as Loose)(guard, new Request(ROUTE), ...rest),
}

/** What an author may have written who meant `{ scope: 'admin:all' }`. */
const wrongDemands: readonly (readonly [string, unknown])[] = [
  ['scopes, a typo', { scopes: 'admin:all' }],
  ['anyscope, a typo', { anyscope: ['admin:all'] }],
  ['a right member beside a wrong one', { scope: 'admin:all', anyscope: ['admin:all'] }],
  ['a string', 'admin:all'],
  ['a list', ['admin:all']],
  ['a function', () => ({ scope: 'admin:all' })],
  ['a number', 1],
  ['null', null],
  ['undefined, a missing constant', undefined],
  ['an empty object', {}],
  ['scope: undefined, a missing variable', { scope: undefined }],
  ['scope: null', { scope: null }],
  ['scope: []', { scope: [] }],
  ['scope with a hole', { scope: new Array(1) }],
  ['scope: {}', { scope: {} }],
  ['scope: [undefined]', { scope: [undefined] }],
  ["scope: ''", { scope: '' }],
  ['scope with capitals', { scope: 'Admin' }],
  ['two scopes in one string', { scope: 'a b' }],
  ['anyScope: []', { anyScope: [] }],
  ['anyScope: undefined', { anyScope: undefined }],
  ['anyScope as a string', { anyScope: 'admin:all' }],
  ['scope: undefined beside anyScope', { scope: undefined, anyScope: ['admin:all'] }],
  ['scope: [] beside anyScope', { scope: [], anyScope: ['admin:all'] }],
]

describe.each(Object.entries(adapters))('%s', (name, protect) => {
  let site: TestSite
  let guard: Guard
  beforeAll(async () => {
    site = await createTestSite()
    guard = await site.guard()
  })
  afterAll(() => site.close())

  test.each(wrongDemands)('throws a TypeError at set-up for %s', (_what, demand) => {
    // With the fetch adapter a function in this place is the handler.
    if (name === 'fetch requireCredential' && typeof demand === 'function') return
    expect(() => protect(guard, demand)).toThrow(TypeError)
    expect(() => protect(guard, demand)).toThrow(/demand|[sS]cope/)
    expect(() => protect(guard, demand)).not.toThrow(/Cannot read|is not a function/)
  })

  test('accepts a scope, a list of scopes, a choice of scopes, any credential, and no demand at all', () => {
    for (const demand of [
      { scope: 'a' },
      { scope: ['a', 'b'] },
      { anyScope: ['a'] },
      { scope: 'a', anyScope: ['b'] },
      ANY_CREDENTIAL,
    ])
      expect(() => protect(guard, demand)).not.toThrow()
    expect(() => protect(guard)).not.toThrow()
  })

  test('throws a TypeError for what is not a guard, and for wrong options', () => {
    for (const wrong of [undefined, null, {}, 'guard'])
      expect(() => protect(wrong as never, { scope: 'a' })).toThrow('must be a guard')
    const double = { verify: guard.verify } as never
    expect(() => protect(double, { scope: 'a' })).toThrow('this one has no recheck, signal')
    for (const [options, word] of [
      [{ bodyBytesMaximum: 5 }, 'bodyBytesMaximum is not an option'],
      [{ bodyBytesMax: '5' }, 'bodyBytesMax must be a number'],
      [{ bodyBytesMax: Number.NaN }, 'bodyBytesMax must be a whole number'],
      [null, 'must be an object'],
      ['x', 'must be an object'],
    ] as const)
      expect(() => protect(guard, { scope: 'a' }, options)).toThrow(word)
    expect(() => protect(guard, ANY_CREDENTIAL, { bodyBytesMax: 5 })).not.toThrow()
  })
})

test.each(wrongDemands)('guard.verify rejects %s, whatever was presented', async (_what, demand) => {
  const site = await createTestSite()
  const { header } = await site.issue({ scope: ['orders:read'] })
  const request = testRequest('GET', ROUTE, { 'x-service-credential': header })
  await expect((await site.guard()).verify(request, demand as never)).rejects.toThrow(TypeError)
  await site.close()
})

test.each([undefined, null, [], '', 'Admin', 'a b', {}, [undefined], new Array(1)])(
  'mcp requireScope throws a TypeError for %j',
  (scope) => {
    expect(() => mcp.requireScope(scope as never, async () => 'in')).toThrow(/[sS]cope/)
  },
)

test('mcp requireScope and the fetch adapter need something to call', () => {
  expect(() => mcp.requireScope('orders:read', undefined as never)).toThrow('must be a function')
  const called = () => undefined
  const guard = { verify: called, recheck: called, signal: called } as never
  expect(() => web.requireCredential(guard, { scope: 'a' }, undefined as never)).toThrow('must be a function')
  expect(() => mcp.guardMcp(guard, undefined as never)).toThrow('must be a handler')
})

test('an adapter that another framework calls names what it is for, and runs no handler', async () => {
  const site = await createTestSite()
  const guard = await site.guard()
  let ran = 0
  const next = async () => void ran++
  const asExpress = [{ method: 'GET', url: '/', headers: {}, rawHeaders: [] }, {}, next]
  const asHono = [{ req: { raw: new Request(ROUTE) }, set: () => undefined }, next]
  const asKoa = [{ req: {}, res: {}, method: 'GET', url: '/', headers: {} }, next]
  for (const [adapter, call, subpath] of [
    [express.requireCredential(guard), asHono, 'express is for'],
    [express.requireCredential(guard), asKoa, 'express is for'],
    [mcp.requireCredential(guard), asHono, 'mcp is for'],
    [hono.requireCredential(guard), asExpress, 'hono is for'],
    [hono.requireCredential(guard), asKoa, 'hono is for'],
    [web.requireCredential(guard, next as never), asExpress, 'fetch is for'],
    [web.requireCredential(guard, next as never), asKoa, 'fetch is for'],
    [fastify.requireCredential(guard), asExpress, 'fastify is a preParsing hook'],
    [fastify.requireCredential(guard), asHono, 'fastify is a preParsing hook'],
  ] as const)
    await expect((adapter as Loose)(...call)).rejects.toThrow(`@countersign/sdk/${subpath}`)
  expect(() => web.verifyRequest(guard, asExpress[0] as never)).toThrow('@countersign/sdk/fetch is for')
  expect(ran).toBe(0)
  for (const wrong of [undefined, null, 'request'])
    for (const get of [express.getCredential, fastify.getAccessSignal])
      expect(() => get(wrong as never)).toThrow('need the request of the handler')
  await site.close()
})

test('any valid credential means one of this site, and only when it was asked for', async () => {
  const site = await createTestSite()
  const guard = await site.guard()
  const { header } = await site.issue({ scope: ['orders:read'] })
  const at = (route: (request: Request) => Promise<Response>, headers = { 'x-service-credential': header }) =>
    route(new Request(ROUTE, { headers })).then(({ status }) => status)
  expect(await at(web.requireCredential(guard, handler))).toBe(200)
  expect(await at(web.requireCredential(guard, ANY_CREDENTIAL, handler))).toBe(200)
  expect(await at(web.requireCredential(guard, handler), {} as never)).toBe(401)
  expect(await at(web.requireCredential(guard, { scope: 'admin:all' }, handler))).toBe(403)
  await site.close()
})

test('a demand that another copy of the SDK has read is understood', async () => {
  const site = await createTestSite()
  const guard = await site.guard()
  const [mark] = Object.getOwnPropertySymbols(ANY_CREDENTIAL)
  const fromElsewhere = { scope: [], [mark as symbol]: true }
  expect(await guard.verify(testRequest('GET', ROUTE), fromElsewhere)).toMatchObject({
    code: 'credential_missing',
  })
  await site.close()
})
