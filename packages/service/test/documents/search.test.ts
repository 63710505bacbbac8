import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documents } from '../../src/documents/documents.ts'
import { createExcerpt } from '../../src/documents/search-excerpt.ts'
import { createSearchIndex, type SearchEntry } from '../../src/documents/search-index.ts'
import { storeAnswer } from '../../src/http/stored-answer.ts'
import { assets } from '../../src/pages/assets.ts'
import { type AppDouble, BASE_URL, createAppDouble, SITE } from '../http/app-double.ts'

let double: AppDouble
beforeAll(() => {
  let ms = 0
  double = createAppDouble({ monotonicMs: () => (ms += 60_000) })
})
afterAll(() => double.app.close())
const get = (path: string, headers: Record<string, string> = { accept: 'text/html' }) =>
  double.call('GET', path, { headers })
const search = async (query: string) => {
  const path = `/docs/search?q=${encodeURIComponent(query)}`
  const { json } = await get(path, { accept: 'application/json' })
  return json.results as { url: string; page: string; title: { text: string }[] }[]
}

describe('the search of the documentation', () => {
  test.each([
    ['credential_revoked', '/docs/errors#credential_revoked'],
    ['credential revoked', '/docs/errors#credential_revoked'],
    ['CREDENTIAL_REV', '/docs/errors#credential_revoked'],
    ['reverse proxy', '/docs/guides/forward-auth'],
    ['rotate-master-key', '/docs/cli#rotate-master-key'],
  ])('finds the best place for %s first', async (query, url) => {
    expect((await search(query))[0]?.url).toBe(url)
  })

  test('lets other requests run while the first search builds the index', async () => {
    // A module of its own, which has built nothing yet.
    const fresh: string = '../../src/documents/search-page.ts?fresh'
    const { searchResults }: typeof import('../../src/documents/search-page.ts') = await import(fresh)
    let turns = 0
    const count = () => {
      turns++
      turn = setImmediate(count)
    }
    let turn = setImmediate(count)
    await searchResults('revoke')
    clearImmediate(turn)
    expect(turns).toBeGreaterThan(documents().pages.length / 2)
  })

  test('leads to pages and places that exist', async () => {
    const { pages } = documents()
    const ids = new Set(
      pages.flatMap(({ url, content }) => [
        url,
        ...[...content.markup.matchAll(/ id="([^"]+)"/g)].map(([, id]) => `${url}#${id}`),
      ]),
    )
    const urls = pages.flatMap(({ entries }) => entries.map((entry) => entry.url))
    expect(urls.length).toBeGreaterThan(500)
    expect(urls.filter((url) => !ids.has(url))).toEqual([])
  })

  test('has a bounded number of results, and few of one page', async () => {
    const results = await search('credential')
    expect(results.length).toBeLessThanOrEqual(20)
    const pages = results.map(({ page }) => page)
    expect(Math.max(...pages.map((page) => pages.filter((one) => one === page).length))).toBeLessThanOrEqual(
      3,
    )
    expect(await search('')).toEqual([])
    expect(await search('qqqqzzzz')).toEqual([])
  })

  test.each([
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onfocus='alert(1)",
    '{{7*7}}#{7*7}',
    '(((((a+)+)+)+)+)$',
    '\\u0000\u0000\uE000\uE001',
    '__proto__ constructor toString',
    '%',
    'é'.repeat(800),
    'a '.repeat(1000),
    '_'.repeat(100),
  ])('A370: a hostile query is text, and only its first 100 characters count: %s', async (query) => {
    const { status, text } = await get(`/docs/search?q=${encodeURIComponent(query)}`)
    expect(status).toBe(200)
    const [, main = ''] = /<main[^>]*>([\s\S]*)<\/main>/.exec(text) ?? []
    expect(main).not.toMatch(/<(?:script|img)/)
    expect(main.replaceAll(/"[^"]*"/g, '')).not.toMatch(/<[^>]*\son\w+=/)
    expect(/name="q" value="([^"]*)"/.exec(main)?.[1]?.replaceAll(/&#\d+;/g, '?').length).toBeLessThanOrEqual(
      100,
    )
    expect(main.length).toBeLessThan(30_000)
    expect(Array.isArray(await search(query))).toBe(true)
  })

  test('A370: a query that cannot be decoded finds nothing and breaks nothing', async () => {
    for (const query of ['?q=%E0%A4%A', '?q=%00', '?q', '?', '?x=1'])
      expect((await get(`/docs/search${query}`)).status, query).toBe(200)
    expect((await get('/docs/guides/quickstart?utm_source=x')).status).toBe(200)
  })

  test('prefers titles, rare words and whole words', () => {
    const entry = (title: string, text: string): SearchEntry => ({
      url: `/${title}`,
      page: title,
      title,
      text,
    })
    const index = createSearchIndex([
      entry('Other', 'token token token'),
      entry('Token', 'nothing'),
      entry('Tokens', 'nothing'),
    ])
    expect(index.find('token').map(({ entry: { title } }) => title)).toEqual(['Token', 'Tokens', 'Other'])
    expect(createExcerpt(`${'word '.repeat(60)}here ${'word '.repeat(60)}`, ['here'])).toContainEqual({
      text: 'here',
      isHit: true,
    })
  })
})

