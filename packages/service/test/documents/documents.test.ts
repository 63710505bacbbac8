import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findDocument } from '../../src/documents/document-page.ts'
import { DECISIONS_URL, documents, readDocuments } from '../../src/documents/documents.ts'
import { DOCS_POLICY } from '../../src/documents/frame.ts'
import { sections } from '../../src/documents/reading-order.ts'
import { type AppDouble, createAppDouble } from '../http/app-double.ts'

const root = join(import.meta.dirname, '../../../..')
const files = ['README.md', 'SECURITY.md', ...globSync('docs/**/*.md', { cwd: root })]

let double: AppDouble
beforeAll(() => {
  double = createAppDouble()
})
afterAll(() => double.app.close())
const get = (path: string, accept = 'text/html') => double.call('GET', path, { headers: { accept } })

const { pages } = documents()
const NAMES = { baseUrl: 'https://id.example', siteId: 'shop.example' }
const linksOf = (markup: string) =>
  [...markup.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => String(link))
const idsOf = (markup: string) => new Set([...markup.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))

describe('the documents of the repository', () => {
  test('are all served, each at its own address', () => {
    expect(pages.map(({ path }) => path)).toEqual(expect.arrayContaining(files))
    expect(new Set(pages.map(({ url }) => url)).size).toBe(pages.length)
  })

  test.each(pages.map(({ url, path }) => [url, path]))(
    '%s is a page with a title, a navigation and nothing that could run',
    async (url, path) => {
      const { status, headers, text } = await get(url)
      expect(status).toBe(200)
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
      expect(headers['content-security-policy']).toBe(DOCS_POLICY)
      expect(text.match(/<h1 /g)).toHaveLength(1)
      expect(text.match(/<script/g)).toHaveLength(1)
      expect(text).not.toMatch(/<style|style="|\son\w+="|href="(?!https?:|\/|#)/)
      expect(text).toContain('<nav class="side"')
      expect(text).toMatch(/<meta name="description" content="[^"]{10,220}">/)
      // Nothing of the text is lost: every word of the file is on the page.
      const words = (from: string) => new Set(from.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu))
      const shown = words(text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code)))
      const linkless = readFileSync(join(root, path), 'utf8')
        .replaceAll(/\]\([^)]*\)/g, ']')
        .replaceAll(/^```.*$/gm, '')
        .replaceAll(/<!--[\s\S]*?-->/g, '')
        // Examples name this service instead.
        .replaceAll(/http:\/\/(?:127\.0\.0\.1|localhost):8787|demo\.localhost/g, '')
      expect([...words(linkless)].filter((word) => !shown.has(word) && !/^(?:lt|quot)$/.test(word))).toEqual(
        [],
      )
    },
  )

  test('lead to each other: every link leads to a page, and to a place on it', { tags: 'long' }, async () => {
    const reached = new Map<string, string>()
    const bodyOf = async (url: string) => {
      const known = reached.get(url)
      if (known !== undefined) return known
      const { status, text } = await get(url)
      expect(status, url).toBe(200)
      reached.set(url, text)
      return text
    }
    for (const url of ['/docs', DECISIONS_URL, ...pages.map((page) => page.url)]) {
      const here = await bodyOf(url)
      for (const link of linksOf(here).filter((one) => /^(?:#|\/docs|\/problems)/.test(one))) {
        const [path = '', fragment] = link.split('#')
        const there = path === '' ? here : await bodyOf(path)
        if (fragment !== undefined) expect(idsOf(there), `${link} on ${url}`).toContain(fragment)
      }
    }
  })

  test('name no document that is not served', () => {
    const served = new Set(pages.map(({ path }) => path))
    for (const { path } of pages) {
      const named = readFileSync(join(root, path), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+\.md)[#)]/g)
      expect(
        [...named]
          .map(([, target]) => posix.join(posix.dirname(path), String(target)))
          .filter((one) => !served.has(one)),
        path,
      ).toEqual([])
    }
  })

  test('are listed for the reader who needs them, once', () => {
    const shelved = sections.flatMap((section) => section.pages.map(({ path }) => path))
    expect(new Set(shelved).size).toBe(shelved.length)
    expect(shelved.filter((path) => !existsSync(join(root, path)))).toEqual([])
    const elsewhere = /^(?:docs\/decisions|examples\/\w)/
    const loose = pages
      .map(({ path }) => path)
      .filter((path) => !shelved.includes(path) && !elsewhere.test(path))
    expect(loose.filter((path) => path !== 'examples/README.md')).toEqual([])
  })
})

describe('below /docs', () => {
  test.each([
    '/docs/../package.json',
    '/docs/..%2fpackage.json',
    '/docs/%2e%2e/package.json',
    '/docs/%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '/docs/..\\package.json',
    '/docs/....//package.json',
    '/docs//etc/passwd',
    '/docs/guides/../../package.json',
    '/docs/guides/core%00',
    '/docs/guides/nothing.md',
    '/docs/guides/core.md.md',
    '/docs.md',
    '/docs/guides',
    '/docs/docs/operating',
    '/docs/__proto__',
    '/docs/package.json',
    '/docs/.env',
  ])('there is nothing at %s', async (path) => {
    for (const accept of ['text/html', '*/*']) {
      const { status, text } = await get(path, accept)
      expect(status).toBe(404)
      expect(text).not.toMatch(/devDependencies|root:/)
    }
  })

  test('there is the page with a query as well, and only for reading', async () => {
    expect((await get('/docs/operating')).status).toBe(200)
    expect((await double.call('HEAD', '/docs/operating')).status).toBe(200)
    expect(
      (
        await double.call('POST', '/docs/operating', {
          headers: { 'content-type': 'application/json' },
          payload: '{}',
        })
      ).status,
    ).toBe(404)
  })
})

describe('a folder of documents', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-documents-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('may be missing, and then there are none', () => {
    expect(readDocuments(join(folder, 'nowhere')).pages).toEqual([])
  })

  test('gives nothing that is a link to elsewhere, too large, or of another kind', () => {
    mkdirSync(join(folder, 'docs'))
    writeFileSync(
      join(folder, 'docs/good.md'),
      '# Good\n\nText <script>alert(1)</script> [up](../../secret.md) [x](javascript:alert(1)) [y](//evil.example) [z](good.md)',
    )
    writeFileSync(join(folder, 'docs/large.md'), `# Large\n${'x'.repeat(1024 * 1024)}`)
    writeFileSync(join(folder, 'docs/key.pem'), 'secret')
    writeFileSync(join(folder, 'docs/a.svg'), '<svg/>')
    writeFileSync(join(folder, 'secret.md'), '# Secret')
    symlinkSync(join(folder, 'secret.md'), join(folder, 'docs/linked.md'))
    const read = readDocuments(folder)
    expect(read.pages.map(({ url }) => url)).toEqual(['/docs/good'])
    const body = String(findDocument(read, '/docs/good', NAMES)?.().body)
    expect(body).toContain('&#60;script&#62;alert(1)&#60;/script&#62; up ')
    expect(linksOf(body).filter((link) => /good|evil|javascript|secret/.test(link))).toEqual([
      '/docs/good.md',
      '/docs/good',
    ])
    expect(findDocument(read, '/docs/a.svg', NAMES)?.()).toMatchObject({
      contentType: 'image/svg+xml',
      headers: { 'content-security-policy': expect.stringContaining("default-src 'none'") },
    })
    for (const url of ['/docs/linked', '/docs/large', '/docs/key.pem'])
      expect(findDocument(read, url, NAMES)).toBeUndefined()
  })
})
