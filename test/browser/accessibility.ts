import { expect, test } from 'vitest'
import { languages } from '../../packages/service/src/pages/choose-language.ts'
import { findAxeFaults, findOverflow } from './axe.ts'
import { wantsAllLooks } from './chromium.ts'
import { screenshot, type Town, type Visitor } from './town.ts'
import { askToSignIn, claim, endAccess, openList, openPass, paste, ready, submit } from './walks.ts'

const PHONE = { width: 320, height: 640 }
const DESKTOP = { width: 1280, height: 800 }

/** C28: wider than a phone. */
const LONG_SCOPE = 'averyveryverylongresource/with/many/parts/and-more-of-them:read'

/** Each page, and each state of it that looks different. */
const states: Readonly<Record<string, (town: Town, visitor: Visitor) => Promise<void>>> = {
  'sign-in-nothing-kept': async (town, { page }) => {
    await askToSignIn(town, page)
    await ready(page)
  },
  'sign-in-kept': async (town, visitor) => {
    await claim(town, visitor, 'axe')
    await claim(town, visitor, 'axe', ['orders:write'])
    await askToSignIn(town, visitor.page)
    await ready(visitor.page)
  },
  'sign-in-unfit': async (town, visitor) => {
    const { page } = visitor
    await claim(town, visitor, 'axe-unfit', [LONG_SCOPE])
    await claim(town, visitor, 'axe-revoked')
    const { ppid } = await town.credential('axe-revoked')
    await town.client.revokeUser({ ppid, site_id: town.siteId })
    await askToSignIn(town, page)
    await ready(page)
  },
  'sign-in-over': async (town, { page }) => {
    await askToSignIn(town, page)
    await ready(page)
    town.expireSignIns()
    await paste(page, (await town.credential('axe')).credential)
    await submit(page)
    await page.getByRole('heading', { name: 'This sign-in is no longer valid' }).waitFor()
  },
  'sign-in-refused': async (town, { page }) => {
    await askToSignIn(town, page)
    await ready(page)
    await paste(page, 'nonsense')
    await submit(page)
    await page.locator('.notice.bad').waitFor()
  },
  'wallet-empty': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/wallet`)
    await ready(page)
  },
  'wallet-offer': async (town, { page }) => {
    await page.goto(await town.offer('axe', ['orders:read', LONG_SCOPE]))
    await ready(page)
  },
  'wallet-offer-over': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/wallet#offer=${'A'.repeat(43)}`)
    await page.getByText('This invitation is no longer valid').waitFor()
  },
  'wallet-claimed': async (town, visitor) => {
    await claim(town, visitor, 'axe')
  },
  'wallet-full': async (town, visitor) => {
    await claim(town, visitor, 'axe', ['orders:read', LONG_SCOPE])
    await openList(visitor.page)
    await visitor.page.locator('.pill.active').waitFor()
  },
  'wallet-pass': async (town, visitor) => {
    await claim(town, visitor, 'axe', ['orders:read', LONG_SCOPE])
    await openPass(visitor.page)
  },
  'wallet-dialog': async (town, visitor) => {
    await claim(town, visitor, 'axe')
    await openPass(visitor.page)
    await visitor.page.getByRole('button', { name: 'End my access everywhere' }).click()
  },
  'wallet-ended': async (town, visitor) => {
    await claim(town, visitor, 'axe-ended')
    await openPass(visitor.page)
    await endAccess(visitor.page)
    await visitor.page.getByText('has ended').waitFor()
  },
  'language-menu': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/wallet`)
    await ready(page)
    await page.locator('.languages summary').click()
  },
  'docs-endpoints': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/docs`)
  },
  'docs-tables': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/docs/operating`)
  },
  'docs-picture': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/docs/readme`)
    // Pictures below the window are loaded when the page is scrolled, and cannot be decoded before.
    await page.evaluate("for (const one of document.images) one.loading = 'eager'")
    const widths = await page.evaluate<readonly number[]>(
      'Promise.all([...document.images].map(async (one) => (await one.decode(), one.naturalWidth)))',
    )
    expect(widths.length).toBeGreaterThan(0)
    expect(Math.min(...widths)).toBeGreaterThan(0)
  },
  'docs-errors': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/docs/errors#credential_revoked`)
  },
  front: async (town, { page }) => {
    await page.goto(town.dev.base_url)
  },
  'not-found': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/nothing/here`)
  },
  problems: async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/problems`)
  },
  'error-with-way-back': async (town, { page }) => {
    await askToSignIn(town, page)
    town.expireSignIns()
    await page.reload()
  },
  error: async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/auth/sign-in?state=${'A'.repeat(43)}`)
  },
}

/** `docs.test.ts` looks for their faults, or for those of a page of the same kind. */
const ANALYZED_WITH_DOCS = [
  ...['docs-endpoints', 'docs-tables', 'docs-picture', 'docs-errors'],
  ...['front', 'problems'],
]

/** From right to left, with long words, and in another script. */
const TELLING_LANGUAGES = ['ar', 'de', 'ja']

export function accessibility(town: () => Town): void {
  test.each(Object.keys(states))(
    '%s has no fault that axe finds, light and dark, and fits a phone in either direction',
    { tags: 'long' },
    async (name) => {
      // Axe is put into the page, which lets no foreign script in.
      const visitor = await town().visitor({ viewport: DESKTOP, bypassCSP: true })
      const { page } = visitor
      await states[name]?.(town(), visitor)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        if (wantsAllLooks || !ANALYZED_WITH_DOCS.includes(name))
          expect(await findAxeFaults(page, colorScheme === 'light' ? 'all' : 'colors')).toEqual([])
        await screenshot(page, `${name}-${colorScheme}`)
      }
      await page.setViewportSize(PHONE)
      expect(await findOverflow(page)).toBe(0)
      await screenshot(page, `${name}-dark-phone`)
      await page.evaluate('document.documentElement.dir = "rtl"')
      expect(await findOverflow(page)).toBe(0)
      await screenshot(page, `${name}-rtl-phone`)
    },
  )
  test.each([
    '/',
    '/nothing/here',
    '/docs/',
    '/problems',
    '/problems/nope',
    '/auth/nothing',
    '/docs/nothing',
  ])('%s is a page for a browser, and leads on', async (path) => {
    const { page } = await town().visitor()
    const response = await page.goto(town().dev.base_url + path)
    expect(response?.headers()['content-type']).toBe('text/html; charset=utf-8')
    expect(await page.title()).not.toBe('')
    expect(await page.locator('h1').count()).toBe(1)
    const others = `[...document.querySelectorAll('main a[href]')].filter((one) => one.href.split('#')[0] !== location.href)`
    expect(await page.evaluate(`${others}.length`)).toBeGreaterThan(0)
  })

  test('speaks every language, fits 320 px, and works without a script to choose one', {
    tags: 'long',
  }, async () => {
    const visitor = await town().visitor({ viewport: PHONE, bypassCSP: true })
    const { page } = visitor
    await claim(town(), visitor, 'polyglot', ['orders:read', 'orders:write'])
    await claim(town(), visitor, 'polyglot-revoked', ['orders:read'])
    const { ppid } = await town().credential('polyglot-revoked')
    await town().client.revokeUser({ ppid, site_id: town().siteId })
    await askToSignIn(town(), page)
    const { href } = new URL(page.url())
    const offer = await town().offer('polyglot-2', ['orders:read'])
    const overflowing: string[] = []
    const check = async (name: string) => {
      await ready(page)
      await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
      if ((await findOverflow(page)) > 0) overflowing.push(name)
      // Buttons and pills are the first to be too narrow for their words.
      const cut = await page
        .locator('.btn:visible, .pill:visible, h1:visible, summary:visible')
        .evaluateAll((all) =>
          (all as unknown as { scrollWidth: number; clientWidth: number; textContent: string }[])
            .filter(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth + 1)
            .map(({ textContent }) => textContent),
        )
      overflowing.push(...cut.map((text) => `${name}: ${text}`))
    }
    // From right to left; with all looks also with letters of another script, and with long words.
    const analyzed = wantsAllLooks ? ['ar', 'ja', 'de'] : ['ar']
    const checkFaults = async (name: string, lang: string) => {
      if (!analyzed.includes(lang)) return
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        expect(
          await findAxeFaults(page, colorScheme === 'light' ? 'all' : 'colors'),
          `${name} ${lang}`,
        ).toEqual([])
        await screenshot(page, `${name}-${lang}-${colorScheme}-phone`)
      }
    }
    for (const { lang, dir, signIn } of languages) {
      if (!wantsAllLooks && !TELLING_LANGUAGES.includes(lang)) {
        const text = await (await page.request.get(`${href}&ui_locales=${lang}`)).text()
        expect(text).toContain(`<html lang="${lang}" dir="${dir}"`)
        const words = text.replaceAll(/<[^>]*>/g, '')
        expect(words).toContain(signIn.title.replace('{site}', 'Blue Door Orders'))
        continue
      }
      await page.goto(`${href}&ui_locales=${lang}`)
      expect(await page.evaluate('[document.documentElement.lang, document.documentElement.dir]')).toEqual([
        lang,
        dir,
      ])
      await check(`sign-in ${lang}`)
      await checkFaults('sign-in', lang)
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
        signIn.title.replace('{site}', 'Blue Door Orders'),
      )
      await page.goto(`${town().dev.base_url}/wallet?ui_locales=${lang}`)
      await check(`wallet ${lang}`)
      await checkFaults('wallet', lang)
      await page.goto(offer.replace('/wallet', `/wallet?ui_locales=${lang}`))
      await page.locator('#offer-until:not(:empty)').waitFor()
      await check(`claim ${lang}`)
      await checkFaults('claim', lang)
      await page.goto(`${town().dev.base_url}/auth/sign-in?state=${'A'.repeat(43)}&ui_locales=${lang}`)
      if ((await findOverflow(page)) > 0) overflowing.push(`error ${lang}`)
      await checkFaults('error', lang)
    }
    expect(overflowing).toEqual([])
    // The browser's own choice, and the menu without a script.
    const plain = await town().visitor({ locale: 'fr-CA', javaScriptEnabled: false })
    await askToSignIn(town(), plain.page)
    await plain.page.getByRole('heading', { name: 'Se connecter à Blue Door Orders' }).waitFor()
    await plain.page.getByText('Français').first().click()
    await plain.page.getByRole('link', { name: 'Nederlands' }).click()
    await plain.page.getByRole('heading', { name: 'Inloggen bij Blue Door Orders' }).waitFor()
    await plain.page.getByRole('textbox', { name: 'Plak het toegangsbewijs' }).fill('onzin')
    await plain.page.getByRole('button', { name: 'Doorgaan' }).click()
    await plain.page.getByText('We kunnen dit toegangsbewijs niet lezen').waitFor()
  })

  test('stays usable at 200 % zoom, in forced colours and without motion', { tags: 'long' }, async () => {
    const visitor = await town().visitor({
      viewport: { width: 640, height: 400 },
      deviceScaleFactor: 2,
      forcedColors: 'active',
      reducedMotion: 'reduce',
    })
    const { page } = visitor
    await claim(town(), visitor, 'zoomer')
    const animations = "document.getAnimations().filter((one) => one.animationName !== 'appear').length"
    expect([await page.evaluate(animations), await findOverflow(page)]).toEqual([0, 0])
    const offer = await town().offer('zoomer-2')
    const error = `/auth/sign-in?state=${'A'.repeat(43)}`
    for (const path of ['/', '/docs', '/docs/errors', '/nothing/here', error, '/wallet', offer]) {
      await page.goto(new URL(path, town().dev.base_url).href)
      if (path === '/wallet' || path === offer) await ready(page)
      expect([await page.evaluate(animations), await findOverflow(page)], path).toEqual([0, 0])
    }
    await askToSignIn(town(), page)
    await ready(page)
    expect([await page.evaluate(animations), await findOverflow(page)]).toEqual([0, 0])
    const [primary, quiet] = await page.evaluate<string[]>(
      "['#submit', '#cancel'].map((one) => getComputedStyle(document.querySelector(one)).backgroundColor)",
    )
    expect(primary).not.toBe(quiet)
    // C27 and keyboard: with one entry that fits, the button has the focus.
    expect(await page.evaluate('document.activeElement.id')).toBe('submit')
    await screenshot(page, 'sign-in-forced-colours')
  })
}
