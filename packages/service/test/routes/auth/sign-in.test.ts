import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hiddenField, openHosted, RETURN_URL, type Seen } from '../../hosted.ts'
import { NOW } from '../../party.ts'
import { forEachSharedStore } from '../../stores.ts'

/** Where the links of a page lead. */
const links = (text: string) =>
  Array.from(text.matchAll(/<a [^>]*href="([^"]*)"/g), ([, href = '']) => href.replaceAll('&#38;', '&'))

forEachSharedStore('GET /auth/sign-in', (open) => {
  describe('200', () => {
    it('says who asks, for what, and until when', async () => {
      const { opened, A } = await openHosted(open(), { name: 'Blue Door' })
      const { page } = await opened({ requested_scope: ['orders:read', 'house-keys:admin', 'plain'] })
      for (const word of [
        'Blue Door',
        A,
        'View orders',
        'Manage house keys',
        'plain',
        '&#34;expires_in&#34;:600',
      ])
        expect(page.text).toContain(word)
      expect((await opened({ requested_scope: undefined })).page.text).toContain('What you’re allowed to do')
    })

    it('lets nothing run in it but our own scripts, is not framed, not cached, and sends no referrer', async () => {
      const { opened } = await openHosted(open())
      const { page, state } = await opened()
      const policy = page.headers['content-security-policy'] ?? ''
      const [, inline = ''] = /<script data-site="[^"]+">([^<]+)<\/script>/.exec(page.text) ?? []
      const digest = hash('sha256', inline, 'base64')
      expect(policy).toBe(
        `default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self' 'sha256-${digest}'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; ` +
          "base-uri 'none'; form-action 'self' https://shop.example; frame-ancestors 'none'",
      )
      expect(page.headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cross-origin-opener-policy': 'same-origin',
      })
      // The one script in the page itself is the same in every page, and the policy has its hash.
      const { page: other } = await opened({ client_state: 'another' })
      expect(other.headers['content-security-policy']).toBe(policy)
      // No other script or style in the page itself, and no handler.
      expect(page.text.replace(/<script data-site="[^"]+">[^<]+<\/script>/, '')).not.toMatch(
        /<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc="\/assets\/[^"]+"><\/script>)/i,
      )
      // The field of the form, two ways to cancel, one to reload, ten languages, and the data.
      expect(page.text.split(state)).toHaveLength(16)
    })

    it('A216: binds the browser by a cookie that no other host, script or plain connection can reach', async () => {
      const { opened } = await openHosted(open())
      const { page } = await opened()
      const cookie = page.headers['set-cookie'] ?? ''
      expect(cookie).toMatch(
        /^__Host-countersign-[0-9a-f]{12}=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
      )
    })

    it('has a plain cookie name on loopback without TLS, where browsers know no other', async () => {
      const { opened } = await openHosted(open(), {}, 'http://127.0.0.1:8787')
      const { page, browser } = await opened()
      expect(page.headers['set-cookie']).toMatch(
        /^countersign-[0-9a-f]{12}=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
      )
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

    it('shows the page again to the same browser, without binding again', async () => {
      const { opened } = await openHosted(open())
      const { browser, authUrl, page } = await opened()
      const again = await browser.get(authUrl)
      expect([again.status, again.headers['set-cookie']]).toEqual([200, undefined])
      expect(hiddenField(again, 'csrf_token')).toBe(hiddenField(page, 'csrf_token'))
    })

    it('A214: shows what others have named as text, whatever it says', async () => {
      const { opened } = await openHosted(open(), {
        name: `"><img src=x onerror=alert(1)><script>alert('x')</script>&lt;{host}`,
      })
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
      const get = async (accept: string) => {
        clock.wallMs = NOW
        const seen = [
          await used.browser.get(used.authUrl, { accept }),
          await browser().get(foreign.authUrl, { accept }),
          await cancelled.browser.get(cancelled.authUrl, { accept }),
        ]
        clock.wallMs = NOW + 600_000
        return [...seen, await late.browser.get(late.authUrl, { accept })]
      }
      const words = (seen: readonly Seen[]) =>
        seen.map(({ status, text, headers }) => [
          status,
          text
            .replaceAll(headers['x-request-id'] ?? '', '')
            .replaceAll(/<dd>\d{4}-[^<]*Z<\/dd>/g, '')
            .replaceAll(/state=[\w-]{43}/g, ''),
          headers['set-cookie'],
        ])
      const unknown = `/auth/sign-in?state=${'A'.repeat(43)}`
      const pages = words(await get('text/html'))
      for (const one of pages) expect(one).toEqual(pages[0])
      expect(pages[0]).toEqual([400, expect.stringContaining('state_invalid'), undefined])
      // A program learns no more of a state that was known once than of any other.
      const json = 'application/json'
      const answers = words([...(await get(json)), await browser().get(unknown, { accept: json })])
      for (const one of answers) expect(one).toEqual(answers[0])
    })

    it('A10: a page of a known state leads back to the registered address of the site, and to no other', async () => {
      const { opened, start, browser, store, A, baseUrl, node } = await openHosted(open(), {
        name: 'Blue Door',
      })
      const late = await opened()
      await node.later(600_000)
      const { text, status } = await late.browser.get(late.authUrl)
      expect([status, text]).toEqual([400, expect.stringContaining('Back to <bdi>Blue Door</bdi>')])
      const back = new URL(links(text).find((href) => href.startsWith(RETURN_URL)) ?? '')
      expect(Object.fromEntries(back.searchParams)).toMatchObject({ error: 'state_invalid', iss: baseUrl })
      // Its own state is not for whichever browser has the link.
      expect(back.searchParams.has('state')).toBe(false)
      // The same at the ways back and out.
      for (const rest of ['payload=x', 'error=access_denied']) {
        const page = await late.browser.get(`/auth/sdk-callback?state=${late.state}&${rest}`)
        expect([page.status, links(page.text)]).toEqual([400, expect.arrayContaining([back.href])])
      }
      // Never to a URL that is not registered any more, and nowhere for an unknown state.
      const unknown = await browser().get(`/auth/sign-in?state=${'A'.repeat(43)}`)
      await store.changeSite(
        A,
        { returnUrls: [`${RETURN_URL}/new`] },
        { actor: 'operator', atMs: NOW, requestId: undefined },
      )
      const { authUrl } = await start({ return_url: `${RETURN_URL}/new` })
      await store.changeSite(A, { returnUrls: [] }, { actor: 'operator', atMs: NOW, requestId: undefined })
      for (const page of [unknown, await late.browser.get(late.authUrl), await browser().get(authUrl)]) {
        expect(page.status).toBe(400)
        expect(links(page.text).filter((href) => /^\w+:/.test(href))).toEqual([])
        // But there is always a way onward.
        expect(links(page.text)).toEqual(expect.arrayContaining(['/wallet', '/docs/guides/for-users']))
      }
      // An hour later the state is forgotten.
      await node.deps.store.purgeExpired(NOW + 600_000 + 3_600_000)
      expect(await store.signIn(hash('sha256', late.state))).toBeUndefined()
    })

    it('A10: a page that may work later has a button to try again', async () => {
      const { presented, issued, node } = await openHosted(open())
      const { browser, callbackUrl } = await presented((await issued()).document)
      const { views } = node.deps
      const { readiness } = views
      Object.assign(views, { readiness: () => ({ ready: false, why: 'stale' }) })
      const page = await browser.get(callbackUrl)
      expect([page.status, links(page.text)]).toEqual([503, expect.arrayContaining([''])])
      Object.assign(views, { readiness })
      expect((await browser.get(callbackUrl)).status).toBe(303)
    })

    it('is problem+json with the same status for a client that does not ask for a page', async () => {
      const { send } = await openHosted(open())
      for (const accept of [undefined, '*/*', 'application/json']) {
        const { status, json } = await send('GET', `/auth/sign-in?state=${'A'.repeat(43)}`, {
          headers: { accept },
        })
        expect([status, json.code]).toEqual([400, 'state_invalid'])
      }
    })

    it('redirect_not_allowed once the site has taken the return URL off its list', async () => {
      const { start, browser, store, A } = await openHosted(open())
      const { authUrl } = await start()
      await store.changeSite(
        A,
        { returnUrls: [`${RETURN_URL}/new`] },
        { actor: 'operator', atMs: NOW, requestId: undefined },
      )
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

  it('A160: HEAD, as programs send it that check links, starts, binds and uses up nothing', async () => {
    const { send, start, browser, presented, issued, request } = await openHosted(open())
    const { authUrl } = await start()
    const head = async (url: string, cookie?: string) => {
      const { status, headers } = await send('HEAD', url, { headers: { cookie } })
      return [status, headers['set-cookie'], headers.location]
    }
    const rejected = [405, undefined, undefined]
    expect(await head(authUrl)).toEqual(rejected)
    expect((await browser().get(authUrl)).status).toBe(200)
    const shown = await presented((await issued()).document)
    expect(await head(shown.callbackUrl, shown.browser.cookie)).toEqual(rejected)
    expect((await shown.browser.get(shown.callbackUrl)).status).toBe(303)
    const query = new URLSearchParams({ ...request, requested_scope: 'orders:read' })
    expect(await head(`/auth/sdk-request?${query}`)).toEqual(rejected)
    expect((await send('HEAD', '/auth/sign-in')).headers.allow).toBe('GET')
  })

  it('is a page for people wherever a browser goes astray, and JSON for programs', async () => {
    const { send } = await openHosted(open())
    const headers = { accept: 'text/html' }
    for (const path of [
      '/auth/nothing',
      '/wallet/nothing',
      '/auth/sign-in',
      '/auth/sign-in?state=x&more=1',
      '/nothing',
      '/api/nothing',
    ]) {
      const { status, text } = await send('GET', path, { headers })
      expect([status >= 400, text.startsWith('<!doctype html>')], path).toEqual([true, true])
    }
    expect((await send('GET', '/api/nothing')).json.code).toBe('not_found')
  })
})
