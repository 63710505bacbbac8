import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { DECISIONS_URL, documents } from '../../packages/service/src/documents/documents.ts'
import { type AppDouble, createAppDouble } from '../../packages/service/test/http/app-double.ts'
import { findAxeFaults, findOverflow } from './axe.ts'
import { findChromium, openChromium, wantsAllLooks } from './chromium.ts'
import { type ContextPool, createContextPool } from './context-pool.ts'
import { type Open, REFERENCE_PAGES, referencePages } from './reference-pages.ts'

const chromium = findChromium()
const PAGES = documents().pages.map(({ url }) => url)
const SPECIAL = [...REFERENCE_PAGES, '/docs', '/docs/api', DECISIONS_URL, '/docs/search?q=revoke']
/** One page of each kind. An analysis takes seconds: `npm run page-looks` looks at every page. */
const KINDS = [
  ...['/', '/docs/api/revoke-user', '/problems?status=403', '/problems/credential_revoked'],
  ...['/docs', DECISIONS_URL, '/docs/search?q=revoke', '/docs/comparison', '/docs/guides/console'],
]
const ANALYZED = wantsAllLooks ? [...SPECIAL, ...PAGES] : KINDS
/** Those with the most different parts, in dark. `npm run page-looks` looks at every page. */
const DARK = wantsAllLooks
  ? ANALYZED
  : ['/', '/docs/api/revoke-user', '/problems?status=403', '/docs/guides/console']

