import { endpointList, limits, problemCodes, problems, rateLimits } from '@countersign/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documents } from '../../src/documents/documents.ts'
import { DOCS_POLICY } from '../../src/documents/frame.ts'
import { openServiceKeys } from '../../src/keys/service-keys.ts'
import { assets } from '../../src/pages/assets.ts'
import { documentPage } from '../../src/routes/docs.ts'
import { type AppDouble, BASE_URL, createAppDouble } from '../http/app-double.ts'

const readiness = { ready: true } as { ready: boolean; why?: string }
let double: AppDouble
beforeAll(async () => {
  const secrets = new Map<string, string>()
  const store = {
    secret: async (name: string) => secrets.get(name),
    putSecret: async (name: string, sealed: string) => (
      secrets.has(name) || secrets.set(name, sealed), secrets.get(name) as string
    ),
  }
  const keys = await openServiceKeys(
    store,
    new Uint8Array(32).map((_, i) => i),
    BASE_URL,
    0,
  )
  double = createAppDouble({
    deps: {
      keys,
      views: { readiness: () => readiness, audited: 1 } as never,
      store: { writeFault: () => undefined } as never,
    },
  })
})
afterAll(() => double.app.close())

const get = (path: string, accept = '*/*') => double.call('GET', path, { headers: { accept } })

