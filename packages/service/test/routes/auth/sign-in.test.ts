import { describe, expect, it } from 'vitest'
import { hiddenField, openHosted, RETURN_URL } from '../../hosted.ts'
import { NOW } from '../../party.ts'
import { forEachSharedStore } from '../../stores.ts'

forEachSharedStore('GET /auth/sign-in', (open) => {
  describe('200', () => {
    it('says who asks, for what, and where the way back leads', async () => {
      const { opened, A } = await openHosted(open(), { name: 'Blue Door' })
      const { page } = await opened({ requested_scope: ['orders:read', 'house-keys:admin', 'plain'] })
      for (const word of ['Blue Door', A, 'shop.example', 'See orders', 'Manage house keys', 'plain']) expect(page.text).toContain(word)
      expect((await opened({ requested_scope: undefined })).page.text).toContain('whatever your credential')
    })

    it('lets nothing run in it but our own scripts, is not framed, not cached, and tells nobody where it was', async () => {
      const { opened } = await openHosted(open())
      const { page, state } = await opened()
      const policy = page.headers['content-security-policy'] ?? ''
      expect(policy).toBe(
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; " +
          "base-uri 'none'; form-action 'self' https://shop.example; frame-ancestors 'none'",
      )
      expect(page.headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cross-origin-opener-policy': 'same-origin',
      })
      // No script or style in the page itself, and no handler.
      expect(page.text).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc="\/assets\/[^"]+"><\/script>)/i)
      expect(page.text.split(state)).toHaveLength(4) // The field of the form, the way to cancel, and what the script is told.
    })

    it('A216: binds the browser by a cookie that no other host, script or plain connection can reach', async () => {
      const { opened } = await openHosted(open())
      const { page } = await opened()
      const cookie = page.headers['set-cookie'] ?? ''
      expect(cookie).toMatch(/^__Host-countersign-[0-9a-f]{12}=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/)
    })

    it('has a plain cookie name on loopback without TLS, where browsers know no other', async () => {
      const { opened } = await openHosted(open(), {}, 'http://127.0.0.1:8787')
      const { page, browser } = await opened()
      expect(page.headers['set-cookie']).toMatch(/^countersign-[0-9a-f]{12}=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
      expect(browser.jar.size).toBe(1)
    })

    it('A216: never takes a cookie value that the visitor brought, even one that looks like ours', async () => {
      const { start, browser } = await openHosted(open())
      const { authUrl } = await start()
      const planted = 'A'.repeat(43)
      const first = await browser().get(authUrl)
      const name = (first.headers['set-cookie'] ?? '').split('=')[0] ?? ''
      const other = await start()
      const otherName = name.slice(0, -12)
      const victim = browser()
      // Under every name that it could have.
      const found = await victim.get(other.authUrl, { cookie: `${name}=${planted}; ${otherName}=${planted}` })
      expect(found.headers['set-cookie']).not.toContain(planted)
      const ownName = (found.headers['set-cookie'] ?? '').split('=')[0] ?? ''
      const again = await start()
      const fresh = await victim.get(again.authUrl, { cookie: `${ownName}=${planted}` })
      expect(fresh.headers['set-cookie']).not.toContain(planted)
    })

    it('shows the page again to the same browser, without binding anew', async () => {
      const { opened } = await openHosted(open())
      const { browser, authUrl, page } = await opened()
      const again = await browser.get(authUrl)
      expect([again.status, again.headers['set-cookie']]).toEqual([200, undefined])
      expect(hiddenField(again, 'csrf_token')).toBe(hiddenField(page, 'csrf_token'))
    })

    it('A214: shows what others have named as text, whatever it says', async () => {
      const { opened } = await openHosted(open(), { name: `"><img src=x onerror=alert(1)><script>alert('x')</script>&lt;{host}` })
      const { page } = await opened()
      expect(page.text).not.toMatch(/<img|<script>|onerror=alert\(1\)>/)
      expect(page.text).toContain('&#60;script&#62;alert(&#39;x&#39;)')
    })

    it('lets a form lead on to a return URL that has a port or is an address', async () => {
      for (const [url, source] of [
        ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000'],
        ['http://[::1]:3000/cb', 'http:'],
        ['https://x.example:8443/cb?keep=this', 'https://x.example:8443'],
      ] as const) {
        const { opened } = await openHosted(open(), { returnUrls: [url] })
        const { page } = await opened({ return_url: url })
        expect(page.headers['content-security-policy']).toContain(`form-action 'self' ${source};`)
      }
    })
  })

  describe('400', () => {
    it('A160: state_invalid for a state that is unknown, expired, used, cancelled or another browser’s, all alike', async () => {
      const { opened, signedIn, issued, browser, clock } = await openHosted(open())
      const { document } = await issued({ validUntilMs: NOW + 86_400_000 })
      const used = await signedIn(document)
      const foreign = await opened()
      const cancelled = await opened()
      await cancelled.browser.get(`/auth/sdk-callback?state=${cancelled.state}&error=access_denied`)
      const late = await opened()
      const seen = [
        await browser().get(`/auth/sign-in?state=${'A'.repeat(43)}`),
        await used.browser.get(used.authUrl),
        await browser().get(foreign.authUrl),
        await cancelled.browser.get(cancelled.authUrl),
      ]
      clock.wallMs = NOW + 600_000
      seen.push(await late.browser.get(late.authUrl))
      const words = seen.map(({ status, text, headers }) => [status, text.replaceAll(headers['x-request-id'] ?? '', '')])
      expect(words[0]?.[0]).toBe(400)
      for (const one of words) expect(one).toEqual(words[0])
      for (const { text, headers } of seen) expect([text.includes('state_invalid'), headers['set-cookie']]).toEqual([true, undefined])
    })

    it('is problem+json with the same status for whoever does not ask for a page', async () => {
      const { send } = await openHosted(open())
      for (const accept of [undefined, '*/*', 'application/json']) {
        const { status, json } = await send('GET', `/auth/sign-in?state=${'A'.repeat(43)}`, { headers: { accept } })
        expect([status, json.code]).toEqual([400, 'state_invalid'])
      }
    })

    it('redirect_not_allowed once the site has taken the return URL off its list', async () => {
      const { start, browser, store, A } = await openHosted(open())
      const { authUrl } = await start()
      await store.changeSite(A, { returnUrls: [`${RETURN_URL}/new`] }, { actor: 'operator', atMs: NOW, requestId: undefined })
      const { status, text } = await browser().get(authUrl)
      expect([status, text.includes('redirect_not_allowed')]).toEqual([400, true])
    })
  })

  it('binds exactly one of many browsers that open it at the same time', async () => {
    const { start, browser } = await openHosted(open())
    const { authUrl } = await start()
    const answers = await Promise.all(Array.from({ length: 50 }, () => browser().get(authUrl)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  it('is a page for people wherever a browser goes astray under /auth or /wallet, and JSON elsewhere', async () => {
    const { send } = await openHosted(open())
    const headers = { accept: 'text/html' }
    for (const path of ['/auth/nothing', '/wallet/nothing', '/auth/sign-in', '/auth/sign-in?state=x&more=1']) {
      const { status, text } = await send('GET', path, { headers })
      expect([status >= 400, text.startsWith('<!doctype html>')], path).toEqual([true, true])
    }
    expect((await send('GET', '/api/nothing', { headers })).json.code).toBe('not_found')
  })
})
