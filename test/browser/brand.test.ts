import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Client, createClient, startSignIn } from '../../packages/sdk/src/index.ts'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { createPng, SVG } from '../../packages/service/test/brand/pictures.ts'
import { createHome, type ServiceProcess, startFurnished } from '../process/service-process.ts'
import { findAxeFaults, findOverflow } from './axe.ts'
import { findChromium, openChromium, WAIT_MS_MAX, wantsAllLooks } from './chromium.ts'
import { type ContextPool, createContextPool } from './context-pool.ts'
import { newName } from './new-name.ts'
import { screenshot } from './town.ts'
import { openPass, ready } from './walks.ts'

const chromium = findChromium()
const BLUE = [31, 79, 216]
const LONG = 'Blue Door Orders and Returns for All of Our Customers Everywhere'

describe.skipIf(chromium === undefined)('the look of a site, in a real browser', () => {
  let service: ServiceProcess
  let browser: Browser
  let pool: ContextPool
  let client: Client
  let dev: DevFile
  let logos: Server
  let logoUrl = ''
  let returnUrl = ''

  beforeAll(async () => {
    const home = await createHome()
    // Only in development is a logo fetched from this machine.
    const started = await startFurnished(home, { isDevelopment: true })
    service = started
    dev = started.dev
    client = createClient({ baseUrl: home.baseUrl, apiKey: dev.site_key })
    logos = createServer(({ url }, answer) =>
      answer.end(url === '/svg' ? SVG : createPng(64, 64, { colour: BLUE })),
    )
    await new Promise<void>((resolve) => logos.listen(0, '127.0.0.1', resolve))
    logoUrl = `http://localhost:${(logos.address() as AddressInfo).port}/logo.png`
    returnUrl = new URL('/callback', logoUrl).href
    browser = await openChromium(chromium as string)
    pool = createContextPool(browser, async (context) => context.setDefaultTimeout(WAIT_MS_MAX))
    await setLook()
  })
  afterAll(async () => {
    await browser?.close()
    logos?.closeAllConnections()
    await new Promise((resolve) => logos?.close(resolve))
    await service?.stop()
  })

  const setLook = (more: object = {}) =>
    client.changeSite({
      site_id: dev.site_id,
      name: 'Blue Door Orders',
      return_urls: [returnUrl],
      logo_url: logoUrl,
      accent: '#ffd400',
      support_url: 'https://shop.example/help',
      privacy_url: 'https://shop.example/privacy',
      ...more,
    })

  async function visitor(options: BrowserContextOptions = {}) {
    const { page, giveBack } = await pool.open({ locale: 'en', reducedMotion: 'reduce', ...options })
    const origins = [dev.base_url, new URL(logoUrl).origin]
    onTestFinished(({ task }) => giveBack(origins, task.result?.state !== 'fail'))
    const away: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(`${dev.base_url}/`)) away.push(request.url())
    })
    return { page, away }
  }

  async function openOffer(page: Page): Promise<void> {
    const offer = { site_id: dev.site_id, user_ref: newName('brand'), scope: ['orders:read'] }
    await page.goto((await client.createOffer(offer)).offer_url)
    await ready(page)
    await page.getByRole('button', { name: 'Add to this browser' }).waitFor()
  }

  async function openSignIn(page: Page, uiLocales: readonly string[] = ['en']): Promise<void> {
    const { authUrl } = await startSignIn({
      baseUrl: dev.base_url,
      siteId: dev.site_id,
      returnUrl,
      uiLocales,
    })
    await page.goto(String(authUrl))
    await ready(page)
  }

  /** The colours of the main button. */
  const paint = (page: Page): Promise<readonly string[]> =>
    page.evaluate(`(() => {
      const button = [...document.querySelectorAll('.btn.primary')].find((one) => one.checkVisibility())
      const { backgroundColor, color } = getComputedStyle(button)
      return [backgroundColor, color]
    })()`)

  const states: Readonly<Record<string, (page: Page) => Promise<void>>> = {
    claim: openOffer,
    'sign-in': async (page) => {
      await openOffer(page)
      await page.getByRole('button', { name: 'Add to this browser' }).click()
      await page.getByRole('heading', { name: 'You’re in' }).waitFor()
      await openSignIn(page)
    },
    pass: async (page) => {
      await openOffer(page)
      await page.getByRole('button', { name: 'Add to this browser' }).click()
      await page.getByRole('heading', { name: 'You’re in' }).waitFor()
      await openPass(page)
    },
    error: async (page) => {
      await openSignIn(page)
      const state = new URL(page.url()).searchParams.get('state')
      await page.goto(`${dev.base_url}/auth/sdk-callback?state=${state}&payload=wrong`)
    },
    'sign-in in Arabic': (page) => openSignIn(page, ['ar']),
  }

  test.each(Object.entries(states))(
    'A341: %s: the logo is drawn, the links lead to the site, nothing else is loaded',
    { tags: 'long' },
    async (name, open) => {
      const { page, away } = await visitor({ bypassCSP: true })
      await open(page)
      await page.locator('.logo:visible').waitFor()
      const width = '[...document.images].find((one) => one.checkVisibility()).naturalWidth'
      await expect.poll(() => page.evaluate(width)).toBe(64)
      const links = `[...document.querySelectorAll('.foot-links a[rel="noreferrer noopener"]')]`
      expect(await page.evaluate(`${links}.map((link) => link.href)`)).toEqual([
        'https://shop.example/help',
        'https://shop.example/privacy',
      ])
      expect(away).toEqual([])
      for (const colorScheme of ['light', 'dark'] as const)
        for (const width of [320, 375, 1280]) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: 600 })
          expect(await findOverflow(page), `${colorScheme} ${width}`).toBe(0)
          // With all looks, also dark on a desktop and light on a phone.
          const isAnalyzed = width === (colorScheme === 'light' ? 1280 : 320)
          if (isAnalyzed || (wantsAllLooks && width !== 375))
            expect(await findAxeFaults(page, colorScheme === 'light' ? 'all' : 'colors')).toEqual([])
          await screenshot(page, `brand-${name}-${width}-${colorScheme}`)
        }
    },
  )

  test('A341: without the policy, a picture of another origin would be loaded', {
    tags: 'long',
  }, async () => {
    const load = async (bypassCSP: boolean) => {
      const { page, away } = await visitor({ bypassCSP })
      const answered: string[] = []
      page.on('requestfinished', (request) => answered.push(request.url()))
      await openSignIn(page)
      const loaded = await page.evaluate<boolean>(`new Promise((resolve) => {
        const picture = new Image()
        picture.onload = () => resolve(true)
        picture.onerror = () => resolve(false)
        picture.src = '${logoUrl}'
      })`)
      return [loaded, away.includes(logoUrl) && answered.includes(logoUrl)]
    }
    expect(await load(false)).toEqual([false, false])
    expect(await load(true)).toEqual([true, true])
  })

  test('A337: as a page, an SVG runs its scripts, which is why it is not a logo', async () => {
    const { page } = await visitor()
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg"><script>document.documentElement.id = "ran"</script></svg>'
    await page.route('**/a.svg', (route) => route.fulfill({ contentType: 'image/svg+xml', body: svg }))
    await page.goto(new URL('/a.svg', logoUrl).href)
    expect(await page.evaluate('document.documentElement.id')).toBe('ran')
    await expect(setLook({ logo_url: new URL('/svg', logoUrl).href })).rejects.toMatchObject({
      code: 'logo_rejected',
    })
  })

  test('the main button has a shade of the accent, in light and dark, also in the wallet', {
    tags: 'long',
  }, async () => {
    const { page } = await visitor()
    await openOffer(page)
    await page.emulateMedia({ colorScheme: 'light' })
    await expect.poll(() => paint(page)).toEqual(['rgb(140, 117, 0)', 'rgb(255, 255, 255)'])
    await page.emulateMedia({ colorScheme: 'dark' })
    await expect.poll(() => paint(page)).toEqual(['rgb(255, 212, 0)', 'rgb(13, 18, 16)'])
    await openSignIn(page)
    await expect.poll(() => paint(page)).toEqual(['rgb(255, 212, 0)', 'rgb(13, 18, 16)'])
    // The list is of several sites, and has no look of one of them.
    await page.goto(`${dev.base_url}/wallet`)
    await ready(page)
    expect(await page.locator('#accent, #site-links a').count()).toBe(0)
  })

  test('A344: neither logo, accent nor a long name hides the verified id or the button', {
    tags: 'long',
  }, async () => {
    await setLook({ name: LONG, accent: '#18201d' })
    try {
      const { page } = await visitor({ viewport: { width: 375, height: 600 }, bypassCSP: true })
      await states['sign-in']?.(page)
      const logo = await page.locator('.logo').boundingBox()
      expect([logo?.width, logo?.height]).toEqual([44, 44])
      const id = page.locator('.verified')
      const box = await id.boundingBox()
      expect(box?.x).toBeGreaterThanOrEqual((logo?.x ?? 0) + 44)
      expect(await id.textContent()).toBe(`${dev.site_id} Verified`)
      // What is painted at its place is the id itself.
      const isSeen = `(() => {
        const text = document.querySelector('.verified bdi')
        const { x, y, width, height } = text.getBoundingClientRect()
        return document.elementFromPoint(x + width / 2, y + height / 2) === text
      })()`
      expect(await page.evaluate(isSeen)).toBe(true)
      const tick = await page.evaluate("getComputedStyle(document.querySelector('.tick')).color")
      expect(tick).toBe('rgb(10, 100, 72)')
      const button = await page.getByRole('button', { name: 'Continue' }).boundingBox()
      expect((button?.y ?? 0) + (button?.height ?? 0)).toBeLessThan(600)
      // A style of the site's own could hide the id: that is why a site has none.
      await page.addStyleTag({
        content: '.logo { position: fixed; inset: 0; inline-size: 100vw; block-size: 100vh }',
      })
      expect(await page.evaluate(isSeen)).toBe(false)
    } finally {
      await setLook()
    }
  })

  test('no page is too wide for a name of one long word', { tags: 'long' }, async () => {
    await setLook({ name: 'W'.repeat(64) })
    try {
      for (const [name, open] of Object.entries(states)) {
        const { page } = await visitor({ viewport: { width: 320, height: 600 } })
        await open(page)
        await page.locator('.logo:visible').waitFor()
        for (const width of [320, 375, 1280]) {
          await page.setViewportSize({ width, height: 600 })
          expect(await findOverflow(page), `${name} ${width}`).toBe(0)
        }
      }
    } finally {
      await setLook()
    }
  })

  test('a logo that is gone becomes the monogram, and a sign-in brings the new look to the wallet', {
    tags: 'long',
  }, async () => {
    const { page } = await visitor()
    await states.pass?.(page)
    await page.locator('.logo:visible').waitFor()
    await page.route('**/logos/**', (route) => route.fulfill({ status: 404 }))
    await page.reload()
    await page.locator('#view-pass .monogram').waitFor()
    await page.unroute('**/logos/**')

    await setLook({ support_url: 'mailto:help@shop.example' })
    try {
      await openSignIn(page)
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.waitForURL(`${returnUrl}?**`)
      await page.goto(`${dev.base_url}/wallet`)
      await ready(page)
      await openPass(page)
      const help = page.getByRole('link', { name: 'Contact Blue Door Orders' })
      expect(await help.getAttribute('href')).toBe('mailto:help@shop.example')
    } finally {
      await setLook()
    }
  })

  test('works in forced colours', { tags: 'long' }, async () => {
    const { page } = await visitor({ forcedColors: 'active' })
    await openSignIn(page)
    expect(await page.locator('.verified').isVisible()).toBe(true)
    await screenshot(page, 'brand-forced-colours')
  })
})