describe('documents', () => {
  test('discovery names every endpoint, limit, suite and feed key', async () => {
    const { json } = await get('/.well-known/countersign')
    expect(Object.keys(json.endpoints)).toEqual(endpointList.map(({ id }) => id))
    expect(json.endpoints.introspect).toBe(`${BASE_URL}/api/auth/introspect`)
    expect(json.limits).toEqual(limits)
    expect(json.rate_limits).toEqual(rateLimits)
    expect(json).toMatchObject({
      did: 'did:web:id.example',
      cryptosuites: ['eddsa-jcs-2022', 'ecdsa-jcs-2019'],
      feed: { version: 1 },
    })
  })
  test('the DID document and the JWK set have the same keys, and no private part', async () => {
    const did = (await get('/.well-known/did.json')).json
    const jwks = (await get('/.well-known/jwks.json')).json
    expect(jwks.keys.map(({ kid }: { kid: string }) => kid)).toEqual(
      did.verificationMethod.map(({ id }: { id: string }) => id),
    )
    expect(JSON.stringify([did, jwks])).not.toMatch(/"d":/)
  })
  test('the context defines every claim of an access credential', async () => {
    const { json } = await get('/ns/access/v1')
    const terms = json['@context'].AccessCredential['@context']
    for (const term of ['site_id', 'scope', 'permission_id', 'holder_key', 'delegable', 'parent'])
      expect(terms[term]['@id']).toMatch(/^https:\/\//)
  })
  test('health says alive always, and ready when it is', async () => {
    expect((await get('/healthz')).json).toEqual({ status: 'alive' })
    expect((await get('/readyz')).json).toEqual({ status: 'ready', audited: 1 })
    Object.assign(readiness, { ready: false, why: 'canary-why' })
    const not = await get('/readyz')
    expect([not.status, not.json.code]).toEqual([503, 'revocation_view_stale'])
    expect(not.text).not.toContain('canary-why')
    expect(double.logLines.join('')).toContain('canary-why')
    expect((await get('/healthz')).status).toBe(200)
    Object.assign(readiness, { ready: true })
  })
})

describe('pages', () => {
  test.each(problemCodes)('%s has its own, for people and for programs', async (code) => {
    const page = await get(`/problems/${code}`, 'text/html,application/xhtml+xml')
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.text).toContain(problems[code].title)
    const program = await get(`/problems/${code}`, 'application/json')
    expect(program.json).toMatchObject({ code, status: problems[code].status, remedy: problems[code].remedy })
  })
  test('of a code that does not exist is not found', async () => {
    for (const code of ['nothing', '__proto__', 'constructor', '%3Cscript%3E'])
      expect((await get(`/problems/${code}`, 'text/html')).status).toBe(404)
  })
  test.each([
    ['/', 200, 404],
    ['/problems', 200, 200],
    ['/problems/nope', 404, 404],
    ['/anything', 404, 404],
    ['/some/where?x=1', 404, 404],
    ['/api/nothing', 404, 404],
    ['/.well-known/nothing', 404, 404],
    ['/docs/nothing', 404, 404],
  ])(
    'A5: %s is a page with a way onward for a browser, and JSON for a program',
    async (path, forBrowser, forProgram) => {
      const page = await get(path, 'text/html,application/xhtml+xml,*/*;q=0.8')
      expect([page.status, page.headers['content-type']]).toEqual([forBrowser, 'text/html; charset=utf-8'])
      expect(page.text).toMatch(/<main[\s\S]*<a [^>]*href="\/(?:wallet|docs|problems\/\w)/)
      expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'/)
      for (const accept of ['*/*', 'application/json', '']) {
        const program = await get(path, accept)
        expect([program.status, program.headers['content-type']]).toEqual([
          forProgram,
          expect.stringMatching(/json$/),
        ])
      }
    },
  )
  test('A5: a method that the path does not support is a page for a browser too', async () => {
    for (const path of ['/', '/problems', '/api/wallet/revoke-user']) {
      const method = path.startsWith('/api') ? 'GET' : 'POST'
      const { status, headers, text } = await double.call(method, path, { headers: { accept: 'text/html' } })
      expect([status, headers['content-type']]).toEqual([405, 'text/html; charset=utf-8'])
      expect(headers.allow).toBeDefined()
      expect(text).toContain('href="/docs"')
      const program = await double.call(method, path, { headers: { accept: 'application/json' } })
      expect([program.status, program.headers['content-type']]).toEqual([405, 'application/problem+json'])
    }
  })
  test('that differ for browsers and programs say so to caches', { tags: 'long' }, async () => {
    for (const path of ['/', '/problems', '/problems/not_found', '/openapi.json', '/nothing'])
      for (const accept of ['text/html', '*/*'])
        expect((await get(path, accept)).headers.vary, `${path} ${accept}`).toMatch(/\baccept\b(?!-)/i)
  })
  test('of the front name no site, key or other part of the deployment', async () => {
    const { text } = await get('/', 'text/html')
    expect(text).not.toContain('shop.example')
    expect(text.replaceAll(`${BASE_URL}/docs/pictures/social.png`, '')).not.toContain('id.example')
  })
  test('have icons', async () => {
    for (const path of ['/favicon.svg', '/favicon.ico', '/apple-touch-icon.png'])
      expect((await get(path)).headers['content-type']).toMatch(/^image\//)
  })
  test('show the interface as JSON with line breaks, and as YAML', { tags: 'long' }, async () => {
    expect((await get('/openapi.json', 'text/html')).text).toContain('\n  "openapi": "3.1.1"')
    expect((await get('/openapi.json')).text).toMatch(/^\{"openapi":"3\.1\.1"/)
    expect((await get('/openapi.yaml')).text).toMatch(/^openapi: "3\.1\.1"\n/)
  })
  test('A5: /docs/ and other addresses with a slash at their end lead to the ones without', async () => {
    for (const path of ['/docs/', '/docs/errors/', '/docs/decisions/']) {
      const { status, headers } = await get(path, 'text/html')
      expect([status, headers.location]).toEqual([308, path.slice(0, -1)])
    }
    expect((await get('/docs/nothing/', 'text/html')).status).toBe(404)
    expect((await get('/docs//evil.example/', 'text/html')).status).toBe(404)
  })
  test('I-19: a page is rendered when it is sent, and not to redirect to it', async () => {
    let rendered = 0
    const find = (url: string) =>
      url === '/docs/slow' ? () => (rendered++, { status: 200, body: 'slow' }) : undefined
    const read = (path: string) => {
      const holderRequest = { method: 'GET', authority: '', path, query: '', header: () => undefined }
      return documentPage(
        { holderRequest: { ...holderRequest, body: 'none' }, lines: () => undefined },
        double.deps,
        find,
      )
    }
    for (let i = 0; i < 3; i++)
      expect(await read('/docs/slow/')).toEqual({ status: 308, headers: { location: '/docs/slow' } })
    expect(rendered).toBe(0)
    for (let i = 0; i < 3; i++) expect((await read('/docs/slow')).status).toBe(200)
    expect(rendered).toBe(1)
    await expect(read('/docs/nothing/')).rejects.toMatchObject({ code: 'not_found' })
    // With `/\/+$/` this takes minutes.
    const long = `/docs/${'/'.repeat(500_000)}x`
    await expect(read(long)).rejects.toMatchObject({ code: 'not_found' })
  })
  test('I-19: only the slashes at the end of an address are left out', async () => {
    const slashes = '/'.repeat(1000)
    const { status, headers } = await get(`/docs/errors${slashes}`, 'text/html')
    expect([status, headers.location]).toEqual([308, '/docs/errors'])
    expect((await get(`/docs/errors${slashes}x`, 'text/html')).status).toBe(404)
  })
  test('A6: /docs/errors shows no tags, and every code is an anchor', async () => {
    const text = (await get('/docs/errors', 'text/html')).text.replaceAll('<wbr>', '')
    expect(text).not.toMatch(/&#60;(?:!--|a id)/)
    for (const code of problemCodes) expect(text, code).toContain(`<a id="${code}"></a><code>${code}</code>`)
  })
  test('A6: no page of the documentation shows comments or anchors as text', { tags: 'long' }, async () => {
    for (const { url } of documents().pages) {
      const { text } = await get(url, 'text/html')
      const [, main = ''] = /<main[^>]*>([\s\S]*)<\/main>/.exec(text) ?? []
      expect(main.replaceAll(/<pre[\s\S]*?<\/pre>|<code>[\s\S]*?<\/code>/g, ''), url).not.toMatch(
        /&#60;(?:!--|a id)/,
      )
    }
  })
  test('of the interface names every endpoint', async () => {
    const text = (await get('/docs/api')).text.replaceAll('<wbr>', '')
    for (const { path } of endpointList) expect(text).toContain(`<code>${path}</code>`)
  })
  test('load nothing from elsewhere, and cannot be framed', async () => {
    for (const path of ['/', '/docs', '/docs/api/revoke-user', '/problems', '/problems/not_found']) {
      const { headers, text } = await get(path, 'text/html')
      expect(headers['content-security-policy']).toBe(DOCS_POLICY)
      expect(text.match(/<script/g)).toHaveLength(1)
      expect(text).not.toMatch(
        /<style|style=|\son\w+=|javascript:|https?:\/\/(?!id\.example|127\.0\.0\.1:8787\/)/,
      )
    }
    const style = await get(assets().path('docs.css'))
    expect(style.headers['content-type']).toBe('text/css; charset=utf-8')
  })
})
