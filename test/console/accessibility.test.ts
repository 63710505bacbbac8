import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findAxeFaults, findOverflow } from '../browser/axe.ts'
import { newName } from '../browser/new-name.ts'
import type { GuardProcess } from './guards.ts'
import { type Harness, hasChromium, openHarness, openPage, shareConsole, wantsAllLooks } from './harness.ts'
import { servicePages, sitePages } from './pages.ts'

const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 320, height: 640 }

/** The pages with most marks of their own colour, which forced colours replace. */
const FORCED = ['overview', 'verifiers', 'revoke: receipt']

/** States of pages that look different from the page itself. */
const states: Readonly<Record<string, (page: Page, harness: Harness) => Promise<void>>> = {
  palette: async (page) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type('ada')
    await page.getByRole('dialog').waitFor()
  },
  'revoke: choose': async (page) => {
    await page.keyboard.press('r')
    await page.getByRole('dialog').waitFor()
  },
  'revoke: preview': async (page) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type('ada')
    await page.keyboard.press('Enter')
    await page.getByLabel('Reason').waitFor()
  },
  'revoke: receipt': async (page, harness) => {
    await harness.credential(newName('grace'))
    await page.keyboard.press('Control+k')
    await page.keyboard.type(newName('grace'))
    await page.keyboard.press('Enter')
    await page.getByText('3 verifiers will be notified').waitFor()
    await page.getByLabel('Reason').fill('Left the company')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('3 of 3').first().waitFor()
  },
  'not found': async (page, { url, siteId }) => {
    await page.goto(`${url}/console/sites/${siteId}/nothing`)
    await page.getByText('There is no such page').waitFor()
  },
}

