import { Script } from 'node:vm'
import { gunzipSync } from 'node:zlib'
import { endpoints, generalProblems, type ProblemCode } from '@countersign/core/contract'
import { describe, expect, it } from 'vitest'
import { assets } from '../../src/pages/assets.ts'
import { chooseLanguage, languages, english as messages } from '../../src/pages/choose-language.ts'
import { findProblemText, type Messages } from '../../src/pages/messages.ts'
import { describeProblem, problemPage } from '../../src/pages/problem-page.ts'
import { signInPage } from '../../src/pages/sign-in-page.ts'
import { walletPage } from '../../src/pages/wallet-page.ts'
import { createAppDouble } from '../http/app-double.ts'

const KIB = 1024
const sign = {
  messages,
  state: 'A'.repeat(43),
  csrfToken: 'c'.repeat(64),
  siteId: 'shop.example',
  siteName: 'The Shop',
  returnUrl: new URL('https://shop.example/cb'),
  requestedScope: Array.from({ length: 32 }, (_, i) => `orders${i}:read`),
  cancelUrl: 'https://id.example/auth/sdk-callback?state=x&error=access_denied',
  overUrl: 'https://shop.example/cb?error=state_invalid',
  expiresInSeconds: 600,
}

/** Every text of a language, by its path. */
function listTexts(value: object | string, path = ''): readonly (readonly [string, string])[] {
  return typeof value === 'string'
    ? [[path, value]]
    : Object.entries(value).flatMap(([name, inner]) => listTexts(inner, `${path}.${name}`))
}

const isPlural = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === 'object' && value !== null && 'other' in value

describe('a hosted page', () => {
  it.each(languages.map((one) => [one.lang, one] as const))(
    'takes at most 30 KB with all that it loads, in %s',
    (lang, texts) => {
      for (const [name, { body }] of [
        ['sign-in', signInPage({ ...sign, messages: texts })],
        ['wallet', walletPage('https://id.example', texts)],
        ['problem', problemPage('state_invalid', 'req-1', texts)],
      ] as const) {
        const loaded = [
          assets().script(name, lang),
          assets().path('hosted.css'),
          assets().path('icon.svg'),
        ].map((path) => assets().answer(path, 'gzip')?.body as Uint8Array)
        // The page itself is not compressed, because it contains secrets.
        const bytes = [Buffer.from(body), ...loaded].reduce((sum, part) => sum + part.length, 0)
        expect(bytes, name).toBeGreaterThan(1000)
        expect(bytes, name).toBeLessThanOrEqual(30 * KIB)
        for (const path of body.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g))
          expect(assets().answer(String(path[1]), ''), path[1]).toBeDefined()
      }
    },
  )

  it('has a script that is one module without imports, in every language', () => {
    for (const name of ['sign-in', 'wallet', 'problem'] as const) {
      const text = String(assets().answer(assets().script(name, 'en'), '')?.body)
      expect(text).not.toMatch(/^(?:import|export)\b|: string|interface /m)
      // Throws unless it can be compiled.
      new Script(`(async () => {${text}\n})`)
    }
  })

  it('says in its own words, in one place, whatever a person may meet', () => {
    const ids = [
      'sign_in_page',
      'present',
      'sign_in_callback',
      'start_sign_in_by_link',
      'wallet_page',
      'read_offer',
      'claim_offer',
    ] as const
    const codes = new Set<ProblemCode>([...generalProblems, ...ids.flatMap((id) => endpoints[id].problems)])
    const server: readonly ProblemCode[] = [
      'uri_too_long',
      'unsupported_media_type',
      'header_too_large',
      'origin_forbidden',
    ]
    for (const code of codes) {
      if (server.includes(code)) continue
      expect(findProblemText(messages, code), code).toBeDefined()
      const { title, next } = describeProblem(code, messages)
      expect(
        [title, next].every((words) => /^[A-Z]/.test(words) && !/_/.test(words)),
        code,
      ).toBe(true)
    }
  })

  it('reads from right to left when its messages do', () => {
    const { body, headers } = signInPage({ ...sign, messages: chooseLanguage('ar', undefined) })
    expect(body).toContain('<html lang="ar" dir="rtl">')
    expect([headers?.['content-language'], headers?.vary]).toEqual(['ar', 'accept-language, cookie'])
  })

  it('has no property of style that knows left from right', () => {
    const style = String(assets().answer(assets().path('hosted.css'), '')?.body)
    expect(style).not.toMatch(
      /(?:margin|padding|border)-(?:left|right)|text-align:\s*(?:left|right)|[{;]\s*(?:left|right):|float:/,
    )
  })
})

