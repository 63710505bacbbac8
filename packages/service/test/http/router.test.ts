import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RouteRequest } from '../../src/route.ts'
import type { Routes } from '../../src/routes/all.ts'
import { type AppDouble, createAppDouble } from './app-double.ts'

const seen: unknown[] = []
const routes = {
  alive: async () => ({ status: 200, body: { status: 'alive' } }),
  introspect: async () => ({ status: 200, body: { active: false } }),
  list_keys: async ({ params }: RouteRequest<'list_keys'>) => {
    seen.push(params)
    return { status: 200, body: { items: [], next_cursor: null } }
  },
  delete_key: async () => ({ status: 204 }),
  change_issuer: async ({ params }: RouteRequest<'change_issuer'>) => {
    seen.push(params)
    return { status: 204 }
  },
  docs: async () => ({ status: 200, body: 'x', contentType: 'text/html' }),
  problem_page: async () => ({ status: 200, body: 'x', contentType: 'text/html' }),
} satisfies Routes as Routes

let double: AppDouble
let port: number
let key: string
beforeAll(async () => {
  double = createAppDouble({ routes })
  key = double.key({ siteId: null, permissions: [] })
  port = (await double.app.listen()).port
})
afterAll(() => double.app.close())

/** Sends a request as it is written and reads until the connection is closed. */
async function send(line: string, headers: readonly string[] = [], body = ''): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data.toString('latin1')))
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.on('close', resolve))
  const all = [`${line} HTTP/1.1`, 'Host: id.example', 'Connection: close', `X-API-Key: ${key}`, ...headers]
  socket.write(`${all.join('\r\n')}\r\n\r\n${body}`)
  await closed
  return text
}

/** `404 not_found`, with the methods that are allowed, or nothing when there was no response. */
function summarize(answer: string): string {
  const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? ''
  const code = /"code":"(\w+)"/.exec(answer)?.[1] ?? ''
  const allow = /^allow: (.*)$/m.exec(answer)?.[1]?.trim() ?? ''
  return [status, code, allow].join(' ').trim()
}

describe('finding what answers a request target', () => {
  test.each([
    ['GET /healthz', '200'],
    ['HEAD /healthz', '200'],
    ['GET /healthz?', '200'],
    ['GET /healthz?a=b', '422 validation_failed'],
    ['GET /healthz#a', '400 request_malformed'],
    ['GET /healthz?a#b', '400 request_malformed'],
    ['GET /nothing#a', '400 request_malformed'],
    ['GET /robots.txt#a', '400 request_malformed'],
    ['GET /%68ealthz', '200'],
    ['GET /healthz/', '404 not_found'],
    ['GET /HEALTHZ', '404 not_found'],
    ['GET //healthz', '404 not_found'],
    ['GET /./healthz', '404 not_found'],
    ['GET /api/../healthz', '404 not_found'],
    ['GET /healthz%2F', '404 not_found'],
    ['GET /healthz%3Fa', '404 not_found'],
    ['GET /healthz;a=b', '404 not_found'],
    ['GET /healthz%00', '404 not_found'],
    ['GET /healthz%ZZ', '404 not_found'],
    ['POST /healthz%ZZ', '404 not_found'],
    ['OPTIONS /healthz%ZZ', '404 not_found'],
    ['GET /%', '404 not_found'],
    ['GET //', '404 not_found'],
    ['GET /nothing', '404 not_found'],
    ['HEAD /nothing', '404'],
    ['PROPFIND /nothing', '404 not_found'],
    ['GET *', '404 not_found'],
    ['OPTIONS *', '404 not_found'],
    ['GET healthz', '400 request_malformed'],
    ['GET ?a=b', '400 request_malformed'],
    ['BREW /healthz', '400 request_malformed'],
    ['CONNECT id.example:443', ''],
  ])('%s is answered with %j', async (line, expected) => {
    expect(summarize(await send(line))).toBe(expected)
  })

  test.each([
    ['POST /healthz', 'GET, HEAD'],
    ['DELETE /healthz', 'GET, HEAD'],
    ['OPTIONS /healthz', 'GET, HEAD'],
    ['TRACE /healthz', 'GET, HEAD'],
    ['QUERY /healthz', 'GET, HEAD'],
    ['PROPFIND /healthz', 'GET, HEAD'],
    ['POST /health%7A', 'GET, HEAD'],
    ['GET /api/auth/introspect?token=x', 'POST'],
    ['PATCH /api/sites/shop.example/keys', 'GET, HEAD'],
    ['GET /api/sites/shop.example/keys/key_1', 'DELETE'],
    ['GET /api/sites/shop.example/keys/key%2F1', 'DELETE'],
    ['POST /', 'GET, HEAD'],
    ['POST /problems', 'GET, HEAD'],
    ['POST /problems/not_found', 'GET, HEAD'],
  ])('%s is answered with the methods %s', async (line, allow) => {
    expect(summarize(await send(line))).toBe(`405 method_not_allowed ${allow}`)
  })
  test('HEAD at a path without GET has no body either', async () => {
    expect(summarize(await send('HEAD /api/auth/introspect'))).toBe('405  POST')
  })

  test.each([
    ['GET http://id.example/healthz', '200'],
    ['GET HTTPS://ID.EXAMPLE/healthz', '200'],
    ['GET http://id.example?a=b', '404 not_found'],
    ['GET http://other.example/healthz', '400 request_malformed'],
    ['GET ftp://id.example/healthz', '404 not_found'],
  ])('the absolute form %s is answered with %s', async (line, expected) => {
    expect(summarize(await send(line))).toBe(expected)
  })

  test.each([
    ['GET /docs', '200'],
    ['GET /docs/', '308'],
    ['GET /docs/guides/quickstart', '200'],
    ['GET /docs/..%2F..%2Fpackage.json', '404 not_found'],
    ['POST /docs/guides/quickstart', '404 not_found'],
    ['GET /docs/%ZZ', '404 not_found'],
    ['GET /problems', '200 request_malformed'],
    ['GET /problems/', '404 not_found'],
    ['GET /problems/not%5Ffound', '200'],
    ['GET /assets/', '404 not_found'],
    ['POST /assets/nothing', '404 not_found'],
    ['GET /assets/..%2Fapp.ts', '404 not_found'],
    ['GET /', '404 not_found'],
  ])('the page %s is answered with %s', async (line, expected) => {
    expect(summarize(await send(line))).toBe(expected)
  })
  test('a browser gets the front page', async () => {
    expect(await send('GET /', ['Accept: text/html'])).toMatch(/^HTTP\/1\.1 200 .*<h1>/s)
  })
})