describe.skipIf(!hasChromium)('every page of the console', () => {
  let harness: Harness
  let guards: GuardProcess
  beforeAll(async () => {
    harness = await openHarness()
    guards = await harness.openGuards(['orders', 'payments', 'search'])
    const { siteId: site_id, client } = harness
    for (const name of ['ada', 'margaret']) await harness.credential(name)
    const { ppid, credential } = await harness.credential('tim')
    await guards.decide(credential)
    await client.revokeUser({ ppid, site_id, reason: 'Contract ended' })
    await client.startDrill({ site_id })
    await client.createKey({ site_id, permissions: ['feed:read'], label: 'Payments' })
  })
  afterAll(() => harness?.close())

  /**
   * All that T19 asks of one state: each page in light on a desktop, and in dark on a phone. Other
   * looks of every page are for `npm run console-looks`.
   */
  async function check(page: Page, name: string): Promise<void> {
    const analyze = async (look: string, rules: 'all' | 'colors') =>
      expect(await findAxeFaults(page, rules), `${name} ${look}`).toEqual([])
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce', forcedColors: 'none' })
    await page.setViewportSize(DESKTOP)
    await analyze('light', 'all')
    expect(await page.evaluate(MOVING), `${name} moves`).toEqual([])
    if (wantsAllLooks) {
      await page.emulateMedia({ colorScheme: 'dark' })
      await analyze('dark', 'colors')
      await page.emulateMedia({ colorScheme: 'light' })
    }
    if (wantsAllLooks || FORCED.includes(name)) {
      await page.emulateMedia({ forcedColors: 'active' })
      await analyze('forced colours', 'colors')
      await page.emulateMedia({ forcedColors: 'none' })
    }
    // Text of twice the size, then the width of a phone, then from right to left.
    await page.evaluate(`document.documentElement.style.fontSize = '200%'`)
    expect(await findOverflow(page), `${name} 200 %`).toBe(0)
    await page.evaluate(`document.documentElement.style.fontSize = ''`)
    await page.setViewportSize(PHONE)
    expect(await findOverflow(page), `${name} 320 px`).toBe(0)
    expect(await page.evaluate(COVERED), `${name} 320 px`).toEqual([])
    if (wantsAllLooks) await analyze('320 px', 'all')
    await page.emulateMedia({ colorScheme: 'dark' })
    await analyze('dark, 320 px', 'all')
    await page.evaluate(`document.documentElement.dir = 'rtl'`)
    expect(await findOverflow(page), `${name} from right to left`).toBe(0)
    await page.evaluate(`document.documentElement.removeAttribute('dir')`)
    await page.setViewportSize(DESKTOP)
  }

  const openShared = shareConsole(() => harness, { bypassCSP: true })

  test.each(sitePages)(
    'T19: %s has no fault that axe finds, and fits everywhere',
    { tags: 'long' },
    async (name) => {
      const { page, visit } = await openShared()
      await visit(name)
      await page.locator('#content [aria-busy=true]').waitFor({ state: 'detached' })
      await check(page, name)
    },
  )

  test.each(servicePages)(
    'T19: the page %s of the whole service has no fault that axe finds, and fits everywhere',
    { tags: 'long' },
    async (name) => {
      const { page, visit } = await openShared()
      await visit({ ofService: name })
      await page.locator('#content [aria-busy=true]').waitFor({ state: 'detached' })
      await check(page, `service ${name}`)
    },
  )

  test.each(Object.keys(states))('T19: the state %s, too', { tags: 'long' }, async (name) => {
    const { page } = await openShared('overview')
    await page.getByText('verifiers are up to date').waitFor()
    await states[name]?.(page, harness)
    await check(page, name)
  })

  test('the menu of a narrow screen has the focus while it is open, and closes in every way', {
    tags: 'long',
  }, async () => {
    const { page } = await openShared('overview')
    await page.setViewportSize({ width: 375, height: 720 })
    const menu = page.getByRole('button', { name: 'Menu' })
    const rail = page.locator('nav.rail')
    const focused = () => page.evaluate<string>('document.activeElement.className')
    const closings: Readonly<Record<string, () => Promise<void>>> = {
      'its button': () => rail.getByRole('button', { name: 'Close' }).click(),
      Escape: () => page.keyboard.press('Escape'),
      'a tap beside it': () => page.mouse.click(360, 600),
      'the link of the open page': () => rail.getByRole('link', { name: 'Overview' }).click(),
    }
    for (const [way, close] of Object.entries(closings)) {
      await page.evaluate(WATCH_FOCUS)
      await menu.click()
      await rail.waitFor()
      // The next key belongs to the menu, however soon it comes.
      expect(await page.evaluate('focusedAtOpening'), way).toContain('close-menu')
      await close()
      await rail.waitFor({ state: 'hidden' })
      if (way !== 'a tap beside it') await expect.poll(focused, { message: way }).toContain('menu-button')
    }
    await page.setViewportSize(DESKTOP)
  })

  test('small tablets: no column is behind the action of a row, and no list is too wide', {
    tags: 'long',
  }, async () => {
    const scope = ['orders:read', 'administration-of-everything:write', `warehouse:${'w'.repeat(40)}`]
    await harness.credential(newName('wide'), { scope })
    await harness.operator.createSite({ site_id: `${'long-'.repeat(11)}name.example`, name: 'W'.repeat(64) })
    const { page, visit } = await openShared()
    const tooWide = `[...document.querySelectorAll('#content .card.table')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length`
    for (const name of ['credentials', 'audit', 'all-sites']) {
      await visit(name === 'credentials' ? name : { ofService: name })
      await page.locator('#content [aria-busy=true]').waitFor({ state: 'detached' })
      for (const width of [640, 768, 899, 1024]) {
        await page.setViewportSize({ width, height: 800 })
        expect(await page.evaluate(COVERED), `${name} ${width} px`).toEqual([])
        expect(await page.evaluate(tooWide), `${name} ${width} px`).toBe(0)
      }
    }
    await page.setViewportSize(DESKTOP)
  })

  test('phones: an entry of the log, a field above the buttons, and a running revocation', {
    tags: 'long',
  }, async () => {
    const { page } = await openShared('log/4')
    await page.setViewportSize({ width: 375, height: 667 })
    const title = page.getByRole('heading', { name: 'Entry 4' })
    await title.waitFor()
    const toEdge = `(({ right }) => document.querySelector('.entry').getBoundingClientRect().right - right)(
      document.querySelector('.entry .close').getBoundingClientRect())`
    expect((await title.boundingBox())?.height).toBe(20)
    expect(await page.evaluate(toEdge)).toBeLessThan(30)

    await page.setViewportSize(DESKTOP)
    const frozen = await harness.openGuards(['frozen'])
    frozen.freeze()
    await harness.credential(newName('running'))
    await page.keyboard.press('Control+k')
    await page.keyboard.type(newName('running'))
    await page.keyboard.press('Enter')
    await page.getByText('4 verifiers will be notified').waitFor()
    await page.setViewportSize({ width: 375, height: 667 })
    const reason = page.getByLabel('Reason')
    await page.getByRole('button', { name: 'Cancel' }).focus()
    await reason.focus()
    const field = await reason.boundingBox()
    const buttons = await page.locator('.sheet footer').boundingBox()
    expect((field?.y ?? 0) + (field?.height ?? 0)).toBeLessThanOrEqual(buttons?.y ?? 0)
    // One row of buttons, so that what the act ends is in sight.
    expect(buttons?.height).toBeLessThan(80)
    await reason.fill('Left the company')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('3 of 4').first().waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.open-act').waitFor()
    expect(await page.locator('.live strong').innerText()).toBe('Live')
    const isCut = `(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('.live strong'))`
    for (const width of [375, 320]) {
      await page.setViewportSize({ width, height: 667 })
      expect(await page.evaluate(isCut), `${width} px`).toBe(false)
      expect(await findOverflow(page), `${width} px`).toBe(0)
    }
    await page.setViewportSize(DESKTOP)
    frozen.resume()
    await page.locator('.open-act').waitFor({ state: 'detached' })
    await frozen.close()
  })

  test('phones: rows below folded filters, words in a histogram, names and numbers in one piece', {
    tags: 'long',
  }, async () => {
    const { page, visit } = await openShared('audit')
    await page.setViewportSize({ width: 375, height: 667 })
    await page.reload()
    const row = page.locator('tbody tr:has(a)').first()
    await row.waitFor()
    const box = await row.boundingBox()
    expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(667)
    const actor = page.getByLabel('Actor')
    expect(await actor.isVisible()).toBe(false)
    await page.getByText('Filters', { exact: true }).click()
    await actor.fill('service')
    await page.reload()
    // A filter that is in use is in sight.
    await actor.waitFor()
    await page.setViewportSize(DESKTOP)
    await visit('audit')
    await page.reload()
    await actor.waitFor()

    await visit('receipts')
    await page.setViewportSize({ width: 375, height: 667 })
    await page.reload()
    const toTextHeight = `(({ width }) => (11 * width) / document.querySelector('.chart').viewBox.baseVal.width)(
      document.querySelector('.chart').getBoundingClientRect())`
    await page.locator('.chart').waitFor()
    expect(await page.evaluate(toTextHeight)).toBeGreaterThan(10)
    await page.setViewportSize(DESKTOP)
    const countLines = `(() => {
      const number = document.querySelector('.seq a')
      number.textContent = '1,234,567'
      return number.getClientRects().length
    })()`
    expect(await page.evaluate(countLines)).toBe(1)
    await page.locator('.applied-list th[scope=row]').first().waitFor()
    const isCut = `(() => {
      const name = document.querySelector('.applied-list th[scope=row]')
      name.textContent = 'demo-payments'
      return name.scrollWidth > name.clientWidth
    })()`
    expect(await page.evaluate(isCut)).toBe(false)
  })

  test('T19: the page of a person who is not signed in, too', async () => {
    const { page } = await openPage(harness.browser, [harness.url], { bypassCSP: true })
    await page.goto(`${harness.url}/console`)
    await page.getByRole('heading', { name: /Sign in/ }).waitFor()
    await check(page, 'signed out')
  })

  test('T19: the live region of a receipt speaks at most once in five seconds', {
    tags: 'long',
  }, async () => {
    const { page } = await openShared('overview')
    await page.getByText('verifiers are up to date').waitFor()
    await page.evaluate(LISTEN)
    await harness.credential(newName('linus'))
    await page.keyboard.press('Control+k')
    await page.keyboard.type(newName('linus'))
    await page.keyboard.press('Enter')
    await page.getByText('3 verifiers will be notified').waitFor()
    await page.getByLabel('Reason').fill('Left the company')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('3 of 3').first().waitFor()
    // The last word is always said, so nothing is left to be said after it.
    const read = () => page.evaluate<{ atMs: number; text: string }[]>('window.spoken')
    await expect.poll(async () => (await read()).at(-1)?.text).toBe('Denied everywhere')
    const spoken = await read()
    for (const [i, { atMs, text }] of spoken.entries()) {
      const next = spoken[i + 1]
      if (next !== undefined) expect(next.atMs - atMs, `${text} → ${next.text}`).toBeGreaterThan(4900)
    }
  })

  test('T19: with the keyboard alone, and the focus returns to where it was', { tags: 'long' }, async () => {
    const { page } = await harness.openConsole()
    await page.getByText('verifiers are up to date').waitFor()
    const focused = () =>
      page.evaluate<string>('document.activeElement.innerText?.trim() || document.activeElement.tagName')
    // The first stop skips to the content.
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Skip to the content')
    const button = page.getByRole('button', { name: /^Revoke access/ })
    await button.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(focused).toMatch(/^Revoke access/)
    const search = page.getByRole('button', { name: /^Search/ })
    await search.focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('User name, id, page or action').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(focused).toMatch(/^Search/)
  })
})

