import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleFiles, readConsoleFiles } from '../../src/pages/console-files.ts'

const SECRET = 'not a file of the console'
const PAGE = (lang: string) =>
  `<html lang="${lang}"><script src="/console/assets/index-1.js"></script></html>`

describe('the console in the language of the browser', () => {
  let top: string
  let files: ConsoleFiles
  beforeAll(() => {
    top = mkdtempSync(join(tmpdir(), 'console-files-'))
    const folder = join(top, 'dist')
    mkdirSync(join(folder, 'assets'), { recursive: true })
    writeFileSync(join(folder, 'index.html'), PAGE('en'))
    writeFileSync(join(folder, 'index.ar.html'), PAGE('ar'))
    writeFileSync(join(folder, 'assets', 'language-ar-1.js'), 'export default {}')
    // What a path in a tag could reach.
    writeFileSync(join(top, 'index.fr.html'), SECRET)
    writeFileSync(join(folder, 'secret.html'), SECRET)
    files = readConsoleFiles(folder) as ConsoleFiles
  })
  afterAll(() => rmSync(top, { recursive: true }))

  const choose = (field: string | undefined) => files.page(field).headers?.['content-language']

  it.each([
    [undefined, 'en'],
    ['ar', 'ar'],
    ['ar-SA', 'ar'],
    ['AR-eg,en;q=0.5', 'ar'],
    ['de,ar;q=0.8,en;q=0.7', 'ar'],
    ['en-GB,ar;q=0.9', 'en'],
    ['ar;q=0,en', 'en'],
    ['de', 'en'],
    ['*', 'en'],
  ])('%s is answered in %s', (field, lang) => {
    expect(choose(field)).toBe(lang)
    expect(files.page(field).body).toBe(PAGE(lang))
  })

  it.each([
    ['a path', '../index.fr'],
    ['a path to a password file', '../../etc/passwd'],
    ['a path after a language', 'ar/../en'],
    ['a path with escapes', 'ar%2f..%2findex.fr'],
    ['another file', 'secret'],
    ['a language with a NUL', 'ar\0'],
    ['a line break', 'ar\r\nset-cookie: a=b'],
    ['a member of every object', '__proto__'],
    ['another one', 'constructor'],
    ['and one that is a tag', 'valueOf-toString'],
    ['a quality that is no number', 'ar;q=NaN'],
    ['a quality above 1', 'ar;q=2'],
    ['a negative quality', 'ar;q=-1'],
    ['a quality with an exponent', 'ar;q=1e0'],
    ['two qualities', 'ar;q=1;q=1'],
    ['letters that look like Latin ones', 'аr'],
    ['only commas', ','.repeat(400)],
    ['one long tag', 'a'.repeat(100_000)],
    ['thousands of ranges', `${'de,'.repeat(20_000)}ar`],
    ['more ranges than are read', `${'de,'.repeat(20)}ar`],
    ['what makes a careless pattern slow', `${'a-'.repeat(240)}!`],
    ['the same with blanks', `ar${' '.repeat(490)};`],
  ])('A350: a hostile Accept-Language gets the English page: %s', (_name, field) => {
    const answer = files.page(field)
    expect(answer.body).toBe(PAGE('en'))
    expect(answer.headers?.['content-language']).toBe('en')
    expect(JSON.stringify(answer.headers)).not.toContain('set-cookie')
    // Control: the same service, asked for Arabic.
    expect(choose('ar')).toBe('ar')
  })

  it('A351: no cache mixes the languages', () => {
    for (const field of ['ar', 'en', undefined, '../x']) {
      const { headers = {} } = files.page(field)
      expect(headers).toMatchObject({ 'cache-control': 'no-store', vary: 'accept-language' })
      // Without a validator, no cache can answer 304 for another language.
      expect(Object.keys(headers).filter((name) => /^(?:etag|last-modified)$/.test(name))).toEqual([])
    }
    const bodies = Array.from({ length: 100 }, (_, i) => files.page(i % 2 === 0 ? 'ar' : 'en').body)
    expect(bodies).toEqual(Array.from({ length: 100 }, (_, i) => PAGE(i % 2 === 0 ? 'ar' : 'en')))
    // The words have a name of their own, so they need not vary.
    expect(files.asset('language-ar-1.js', undefined)?.headers?.vary).toBe('accept-encoding')
  })

  it.each(['../index.html', '../index.ar.html', '../secret.html', '../../index.fr.html', '__proto__'])(
    'A351: words are only served by the name of their file, not as %s',
    (name) => {
      expect(files.asset(name, undefined)).toBeUndefined()
      expect(files.asset('language-ar-1.js', undefined)?.status).toBe(200)
    },
  )

  it('A352: the policy and all other headers are the same in every language', () => {
    const [arabic, english] = ['ar', 'en'].map((field) => files.page(field).headers ?? {})
    expect({ ...arabic, 'content-language': 'en' }).toEqual(english)
    const policy = String(arabic?.['content-security-policy'])
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("style-src 'self'")
    expect(policy).not.toMatch(/unsafe|data:|https?:|\*/)
  })
})
