import { hash } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import type { SiteId } from '@countersign/core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLogoFetcher } from '../../../../src/brand/fetch-logo.ts'
import { createFetcher, type FetchOptions } from '../../../../src/net/fetch-bytes.ts'
import type { Store } from '../../../../src/store/store.ts'
import { newSiteId, openAdminNode } from '../../../admin-node.ts'
import { createPng, SVG } from '../../../brand/pictures.ts'
import { hiddenField, openHosted, openSecond } from '../../../hosted.ts'
import { keyOf, NOWHERE, operator } from '../../../node.ts'
import { context } from '../../../store/fixtures.ts'
import { forEachSharedStore } from '../../../stores.ts'

let server: Server
let origin = ''
let listener: RequestListener = () => {}
let asked = 0
beforeAll(async () => {
  server = createServer((request, answer) => {
    asked++
    listener(request, answer)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  origin = `http://localhost:${(server.address() as AddressInfo).port}`
})
afterAll(() => new Promise((done) => server.close(done)))

const serve = (bytes: Buffer): void => {
  listener = (_request, answer) => answer.writeHead(200, { 'content-type': 'image/png' }).end(bytes)
}

const plain = { logo_url: null, logo_path: null, accent: null, support_url: null, privacy_url: null }

forEachSharedStore('the look of a site', (open) => {
  let A = newSiteId()
  beforeEach(() => {
    A = newSiteId()
    asked = 0
    serve(createPng())
  })

  /** With a site A, and a fetcher of logos that may ask this machine. */
  async function opened(options: Partial<FetchOptions> = {}, store: Store = open()) {
    const node = await openAdminNode(store, A)
    const giveUpAfter = (timeoutMs: number) =>
      Object.assign(node.deps, {
        logos: createLogoFetcher(createFetcher({ allowLoopback: true, timeoutMs, ...options })),
      })
    giveUpAfter(30_000)
    await node.admin('create_site', { body: { site_id: A } })
    const params = { site_id: A }
    return {
      ...node,
      giveUpAfter,
      change: (body: object, caller = keyOf(A)) => node.ask('change_site', { caller, params, body }),
      read: async () => (await node.ask('read_site', { caller: keyOf(A), params })).body,
      async logo(path: string) {
        const [, , site_id = '', sha256 = ''] = path.split('/')
        return node.ask('site_logo', { params: { site_id, sha256 } })
      },
      audited: async () =>
        (await node.admin('list_audit', { params, query: 'action=site.change' })).body.items,
    }
  }

  describe('POST /api/sites', () => {
    const look = { accent: '#FFD400', support_url: 'mailto:help@shop.example' }

    it('201: creates a site with its look, in one step', async () => {
      const node = await opened()
      const site_id = newSiteId()
      const logo_url = `${origin}/logo.png`
      const created = await node.admin('create_site', { body: { site_id, name: 'Shop', logo_url, ...look } })
      expect(created.status).toBe(201)
      const shown = { ...look, accent: '#ffd400', logo_url, privacy_url: null }
      expect(created.body).toMatchObject(shown)
      const read = await node.admin('read_site', { params: { site_id } })
      expect(read.body).toEqual(created.body)
      expect((await node.logo(created.body.logo_path)).status).toBe(200)
    })

    it('A360: 409 for an id that is taken: the look of the site stays, and no logo is fetched', async () => {
      const node = await opened()
      await node.change({ accent: '#0a6448' })
      const body = { site_id: A, logo_url: `${origin}/logo.png`, ...look }
      expect(await node.admin('create_site', { body })).toMatchObject({ status: 409, code: 'already_exists' })
      expect(await node.admin('create_site', { body: { site_id: A, ...look } })).toMatchObject({
        status: 409,
      })
      expect(asked).toBe(0)
      expect(await node.read()).toMatchObject({ ...plain, accent: '#0a6448' })
      // The same request for an id that is free is fulfilled.
      const free = await node.admin('create_site', { body: { ...body, site_id: newSiteId() } })
      expect([free.status, asked]).toEqual([201, 1])
    })

    it('A360: 403 for a key of a site, which causes no fetch', async () => {
      const node = await opened()
      const body = { site_id: newSiteId(), logo_url: `${origin}/logo.png` }
      const { status } = await node.ask('create_site', { caller: keyOf(A), body })
      expect([status, asked]).toEqual([403, 0])
      expect([(await node.admin('create_site', { body })).status, asked]).toEqual([201, 1])
    })

    it('422: logo_rejected for what is not a logo, and there is no site', async () => {
      const node = await opened()
      serve(SVG)
      const site_id = newSiteId()
      const body = { site_id, logo_url: `${origin}/logo.png` }
      expect(await node.admin('create_site', { body })).toMatchObject({ status: 422, code: 'logo_rejected' })
      expect(await node.admin('read_site', { params: { site_id } })).toMatchObject({ status: 404 })
    })
  })

  describe('PATCH /api/sites/{site_id}', () => {
    it('200: sets all of it, shows it everywhere, and removes each with null', async () => {
      const node = await opened()
      expect(await node.read()).toMatchObject(plain)
      const logo_url = `${origin}/logo.png`
      const { status, body } = await node.change({
        logo_url,
        accent: '#FFD400',
        support_url: 'https://help.shop.example',
        privacy_url: 'https://shop.example/privacy#data',
      })
      expect(status).toBe(200)
      const shown = {
        logo_url,
        logo_path: expect.stringMatching(new RegExp(`^/logos/${A}/[0-9a-f]{64}$`)),
        accent: '#ffd400',
        support_url: 'https://help.shop.example/',
        privacy_url: 'https://shop.example/privacy#data',
      }
      expect(body).toMatchObject(shown)
      expect(await node.read()).toMatchObject(shown)
      const { body: page } = await node.ask('list_sites', { caller: keyOf(A) })
      expect(page.items).toMatchObject([{ site_id: A, ...shown }])

      for (const member of ['logo_url', 'accent', 'support_url', 'privacy_url']) {
        const { body: less } = await node.change({ [member]: null })
        expect(less[member]).toBeNull()
      }
      expect(await node.read()).toMatchObject(plain)
      expect(await node.logo(body.logo_path)).toMatchObject({ code: 'not_found' })
    })

    it('200: leaves what is not sent, and writes an audit row', async () => {
      const node = await opened()
      await node.change({ accent: '#0a6448', support_url: 'mailto:help@shop.example' })
      await node.change({ name: 'Shop', accent: '#112233' })
      expect(await node.read()).toMatchObject({
        name: 'Shop',
        accent: '#112233',
        support_url: 'mailto:help@shop.example',
      })
      await node.change({ accent: '#112233' })
      const rows = await node.audited()
      expect(rows.map((row: { outcome: string }) => row.outcome)).toEqual(['unchanged', 'done', 'done'])
      expect(rows[1]).toMatchObject({ action: 'site.change', target: A })
    })

    it('200: the same URL again fetches the logo again', async () => {
      const node = await opened()
      const logo_url = `${origin}/logo.png`
      const first = await node.change({ logo_url })
      serve(createPng(16, 16))
      const second = await node.change({ logo_url })
      expect(asked).toBe(2)
      expect(second.body.logo_path).not.toBe(first.body.logo_path)
      expect(await node.logo(first.body.logo_path)).toMatchObject({ code: 'not_found' })
      expect((await node.logo(second.body.logo_path)).status).toBe(200)
    })

    it.each([
      ['an SVG', () => serve(SVG), 'the logo is not a PNG, WebP or JPEG'],
      ['more than 64 KiB', () => serve(Buffer.alloc(65_537)), 'the logo is larger than 64 KiB'],
      ['too many pixels', () => serve(createPng(4000, 10)), 'the logo has 4000 × 10 pixels'],
      [
        'a redirect',
        () => {
          listener = (_request, answer) => answer.writeHead(302, { location: '/other.png' }).end()
        },
        'redirects are not followed',
      ],
      [
        'nothing',
        () => {
          listener = () => {}
        },
        'the logo could not be fetched',
      ],
    ])('A336: 422 for a host that answers with %s, and nothing changes', async (name, answer, fault) => {
      const node = await opened()
      await node.change({ logo_url: `${origin}/logo.png`, accent: '#0a6448' })
      const before = await node.read()
      answer()
      if (name === 'nothing') node.giveUpAfter(200)
      const rejected = await node.change({ logo_url: `${origin}/logo.png`, accent: '#ff0000', name: 'New' })
      expect(rejected).toMatchObject({ status: 422, code: 'logo_rejected' })
      expect(rejected.body.detail).toContain(fault)
      expect(rejected.body.errors).toEqual([{ path: 'logo_url', message: expect.stringContaining(fault) }])
      expect(await node.read()).toEqual(before)
      expect((await node.logo(before.logo_path)).status).toBe(200)
    })

    it('A335: 422 for this machine in production, and it is not asked', async () => {
      const node = await opened({ allowLoopback: false })
      const { status, code, body } = await node.change({ logo_url: `${origin}/logo.png` })
      expect([status, code, asked]).toEqual([422, 'logo_rejected', 0])
      expect(body.detail).toBe(
        'The logo is not accepted: the logo could not be fetched. Nothing was changed.',
      )
      // In development, where this machine may be asked, it answers.
      Object.assign(node.deps, { logos: createLogoFetcher(createFetcher({ allowLoopback: true })) })
      const allowed = await node.change({ logo_url: `${origin}/logo.png` })
      expect([allowed.status, asked]).toEqual([200, 1])
    })

    it.each([
      ['support_url', 'javascript:alert(1)'],
      ['support_url', 'mailto:a@shop.example?bcc=b@evil.example'],
      ['privacy_url', 'https://user:pw@shop.example/'],
      ['privacy_url', 'mailto:a@shop.example'],
      ['accent', '#fff;}body{display:none'],
      ['logo_url', 'data:image/png;base64,AAAA'],
    ])('A339: 422 for the %s %s, and nothing changes', async (member, value) => {
      const node = await opened()
      const { status, code, body } = await node.change({ [member]: value })
      expect([status, code]).toEqual([422, 'validation_failed'])
      expect(body.errors).toMatchObject([{ path: member }])
      expect(await node.read()).toMatchObject(plain)
    })

    it('A342: the administrator of another site changes nothing, and causes no fetch', async () => {
      const node = await opened()
      const other = await node.change({ logo_url: `${origin}/x.png`, accent: '#ff0000' }, keyOf(NOWHERE))
      expect([other.status, other.code]).toEqual([404, 'not_found'])
      expect(asked).toBe(0)
      expect(await node.read()).toMatchObject(plain)
      expect((await node.change({ accent: '#ff0000' })).status).toBe(200)
    })

    it('A342: a key that may only read changes nothing', async () => {
      const node = await opened()
      const reader = { ...keyOf(A), permissions: ['site:read'] } as ReturnType<typeof keyOf>
      expect(await node.change({ logo_url: `${origin}/x.png` }, reader)).toMatchObject({
        status: 403,
        code: 'api_key_forbidden',
      })
      expect(asked).toBe(0)
      // A key that may change it does, and only then the logo is fetched.
      expect((await node.change({ logo_url: `${origin}/x.png` })).status).toBe(200)
      expect(asked).toBe(1)
    })

    it('404: no logo is fetched for a site that does not exist', async () => {
      const node = await opened()
      const answer = await node.ask('change_site', {
        caller: operator,
        params: { site_id: 'none.example' },
        body: { logo_url: `${origin}/x.png` },
      })
      expect([answer.status, asked]).toEqual([404, 0])
    })
  })

  describe('GET /logos/{site_id}/{sha256}', () => {
    it('A341: sends the bytes with the type that they have, and nothing in them can run', async () => {
      const node = await opened()
      const bytes = createPng(20, 20)
      serve(bytes)
      const { body } = await node.change({ logo_url: `${origin}/logo.html` })
      const answer = await node.logo(body.logo_path)
      expect(answer.status).toBe(200)
      expect(answer.headers).toMatchObject({
        'content-type': 'image/png',
        'content-length': String(bytes.length),
        'cache-control': 'public, max-age=31536000, immutable',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
      })
      const kept = await node.deps.store.siteLogo(A, String(body.logo_path.split('/').at(-1)))
      expect(Buffer.from(kept?.bytes ?? [])).toEqual(bytes)
    })

    it('404: for another hash, another site, and a path that is none', async () => {
      const node = await opened()
      const { body } = await node.change({ logo_url: `${origin}/logo.png` })
      const path: string = body.logo_path
      for (const wrong of [path.replace(/.$/, 'g'), path.replace(/\w{64}$/, '0'.repeat(64))])
        expect(await node.logo(wrong)).toMatchObject({ status: 404, code: 'not_found' })
      expect(await node.logo(path.replace(A, 'other.example'))).toMatchObject({ status: 404 })
    })
  })

  describe('on hosted pages', () => {
    const brand = {
      accent: '#ffd400',
      supportUrl: 'https://shop.example/help?a=1&b="x',
      privacyUrl: 'https://shop.example/privacy',
    }
    const LOGO = createPng()
    async function hostedWith(changes: Parameters<Store['changeSite']>[1]) {
      const hosted = await openHosted(open(), { name: 'The Shop' })
      await hosted.store.changeSite(hosted.A as SiteId, changes, context())
      return hosted
    }
    const full = {
      ...brand,
      logo: { url: 'https://shop.example/l.png', sha256: 'a'.repeat(64), type: 'image/png', bytes: LOGO },
    }

    it('A341: the policy of the page is the same, and it loads nothing from another origin', async () => {
      const branded = await (await hostedWith(full)).opened()
      const unbranded = await (await openHosted(open())).opened()
      expect(branded.page.headers['content-security-policy']).toBe(
        unbranded.page.headers['content-security-policy'],
      )
      expect(branded.page.headers['content-security-policy']).toContain("style-src 'self'; img-src 'self'")
      const { text } = branded.page
      const loaded = [...text.matchAll(/<(?:img|link|script)[^>]+(?:src|href)="([^"]*)"/g)].map(
        ([, url]) => url,
      )
      expect(loaded.length).toBeGreaterThan(3)
      for (const url of loaded) expect(url).toMatch(/^\/(?:assets|logos)\//)
      expect(text).not.toMatch(/<style|style="/)
    })

    it('A341: no logo is fetched when a page is shown', async () => {
      const hosted = await hostedWith(full)
      let fetches = 0
      Object.assign(hosted.node.deps, { logos: { fetch: async () => ({ fault: `${++fetches}` }) } })
      await hosted.opened()
      expect(fetches).toBe(0)
    })

    it('shows logo, accent and links beside the id that the service vouches for', async () => {
      const hosted = await hostedWith(full)
      const { page } = await hosted.opened()
      expect(page.text).toContain(
        `<img class="logo" src="/logos/${hosted.A}/${'a'.repeat(64)}" alt="" width="44" height="44">`,
      )
      expect(page.text).toMatch(/accent-ffd400\.css"/)
      expect(page.text).toContain(
        '<a href="https://shop.example/help?a=1&#38;b=&#34;x" rel="noreferrer noopener"><span>Contact <bdi>The Shop</bdi></span></a>',
      )
      expect(page.text).toContain(
        '<a href="https://shop.example/privacy" rel="noreferrer noopener">Privacy</a>',
      )
      expect(page.text).toContain(`<bdi>${hosted.A}</bdi> <span class="tick">Verified</span>`)
    })

    it('shows a monogram, the green and no links otherwise', async () => {
      const { page } = await (await hostedWith({ name: 'The Shop' })).opened()
      expect(page.text).toContain('class="monogram')
      expect(page.text).not.toMatch(/class="logo"|accent-|Contact|Privacy/)
    })

    it('shows them on an error page of the site, and in its own language', async () => {
      const hosted = await hostedWith(full)
      const { state, browser, page } = await hosted.opened()
      const { text } = await browser.get(`/auth/sdk-callback?state=${state}&payload=wrong`, {
        'accept-language': 'de',
      })
      expect(hiddenField(page, 'state')).toBe(state)
      expect(text).toContain('class="logo"')
      expect(text).toMatch(/accent-ffd400\.css"/)
      expect(text).toContain('<bdi>The Shop</bdi> kontaktieren')
      expect(text).toContain('>Datenschutz</a>')
    })

    it('every node serves the logo and shows the same', async () => {
      const bytes = createPng(12, 12)
      const sha256 = hash('sha256', bytes)
      const hosted = await hostedWith({ ...brand, logo: { ...full.logo, bytes, sha256 } })
      const second = await openSecond(hosted)
      const answer = await second.send('GET', `/logos/${hosted.A}/${sha256}`)
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'image/png'])
    })
  })
})