describe('what is stored', () => {
  const paths = () => [
    '/docs',
    '/docs/errors',
    '/openapi.json',
    '/llms.txt',
    '/llms-full.txt',
    assets().path('docs.css'),
  ]

  test('is compressed, has a strong ETag for each encoding, and is not sent twice', {
    tags: 'long',
  }, async () => {
    for (const path of paths()) {
      const seen = new Set<unknown>()
      // The double reads JSON only as it is.
      const encodings = path === '/openapi.json' ? ['identity'] : ['identity', 'gzip', 'br']
      for (const encoding of encodings) {
        const first = await get(path, { 'accept-encoding': encoding })
        const { etag } = first.headers as { etag: string }
        expect(first.status, path).toBe(200)
        expect(etag).toMatch(/^"[\w-]{22,30}"$/)
        expect(String(first.headers.vary)).toContain('accept-encoding')
        expect(first.headers['content-encoding'] ?? 'identity').toBe(encoding)
        seen.add(etag)
        if (path.startsWith('/assets')) continue
        const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': `"x", W/${etag}` })
        expect([again.status, again.text, again.headers.etag], path).toEqual([304, '', etag])
      }
      expect(seen.size).toBe(encodings.length)
    }
  })

  test('is what it was before it was compressed', () => {
    const stored = storeAnswer({ status: 200, contentType: 'text/plain', body: 'text '.repeat(500) })
    const body = (accepted: string) =>
      stored.answer((name) => (name === 'accept-encoding' ? [accepted] : undefined)).body as Buffer
    expect(brotliDecompressSync(body('gzip, br')).toString()).toBe('text '.repeat(500))
    expect(gunzipSync(body('gzip, br;q=0')).toString()).toBe('text '.repeat(500))
    expect(body('deflate').toString()).toBe('text '.repeat(500))
  })

  test('has pages of at most 30 KB', { tags: 'long' }, async () => {
    for (const { url } of documents().pages) {
      const { headers } = await get(url, { 'accept-encoding': 'br' })
      expect(Number(headers['content-length']), url).toBeLessThanOrEqual(30 * 1024)
    }
  })

  test('A371: examples name the service of the settings, whatever Host says', async () => {
    for (const path of ['/docs/guides/quickstart', '/docs/guides/quickstart.md', '/llms.txt']) {
      const { text } = await get(path, { host: 'evil.example', 'x-forwarded-host': 'evil.example' })
      expect(text).toContain(BASE_URL)
      expect(text).not.toMatch(/evil\.example|127\.0\.0\.1:8787|[\uE000\uE001]/)
    }
    expect((await get('/docs/guides/quickstart')).text).toContain(SITE)
    // The configuration of a proxy names local addresses on purpose.
    expect((await get('/docs/guides/forward-auth')).text).toContain('127.0.0.1')
  })

  test('has every page as Markdown, and lists for programs', { tags: 'long' }, async () => {
    const { headers, text } = await get('/docs/guides/quickstart.md')
    expect(headers['content-type']).toBe('text/markdown; charset=utf-8')
    expect(text).toMatch(/^# /)
    const llms = (await get('/llms.txt')).text
    for (const [, url = ''] of llms.matchAll(/\]\(https:\/\/id\.example([^)]+)\)/g))
      expect((await get(url)).status, url).toBe(200)
    expect((await get('/llms-full.txt')).text.length).toBeLessThanOrEqual(512 * 1024)
    expect((await get('/robots.txt')).text).toContain('Disallow: /api/')
  })

  test('lists each operation of the OpenAPI document once for programs, with a page that names it', {
    tags: 'long',
  }, async () => {
    const { paths } = JSON.parse((await get('/openapi.json')).text) as {
      paths: Record<string, Record<string, { summary: string }>>
    }
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { summary }]) => `${summary}: ${method.toUpperCase()} ${path}`),
    )
    const lines = [
      ...(await get('/llms.txt')).text.matchAll(
        /^- \[(.+)\]\(https:\/\/id\.example(\/docs\/api\/[\w-]+\.md)\): ([A-Z]+ \/\S*)$/gm,
      ),
    ]
    expect(operations.length).toBeGreaterThan(50)
    expect(lines.map(([, summary, , operation]) => `${summary}: ${operation}`).toSorted()).toEqual(
      operations.toSorted(),
    )
    for (const [, , url = '', operation = ''] of lines) {
      const { status, text } = await get(url)
      expect([status, text.includes(operation.replace(/^\w+ /, ''))], `${url} ${operation}`).toEqual([
        200,
        true,
      ])
    }
  })
})