describe('parameters in a path', () => {
  const asSite = async (path: string) => {
    seen.length = 0
    const answer = summarize(await send(`GET ${path}`))
    return [answer, ...seen]
  }
  const asIssuer = async (issuer: string) => {
    seen.length = 0
    const body = '{"status":"trusted"}'
    const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`]
    const answer = summarize(await send(`PATCH /api/sites/shop.example/issuers/${issuer}`, headers, body))
    return [answer, ...seen]
  }

  test('are decoded once', async () => {
    const found = { site_id: 'shop.example' }
    expect(await asSite('/api/sites/shop.example/keys')).toEqual(['200', found])
    expect(await asSite('/api/sites/shop%2Eexample/keys')).toEqual(['200', found])
    for (const [written, issuer] of [
      ['did:web:a.example', 'did:web:a.example'],
      ['did%3Aweb%3Aa.example', 'did:web:a.example'],
      ['did:web:a.example%3A8443', 'did:web:a.example:8443'],
      ['did:web:a.example%253A8443', 'did:web:a.example%3A8443'],
    ] as const)
      expect(await asIssuer(written)).toEqual(['204', { ...found, issuer }])
  })
  test('may be as long as a DID', async () => {
    const issuer = `did:web:${'a'.repeat(300)}`
    expect(await asIssuer(issuer)).toEqual(['204', { site_id: 'shop.example', issuer }])
  })
  test.each([
    '/api/sites/shop%2Fexample/keys',
    '/api/sites/shop%252Fexample/keys',
    '/api/sites/%C3%A9/keys',
    '/api/sites/%C3/keys',
    '/api/sites/%ZZ/keys',
    '/api/sites//keys',
    '/api//sites/shop.example/keys',
    '/api/sites/shop.example/keys/',
  ])('%s is not found', async (path) => {
    expect(await asSite(path)).toEqual(['404 not_found'])
  })
})

describe('a body', () => {
  test('at an unknown path does not matter, and one that is too long ends the connection', async () => {
    expect(summarize(await send('POST /nothing', ['Content-Type: ;;', 'Content-Length: 2'], '{}'))).toBe(
      '404 not_found',
    )
    expect(summarize(await send('POST /nothing', ['Content-Length: 99999999']))).toBe('404 not_found')
  })
  test('of an unreadable media type is rejected at a path with parameters too', async () => {
    for (const type of [';;', 'x', 'text/plain'])
      expect(
        summarize(
          await send(
            'PATCH /api/sites/shop.example/issuers/did:web:a.example',
            [`Content-Type: ${type}`, 'Content-Length: 2'],
            '{}',
          ),
        ),
      ).toBe('415 unsupported_media_type')
  })
})