describe.skipIf(chromium === undefined)('the documentation in a browser', () => {
  let double: AppDouble
  let origin: string
  let browser: Browser
  let pool: ContextPool
  const faults: string[] = []

  beforeAll(async () => {
    // A minute passes with each look at the clock, so that rate limits do not matter here.
    let ms = 0
    double = createAppDouble({ monotonicMs: () => (ms += 60_000) })
    origin = `http://127.0.0.1:${(await double.app.listen()).port}`
    browser = await openChromium(String(chromium))
    pool = createContextPool(browser, async (context) => context.setDefaultTimeout(60_000))
  })
  afterAll(async () => {
    await browser?.close()
    await double?.app.close()
  })

  const open: Open = async (path, options = {}) => {
    const { page, giveBack } = await pool.open({
      viewport: { width: 1280, height: 900 },
      reducedMotion: 'reduce',
      ...options,
    })
    onTestFinished(({ task }) => giveBack([origin], task.result?.state !== 'fail'))
    page.on('pageerror', ({ message }) => faults.push(`${page.url()}: ${message}`))
    page.on('console', (message) => {
      if (/Content Security Policy|Trusted/i.test(message.text())) faults.push(message.text())
    })
    await page.goto(origin + path)
    return page
  }

  // In one context, whose engine has compiled axe after the first page.
  test.each(ANALYZED)('%s has no accessibility faults, light or dark', { tags: 'long' }, async (url) => {
    const page = await open(url, { bypassCSP: true })
    expect(await findAxeFaults(page, 'all'), `${url}, light`).toEqual([])
    if (!DARK.includes(url)) return
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 375, height: 720 })
    expect(await findAxeFaults(page, 'colors'), `${url}, dark`).toEqual([])
  })

  test('an analysis finds a fault, and a second one in the same page finds a new one', {
    tags: 'long',
  }, async () => {
    const page = await open('/problems/credential_revoked', { bypassCSP: true })
    const faults = async (rules: 'all' | 'colors') =>
      (await findAxeFaults(page, rules)).map((fault) => fault.split(':')[0])
    await page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    expect(await faults('all')).toEqual(['image-alt'])
    expect(await faults('colors')).toEqual([])
    await page.evaluate("document.querySelector('h1').style.color = 'silver'")
    expect(await faults('colors')).toEqual(['color-contrast'])
  })

  test('no page is too wide, or shows a tag as text', { tags: 'long' }, async () => {
    const viewport = { width: 320, height: 720 }
    const page = await open('/docs', { viewport })
    const check = async (page: Page, url: string) => {
      expect(await findOverflow(page), `${url} at 320 px`).toBe(0)
      const shown = await page.evaluate<string>(
        `[...document.querySelectorAll('main :is(p, li, td, th, h1, h2, h3)')].map((one) => { const copy = one.cloneNode(true); for (const code of copy.querySelectorAll('code, pre')) code.remove(); return copy.textContent }).join(' ')`,
      )
      expect(shown.length, url).toBeGreaterThan(100)
      expect(shown, url).not.toMatch(/<a id=|<!--/)
    }
    const isLoaded = (url: string) => [...SPECIAL, ...ANALYZED, '/docs/guides/quickstart'].includes(url)
    const all = [...SPECIAL, ...PAGES]
    for (const url of all.filter(isLoaded)) {
      await page.goto(origin + url)
      await check(page, url)
    }
    // The others are of the same kinds, with the same style: each is shown in the page of a list.
    const list = await open(DECISIONS_URL, { viewport, bypassCSP: true })
    for (const url of all.filter((url) => !isLoaded(url))) {
      const text = await (await fetch(origin + url)).text()
      await list.evaluate(
        `document.body.replaceWith(new DOMParser().parseFromString(${JSON.stringify(text)}, 'text/html').body)`,
      )
      await check(list, url)
      // What the content security policy would stop.
      const own = "[...document.querySelectorAll('body :is([style], [onclick], style, script:not([src]))')]"
      expect(await list.evaluate(`${own}.map((one) => one.outerHTML)`), url).toEqual([])
    }
  })

  test('has no accessibility faults in forced colors, and does not move where motion is reduced', {
    tags: 'long',
  }, async () => {
    const page = await open('/docs/guides/quickstart', {
      bypassCSP: true,
      forcedColors: 'active',
      reducedMotion: 'reduce',
    })
    await page.locator('.copy').first().waitFor()
    expect(await findAxeFaults(page, 'all')).toEqual([])
    expect(await page.evaluate("getComputedStyle(document.querySelector('.copy')).transitionDuration")).toBe(
      '0s',
    )
  })

  test('searches as the reader types, with keys alone', { tags: 'long' }, async () => {
    const page = await open('/docs/guides/quickstart')
    await page.getByRole('button', { name: 'Search the docs' }).waitFor()
    for (const keys of ['/', 'Control+k']) {
      await page.keyboard.press(keys)
      await page.getByRole('combobox').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('combobox').waitFor({ state: 'hidden' })
    }
    await page.keyboard.press('/')
    await page.getByRole('combobox').waitFor()
    await page.keyboard.type('cre')
    const first = page.getByRole('option', { selected: true })
    await first.waitFor()
    // At once: while letters are typed, results replace each other, and keys may meet any of them.
    await page.keyboard.insertText('dential_revoked')
    await first.locator('a[href="/docs/errors#credential_revoked"]').getByText('Errors').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    expect(await page.getByRole('combobox').getAttribute('aria-activedescendant')).toBe('result-0')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/errors#credential_revoked')
    await page.getByRole('button', { name: 'Search the docs' }).waitFor()
    await page.keyboard.press('/')
    await page.getByRole('combobox').waitFor()
    await page.keyboard.type('<img src=x onerror=alert(1)>zzzz')
    await page.locator('.search-state:not(:empty), .results li').first().waitFor()
    expect(await page.locator('dialog img').count()).toBe(0)
  })

  test('searches without JavaScript', { tags: 'long' }, async () => {
    const page = await open('/docs', { javaScriptEnabled: false })
    await page.getByRole('searchbox', { name: 'Search the docs' }).fill('credential_revoked')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/search?q=credential_revoked')
    await page.locator('.results a').first().click()
    await page.waitForURL('**/docs/errors#credential_revoked')
    expect(await page.locator('.copy').count()).toBe(0)
    await page.setViewportSize({ width: 375, height: 720 })
    await page.getByRole('button', { name: 'All pages' }).click()
    await page.getByRole('link', { name: 'Quick start' }).click()
    await page.waitForURL('**/docs/guides/quickstart')
  })

  test('the front page has links or a menu of all pages in windows of every width', {
    tags: 'long',
  }, async () => {
    const page = await open('/')
    const menu = page.getByRole('button', { name: 'All pages' })
    const links = page.getByRole('navigation', { name: 'Main' })
    const pages = page.getByRole('navigation', { name: 'Documentation' })
    for (const width of [1280, 961]) {
      await page.setViewportSize({ width, height: 720 })
      expect([await links.isVisible(), await menu.isVisible()], `${width} px`).toEqual([true, false])
      expect(await pages.isVisible(), `${width} px`).toBe(false)
    }
    for (const width of [960, 375]) {
      await page.setViewportSize({ width, height: 720 })
      expect(await links.isVisible(), `${width} px`).toBe(false)
      await menu.click()
      await pages.getByRole('link', { name: 'How it compares' }).waitFor()
      await pages.getByRole('button', { name: 'Close' }).click()
      await pages.waitFor({ state: 'hidden' })
    }
  })

  test('copies the request without its response, and links to headings', { tags: 'long' }, async () => {
    const page = await open('/docs/guides/quickstart', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const block = page.locator('.code', { has: page.locator('.answer') }).first()
    await block.getByRole('button', { name: 'Copy' }).click()
    await block.getByText('Copied').waitFor()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(copied).toBe('curl -s -X POST https://id.example/api/protected/action -H @data/credential.header')
    const heading = page.locator('h2 .anchor').first()
    const mark = () =>
      page.evaluate<string>("getComputedStyle(document.querySelector('h2 .anchor'), '::after').opacity")
    expect(await mark()).toBe('0')
    await heading.focus()
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Tab')
    expect(await mark()).toBe('1')
    await page.keyboard.press('Enter')
    expect(new URL(page.url()).hash).toBe(await heading.getAttribute('href'))
    // The first stop of the keyboard leads past the navigation. Chromium goes on from the old focus
    // when it loads the same page again.
    await page.goto('about:blank')
    await page.goto(`${origin}/docs/guides/quickstart`)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
  })

  referencePages(open)

  test('breaks no rule of its content security policy', { tags: 'long' }, () => {
    expect(faults).toEqual([])
  })
})
