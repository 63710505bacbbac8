import { createServer } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { createClient } from '../src/client/client.ts'
import { createGuard, type Guard } from '../src/guard/guard.ts'
import { describeCause } from '../src/shared/cause.ts'
import { createTestSite } from '../src/testing/index.ts'
import { listening } from './listening.ts'

const KEY = 'svc_sk_very_secret'
let guard: Guard | undefined
afterEach(() => guard?.close())

/** A port on which nothing listens. */
async function closedOrigin(): Promise<string> {
  const { origin, close } = await listening(createServer())
  await close()
  return origin
}

const guardAt = (baseUrl: string) => {
  guard = createGuard({ baseUrl, siteId: 'shop.example', apiKey: KEY, onStateChange: () => undefined })
  return guard
}

/** A guard that has found this problem, however long that took. */
async function failedWith(code: string, baseUrl: string): Promise<Guard> {
  const begun = guardAt(baseUrl)
  begun.ready().catch(() => undefined)
  await expect.poll(() => begun.state().problem?.code).toBe(code)
  return begun
}

describe('a guard that cannot begin', () => {
  test('prints nothing that a relay could forge log lines with', async () => {
    const body = JSON.stringify({
      code: 'x\n[31mfake',
      detail: `one\r\ntwo \u001b[31mred ${'y'.repeat(1000)}`,
    })
    const server = createServer((_request, response) =>
      response.writeHead(403, { 'content-type': 'application/problem+json' }).end(body),
    )
    const { origin, close } = await listening(server)
    const { detail = '' } = (await failedWith('http_403', origin)).state().problem ?? {}
    expect(detail).not.toMatch(/[\r\n\u001b]/)
    expect(detail.length).toBeLessThan(500)
    await close()
  })

  test('names the address and the innermost cause', async () => {
    const origin = await closedOrigin()
    const failed = (await failedWith('unreachable', origin)).ready({ timeoutMs: 1 })
    await expect(failed).rejects.toMatchObject({
      name: 'GuardNotReady',
      retryable: true,
      problem: { code: 'unreachable' },
    })
    const detail = guard?.state().problem?.detail ?? ''
    expect(detail).toContain(`${origin}/api/sites/shop.example/snapshot could not be reached: `)
    expect(detail).toContain('ECONNREFUSED')
    expect(detail).not.toContain(KEY)
  })

  test.each([
    [401, 'api_key_invalid', 'The API key is unknown.'],
    [
      403,
      'api_key_forbidden',
      'This API key is not allowed to call this endpoint. Use a key with feed:read.',
    ],
    [404, 'not_found', 'There is no such site.'],
  ])('says that waiting does not help against %s %s', async (status, code, detail) => {
    const server = await listening((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ status, code, title: code, detail }))
    })
    const failed = (await failedWith(code, server.origin)).ready({ timeoutMs: 1 })
    await expect(failed).rejects.toThrow(
      `${code}: ${detail} (${server.origin}/api/sites/shop.example/snapshot). Waiting does not correct this.`,
    )
    await expect(failed).rejects.toMatchObject({ retryable: false })
    await server.close()
  })

  test('says so when another web server answers', async () => {
    const server = await listening(
      (_request, response) => void response.setHeader('content-type', 'text/html').end('<html>'),
    )
    const failed = (await failedWith('answer_unknown', server.origin)).ready({ timeoutMs: 1 })
    await expect(failed).rejects.toThrow(
      /answer_unknown: The response from http.*snapshot is not application\/x-ndjson. Check baseUrl\. Waiting does not correct this/,
    )
    await server.close()
  })
})

describe('ready', () => {
  test('rejects after timeoutMs by the clock of the guard, and can be asked again', async () => {
    const site = await createTestSite()
    await site.cutFeed()
    const cut = createGuard(site.guardOptions)
    const failed = expect(cut.ready({ timeoutMs: 4_000 })).rejects.toThrow(
      /the guard of shop\.example was not ready within 4000 ms: unreachable: .* could not be reached: the network is cut$/,
    )
    const waiting = cut.ready()
    await site.advance(4_000)
    await failed
    await site.repairFeed()
    await site.advance(10_000)
    await waiting
    await cut.ready({ timeoutMs: 0 })
    await cut.close()
    await site.close()
  })

  test.each([{ timeout: 5 }, { timeoutMs: '5' }, { timeoutMs: -1 }, { timeoutMs: Number.NaN }, 5])(
    'rejects %j as a mistake',
    async (options) => {
      await expect(guardAt('https://auth.example').ready(options as never)).rejects.toThrow(TypeError)
    },
  )
})

describe('an error of the client', () => {
  test('names the address without its query, and the innermost cause', async () => {
    const origin = await closedOrigin()
    const client = createClient({ baseUrl: origin, apiKey: KEY, retriesMax: 0 })
    const failed = client.listSites({ cursor: 'abc' })
    await expect(failed).rejects.toThrow(
      new RegExp(`^no_answer: ${origin}/api/sites could not be reached: .*ECONNREFUSED`),
    )
    await expect(failed).rejects.not.toThrow(/cursor|svc_sk/)
  })

  test('names the members that are wrong', async () => {
    const errors = [
      { path: 'ppid', message: 'must be a string' },
      { path: 'user_ref', message: 'is unknown' },
    ]
    const body = JSON.stringify({
      code: 'validation_failed',
      title: 'x',
      status: 422,
      detail: 'Correct what errors names.',
      errors,
    })
    const answer = new Response(body, {
      status: 422,
      headers: { 'content-type': 'application/problem+json' },
    })
    const client = createClient({ baseUrl: 'https://auth.example', fetch: async () => answer })
    await expect(client.listSites()).rejects.toThrow(
      'validation_failed: Correct what errors names. (ppid must be a string; user_ref is unknown)',
    )
  })
})

test('the innermost cause is found behind cause and errors, however deep, and in circles', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED ::1:1'), { code: 'ECONNREFUSED' })
  expect(describeCause(new TypeError('fetch failed', { cause: new AggregateError([refused]) }))).toBe(
    'connect ECONNREFUSED ::1:1',
  )
  const tls = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  expect(describeCause(new TypeError('fetch failed', { cause: tls }))).toBe(
    'DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate',
  )
  const circle = new Error('round')
  circle.cause = circle
  expect(describeCause(circle)).toBe('round')
  for (const odd of [undefined, null, 'text', 5]) expect(describeCause(odd)).toBe(String(odd))
})

test('a guard that is given https for a plain http service says so in one line, and that waiting does not help', async () => {
  const { origin, close } = await listening(createServer())
  const begun = await failedWith('unreachable', origin.replace('http:', 'https:'))
  const error = await begun.ready({ timeoutMs: 0 }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ name: 'GuardNotReady', retryable: false })
  expect(String(error)).toMatch(/ERR_SSL.*Waiting does not correct this\.$/)
  await close()
})

test('a clock without its methods is reported when the guard is created', () => {
  const options = { baseUrl: 'https://auth.example', siteId: 'shop.example', apiKey: KEY }
  expect(() => createGuard({ ...options, clock: {} as never })).toThrow('clock must have a read')
})
