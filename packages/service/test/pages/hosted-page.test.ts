import { gunzipSync, gzipSync } from 'node:zlib'
import { endpoints, generalProblems, type ProblemCode } from '@countersign/core/contract'
import { describe, expect, it } from 'vitest'
import { assets } from '../../src/pages/assets.ts'
import { messages } from '../../src/pages/messages.ts'
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
}

/** A script and all that it imports. */
function scriptsFrom(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen
  seen.add(path)
  const text = String(assets().answer(path, '')?.body)
  for (const [, name] of text.matchAll(/from '\.\/([^']+)'/g))
    scriptsFrom(path.replace(/[^/]+$/, String(name)), seen)
  return seen
}

describe('a hosted page', () => {
  it.each([
    ['sign-in', signInPage(sign)],
    ['wallet', walletPage('https://id.example', messages)],
    ['error', problemPage('state_invalid', 'req-1', messages)],
  ] as const)('%s takes at most 30 KB compressed, with all that it loads', (name, { body }) => {
    const scripts = name === 'error' ? [] : [...scriptsFrom(assets().path(name))]
    const loaded = [...scripts, assets().path('hosted.css')].map(
      (path) => assets().answer(path, 'gzip')?.body as Uint8Array,
    )
    const bytes = [gzipSync(body), ...loaded].reduce((sum, part) => sum + part.length, 0)
    expect(bytes).toBeGreaterThan(1000)
    expect(bytes).toBeLessThanOrEqual(30 * KIB)
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
      expect(messages.problems[code], code).toBeDefined()
      const { title, next } = describeProblem(code, messages)
      expect(
        [title, next].every((words) => /^[A-Z]/.test(words) && !/_/.test(words)),
        code,
      ).toBe(true)
    }
  })

  it('reads from right to left when its messages do', () => {
    const { body } = signInPage({ ...sign, messages: { ...messages, lang: 'ar', dir: 'rtl' } })
    expect(body).toContain('<html lang="ar" dir="rtl">')
  })

  it('has no property of style that knows left from right', () => {
    const style = String(assets().answer(assets().path('hosted.css'), '')?.body)
    expect(style).not.toMatch(
      /(?:margin|padding|border)-(?:left|right)|text-align:\s*(?:left|right)|[{;]\s*(?:left|right):|float:/,
    )
  })
})

describe('assets', () => {
  it('are served under a name that changes with what they say, to be cached permanently', async () => {
    const { call } = createAppDouble()
    const path = assets().path('sign-in')
    expect(path).toMatch(/^\/assets\/[0-9a-f]{16}\/sign-in\.[jt]s$/)
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
    const path = assets().path('wallet')
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
      .path('wallet')
      .replace(/[^/]+$/, '')
    for (const name of [
      'nothing.js',
      '../pages/messages.ts',
      '%2e%2e/pages/messages.ts',
      '..%2fpages%2ftexts.ts',
      'sign-in.d.ts',
      '',
      '../../etc/passwd',
    ]) {
      const { status, json } = await call('GET', `${folder}${name}`)
      expect([status, json.code], name).toEqual([404, 'not_found'])
    }
    expect(() => assets().path('nothing')).toThrow()
  })
})
