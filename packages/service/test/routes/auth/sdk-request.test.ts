import { rateLimits } from '@countersign/core/contract'
import { describe, expect, it } from 'vitest'
import { hiddenField, openHosted, RETURN_URL } from '../../hosted.ts'
import { createAppDouble } from '../../http/app-double.ts'
import { NOW } from '../../party.ts'
import { forEachSharedStore } from '../../stores.ts'
import { hostileReturnUrls } from './hostile-return-urls.ts'

forEachSharedStore('/auth/sdk-request', (open) => {
  it('201 with a state, the page to go to, and how long there is', async () => {
    const { send, request, baseUrl } = await openHosted(open())
    const { status, json } = await send('POST', '/auth/sdk-request', { json: request })
    expect([status, json.expires_in]).toEqual([201, 600])
    expect(json.state).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(json.auth_url).toBe(`${baseUrl}/auth/sign-in?state=${json.state}`)
  })

  it('passes the languages on to the page, and rejects what is none', async () => {
    const { send, request, browser } = await openHosted(open())
    const { json } = await send('POST', '/auth/sdk-request', { json: { ...request, ui_locales: 'xx de' } })
    const { text, headers } = await browser().get(String(json.auth_url))
    expect([headers['content-language'], headers.vary]).toEqual(['de', 'accept-language, cookie'])
    expect(text).toContain('<html lang="de" dir="ltr">')
    for (const ui_locales of ['', 'de  en', '<b>', 'a'.repeat(101), 'de\n'])
      expect((await send('POST', '/auth/sdk-request', { json: { ...request, ui_locales } })).status).toBe(422)
  })

  it('303 to the page for a plain link, whose scopes are separated by spaces', async () => {
    const { send, request, baseUrl, browser } = await openHosted(open())
    const query = new URLSearchParams({ ...request, requested_scope: 'orders:read orders:write' })
    const { status, to } = await send('GET', `/auth/sdk-request?${query}`)
    expect([status, to.origin, to.pathname]).toEqual([303, baseUrl, '/auth/sign-in'])
    const page = await browser().get(to.href)
    for (const word of ['View and change orders', 'orders:read', 'orders:write'])
      expect(page.text).toContain(word)
  })

  it('keeps only hashes of the state, and the integration’s own state sealed', async () => {
    const store = open()
    const kept: unknown[] = []
    const { start } = await openHosted(
      Object.assign(store, {
        createSignIn: (signIn: unknown) => {
          kept.push(signIn)
          return Object.getPrototypeOf(store).createSignIn(signIn)
        },
      }),
    )
    const { state } = await start({ client_state: 'very secret' })
    expect(JSON.stringify(kept)).not.toContain(state)
    expect(JSON.stringify(kept)).not.toContain('very secret')
  })

  it('429 when the site has too many sign-ins open, and says when to try again (S7, A169)', async () => {
    const { send, request, node } = await openHosted(open())
    Object.assign(node.deps.config, { openSignInsMax: 2 })
    const start = () => send('POST', '/auth/sdk-request', { json: request })
    expect([(await start()).status, (await start()).status]).toEqual([201, 201])
    const { status, json, headers } = await start()
    expect([status, json.code, headers['retry-after']]).toEqual([429, 'rate_limited', '60'])
    expect(headers['ratelimit-policy']).toBe('"open_sign_ins";q=2;w=600')
  })

  describe('400', () => {
    it('site_unknown for a site that does not exist', async () => {
      const { send, request } = await openHosted(open())
      const { json } = await send('POST', '/auth/sdk-request', {
        json: { ...request, site_id: 'nowhere.example' },
      })
      expect(json.code).toBe('site_unknown')
    })

    it('A155: redirect_not_allowed for a URL of another site, and never a redirect', async () => {
      const { send, request } = await openHosted(open())
      const { json, headers } = await send('POST', '/auth/sdk-request', {
        json: { ...request, return_url: 'https://other.example/cb' },
      })
      expect([json.code, headers.location]).toEqual(['redirect_not_allowed', undefined])
    })

    it('shows a browser a page with the same status', async () => {
      const { send, request } = await openHosted(open())
      const { requested_scope: _, ...plain } = request
      const query = new URLSearchParams({ ...plain, return_url: 'https://evil.example/' })
      const shown = await send('GET', `/auth/sdk-request?${query}`, {
        headers: { accept: 'text/html,*/*;q=0.8' },
      })
      expect([shown.status, shown.headers['content-type'], shown.headers.location]).toEqual([
        400,
        'text/html; charset=utf-8',
        undefined,
      ])
      expect(shown.text).toContain('redirect_not_allowed')
      expect(shown.text).toContain(shown.headers['x-request-id'])
      expect(shown.text).not.toMatch(/evil\.example|http-equiv=.?refresh/i)
    })

    it('A156, A158: none of the hostile return URLs is taken, by POST or by link, and the good one still is', async () => {
      const { send, request, start } = await openHosted(open())
      const { requested_scope: _, ...plain } = request
      const urls = hostileReturnUrls(RETURN_URL)
      expect(new Set(urls).size).toBeGreaterThanOrEqual(300)
      for (const return_url of urls) {
        const posted = await send('POST', '/auth/sdk-request', { json: { ...request, return_url } })
        const linked = await send('GET', `/auth/sdk-request?${new URLSearchParams({ ...plain, return_url })}`)
        for (const { status, json, headers } of [posted, linked]) {
          expect([status, json.code, headers.location], JSON.stringify(return_url)).toEqual([
            400,
            'redirect_not_allowed',
            undefined,
          ])
        }
      }
      await start()
    })

    it('control: some of the hostile ones would be accepted by code that compares hosts or beginnings', () => {
      const urls = hostileReturnUrls(RETURN_URL)
      const byHost = urls.filter((url) => URL.canParse(url) && new URL(url).host === 'shop.example')
      const byBeginning = urls.filter((url) => url.startsWith(RETURN_URL))
      expect([byHost.length, byBeginning.length].every((count) => count > 20)).toBe(true)
    })
  })

  it('422 for PKCE other than S256, for none, for no scope, and for unknown members', async () => {
    const { send, request } = await openHosted(open())
    for (const more of [
      { code_challenge_method: 'plain' },
      { code_challenge: undefined },
      { code_challenge_method: undefined },
      { code_challenge: 'short' },
      { requested_scope: [] },
      { client_state: 'x'.repeat(513) },
      { client_state: 'a\nb' },
      { nonsense: 1 },
    ]) {
      const { status, json } = await send('POST', '/auth/sdk-request', { json: { ...request, ...more } })
      expect([status, json.code], JSON.stringify(more)).toEqual([422, 'validation_failed'])
    }
  })

  it('A169: what a flood has left behind is purged when it has expired', async () => {
    const { start, store, opened, browser, clock } = await openHosted(open())
    const flood = await Promise.all(Array.from({ length: 500 }, () => start()))
    await store.purgeExpired(NOW + 599_999)
    expect((await browser().get(flood[0]?.authUrl ?? '')).status).toBe(200)
    clock.wallMs = NOW + 600_000
    await store.purgeExpired(NOW + 600_000)
    expect((await browser().get(flood[1]?.authUrl ?? '')).status).toBe(400)
    expect(hiddenField((await opened()).page, 'state')).toMatch(/^[\w-]{43}$/)
  })
})

describe('A169', () => {
  it('429 after as many as the contract allows, before the store is asked', async () => {
    let asked = 0
    const site = async () => {
      asked++
      return undefined
    }
    const { call } = createAppDouble({ store: { site } as never })
    const body = {
      site_id: 'shop.example',
      return_url: RETURN_URL,
      code_challenge: 'A'.repeat(43),
      code_challenge_method: 'S256',
    }
    const ask = () =>
      call('POST', '/auth/sdk-request', {
        headers: { 'content-type': 'application/json' },
        payload: JSON.stringify(body),
      })
    for (let i = 0; i < rateLimits.sign_in_start.requests; i++) expect((await ask()).status).toBe(400)
    const { status, headers } = await ask()
    expect([status, headers['retry-after'] !== undefined]).toEqual([429, true])
    expect(asked).toBe(rateLimits.sign_in_start.requests)
  })
})
