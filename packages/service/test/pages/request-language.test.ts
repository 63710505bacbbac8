import { describe, expect, it } from 'vitest'
import { BASE_URL, createAppDouble } from '../http/app-double.ts'

const OURS = { 'sec-fetch-site': 'same-origin' }
const COOKIE = 'countersign-language=fr; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax; Secure'

describe('the language that a person chooses in a menu', () => {
  const double = createAppDouble()
  const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await double.call('GET', path, {
      headers: { accept: 'text/html', 'accept-language': 'nl', ...headers },
    })
    return { ...answer, lang: answer.headers['content-language'], cookie: answer.headers['set-cookie'] }
  }

  it('is remembered, and goes before what a site names and what the browser prefers', async () => {
    const chosen = await get('/wallet?ui_locales=fr', OURS)
    expect([chosen.lang, chosen.cookie]).toEqual(['fr', COOKIE])
    expect(chosen.headers.vary).toBe('accept-language, cookie')
    const cookie = 'a=b; countersign-language=fr; c=d'
    expect((await get('/wallet', { cookie })).lang).toBe('fr')
    expect((await get('/wallet?ui_locales=de', { cookie })).lang).toBe('fr')
    // The menu goes before the memory.
    expect((await get('/wallet?ui_locales=de', { ...OURS, cookie })).lang).toBe('de')
    // Without a cookie, as before.
    expect((await get('/wallet?ui_locales=de')).lang).toBe('de')
    expect((await get('/wallet')).lang).toBe('nl')
  })

  it('A358: a page of another site cannot change it', async () => {
    for (const site of ['cross-site', 'same-site', 'none']) {
      const { lang, cookie } = await get('/wallet?ui_locales=fr', { 'sec-fetch-site': site })
      expect([lang, cookie], site).toEqual(['fr', undefined])
    }
    expect((await get('/wallet?ui_locales=fr')).cookie).toBeUndefined()
    // Control: the menu.
    expect((await get('/wallet?ui_locales=fr', OURS)).cookie).toBe(COOKIE)
  })

  it('is one of the languages, and everything else is ignored', async () => {
    for (const uiLocales of ['xx', 'fr de', 'fr-CA', 'FR', 'pt'])
      expect((await get(`/wallet?ui_locales=${uiLocales}`, OURS)).cookie, uiLocales).toBeUndefined()
    for (const cookie of [
      'countersign-language=xx',
      'countersign-language=FR',
      'countersign-language=',
      'countersign-language="fr"',
      'countersign-language=fr%20',
      'countersign-language=__proto__',
      `countersign-language=${'f'.repeat(4000)}`,
      'xcountersign-language=fr',
      // Two of them: one was planted.
      'countersign-language=fr; countersign-language=fr',
    ])
      expect((await get('/wallet', { cookie })).lang, cookie.slice(0, 60)).toBe('nl')
  })

  it('can be chosen on error pages, which remember it too', async () => {
    const state = 'A'.repeat(43)
    for (const [path, target] of [
      [`/auth/sign-in?state=${state}&more=1`, `/auth/sign-in?state=${state}&ui_locales=ja`],
      ['/wallet?more=1', '/wallet?ui_locales=ja'],
      // A callback is not repeated to read it in another language.
      [`/auth/sdk-callback?state=${state}&payload=`, `/auth/sign-in?state=${state}&ui_locales=ja`],
    ] as const) {
      const { status, text } = await get(path)
      expect(status, path).toBeGreaterThanOrEqual(400)
      expect(text, path).toContain(`href="${target.replaceAll('&', '&#38;')}"`)
    }
    // Nothing else of an address is repeated in a page.
    for (const path of ['/auth/sdk-request?site_id=evil.example', '/auth/sign-in?state=evil.example'])
      expect((await get(path)).text).not.toMatch(/evil|class="languages"/)
    const chosen = await get('/auth/sign-in?state=short&ui_locales=fr', OURS)
    expect([chosen.lang, chosen.cookie]).toEqual(['fr', COOKIE])
    expect((await get('/wallet?more=1', { cookie: 'countersign-language=fr' })).lang).toBe('fr')
  })

  it('is not remembered for programs or for the documentation', async () => {
    const program = await double.call('GET', '/auth/sign-in?state=short&ui_locales=fr', {
      headers: { ...OURS, accept: 'application/json' },
    })
    expect([program.status, program.headers['set-cookie']]).toEqual([400, undefined])
    expect((await get('/docs/nothing?ui_locales=fr', OURS)).cookie).toBeUndefined()
    expect(BASE_URL).toMatch(/^https:/)
  })
})