/** Keeps what has the focus as soon as the menu is open, before anything is painted. */
const WATCH_FOCUS = `{
  globalThis.focusedAtOpening = 'not opened'
  new MutationObserver((_, observer) => {
    observer.disconnect()
    focusedAtOpening = document.activeElement.className
  }).observe(document.querySelector('nav.rail'), { attributeFilter: ['class'] })
}`

/** Cells of a table that another cell of the same row lies on. */
const COVERED = `[...document.querySelectorAll('tbody tr')].flatMap((row) => {
  const cells = [...row.cells].map((cell) => ({ cell, box: cell.getBoundingClientRect() })).filter(({ box }) => box.width > 1 && box.height > 1)
  return cells.filter(({ box }, i) => cells.slice(i + 1).some(({ box: other }) =>
    other.left < box.right - 1 && other.right > box.left + 1 && other.top < box.bottom - 1 && other.bottom > box.top + 1,
  )).map(({ cell }) => cell.textContent)
})`

/** Runs in the page: what moves although the person asked for less motion. */
const MOVING = `document.getAnimations()
  .filter(({ playState, effect }) => playState === 'running' && effect.getComputedTiming().duration > 1)
  .map(({ animationName, effect }) => (animationName ?? 'transition') + ' of ' + effect.target.className)`

/** Runs in the page: writes down what a screen reader would say. */
const LISTEN = `
  window.spoken = []
  const regions = '[aria-live]:not([aria-live=off]), [role=status], [role=alert], output'
  new MutationObserver((changes) => {
    const said = new Set(changes.map(({ target }) =>
      (target.nodeType === 1 ? target : target.parentElement)?.closest(regions)).filter((each) => each))
    for (const region of said) {
      const text = region.textContent.trim()
      if (text !== '' && text !== window.spoken.at(-1)?.text)
        window.spoken.push({ atMs: performance.now(), text })
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true })`