describe('the languages', () => {
  const texts = new Map(listTexts(messages))

  it.each(languages.map((one) => [one.lang, one] as const))('%s has every text', (lang, one: Messages) => {
    const categories = new Set(Array.from({ length: 200 }, (_, i) => new Intl.PluralRules(lang).select(i)))
    const check = (english: object, other: object, path: string): void => {
      if (isPlural(english)) {
        expect(new Set(Object.keys(other)), path).toEqual(categories)
        return
      }
      expect(Object.keys(other), path).toEqual(Object.keys(english))
      for (const [name, value] of Object.entries(english))
        if (typeof value === 'object') check(value, other[name as keyof typeof other], `${path}.${name}`)
    }
    check(messages, one, lang)
    for (const [path, text] of listTexts(one)) {
      expect(text.trim(), path).not.toBe('')
      expect(text, path).not.toMatch(/[<>]| {2}|^ | $|'/)
      const english = texts.get(path) ?? texts.get(path.replace(/\.\w+$/, '.other'))
      const names = (words = '') => [...words.matchAll(/\{\w+\}/g)].map(([name]) => name).sort()
      const isOfOne = /\.(?:zero|one|two)$/.test(path)
      const needed = names(english).filter((name) => !isOfOne || name !== '{count}')
      expect(
        names(text).filter((name) => !isOfOne || name !== '{count}'),
        path,
      ).toEqual(needed)
    }
    // Nothing was left in English.
    const same = listTexts(one).filter(([path, text]) => text === texts.get(path) && text.includes(' '))
    if (lang !== 'en') expect(same).toEqual([])
  })

  it('are chosen by ui_locales, then by what the browser prefers, and bounded', () => {
    const chosen = (uiLocales: string | undefined, accept?: string) => chooseLanguage(uiLocales, accept).lang
    expect(chosen('fr', 'de')).toBe('fr')
    expect(chosen('xx de-AT fr', 'ja')).toBe('de')
    expect(chosen('pt')).toBe('pt-BR')
    expect(chosen('zh-CN')).toBe('zh-Hans')
    expect(chosen('zh-Hant zh-TW')).toBe('en')
    expect(chosen(undefined, 'de;q=0.2, fr;q=0.9, en;q=0.5')).toBe('fr')
    expect(chosen(undefined, 'xx, ar-EG;q=0.8, en;q=0.1')).toBe('ar')
    expect(chosen(undefined, 'de;q=0, nl;q=0.001')).toBe('nl')
    for (const bad of [
      '',
      '*',
      'de;q=2',
      'de;q=0.1234',
      'de\u0000',
      '../../etc',
      'de,'.repeat(300),
      'd'.repeat(600),
    ])
      expect(chosen(undefined, bad), bad.slice(0, 20)).toBe('en')
    expect(chosen('__proto__ constructor', undefined)).toBe('en')
  })
})

describe('assets', () => {
  it('are served under a name that changes with what they say, to be cached permanently', async () => {
    const { call } = createAppDouble()
    const path = assets().script('sign-in', 'de')
    expect(path).toMatch(/^\/assets\/[0-9a-f]{16}\/sign-in\.de\.js$/)
    const plain = await call('GET', path)
    expect([plain.status, plain.headers['content-type'], plain.headers['cache-control']]).toEqual([
      200,
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ])
    expect(plain.text).not.toMatch(/interface |: string/)
    expect(plain.headers['x-content-type-options']).toBe('nosniff')
  })

  it('are compressed for those who take it', () => {
    const path = assets().script('wallet', 'ja')
    const plain = assets().answer(path, '')
    for (const accept of ['gzip', 'gzip, deflate', 'br;q=0, gzip;q=0.5']) {
      const packed = assets().answer(path, accept)
      expect(packed?.headers?.['content-encoding']).toBe('gzip')
      expect(gunzipSync(packed?.body as Uint8Array).toString()).toBe(String(plain?.body))
    }
    for (const accept of ['br', 'gzip, deflate, br', 'br;q=0.1, gzip', 'gzip;q=0.0, br'])
      expect(assets().answer(path, accept)?.headers?.['content-encoding'], accept).toBe('br')
    for (const accept of ['', 'gzip;q=0', 'gzip;q=0.0, br;q=0', 'brotli, x-gzip'])
      expect(assets().answer(path, accept)?.headers?.['content-encoding']).toBeUndefined()
  })

  it('are nothing else than what is in their folder', async () => {
    const { call } = createAppDouble()
    const folder = assets()
      .script('wallet', 'en')
      .replace(/[^/]+$/, '')
    for (const name of [
      'nothing.js',
      '../pages/messages.ts',
      '%2e%2e/pages/messages.ts',
      '..%2fpages%2ftexts.ts',
      'sign-in.ts',
      'sign-in.xx.js',
      '',
      '../../etc/passwd',
    ]) {
      const { status, json } = await call('GET', `${folder}${name}`)
      expect([status, json.code], name).toEqual([404, 'not_found'])
    }
    expect(() => assets().path('nothing')).toThrow()
  })
})
