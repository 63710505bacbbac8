import { expect, test } from 'vitest'
import { findAxeFaults, findOverflow } from './axe.ts'
import { screenshot, type Town, type Visitor } from './town.ts'
import { askToSignIn, claim, paste, ready, submit } from './walks.ts'

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
    await page.getByText('This sign-in is no longer valid').waitFor()
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
  'wallet-full': async (town, visitor) => {
    await claim(town, visitor, 'axe', ['orders:read', LONG_SCOPE])
    await visitor.page.locator('.status.active').waitFor()
  },
  'wallet-dialog': async (town, visitor) => {
    await claim(town, visitor, 'axe')
    await visitor.page.getByRole('button', { name: 'Revoke my access' }).click()
  },
  'docs-endpoints': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/docs`)
  },
  'docs-tables': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/docs/operating`)
  },
  'docs-picture': async (town, { page }) => {
    await page.goto(`${town.dev.base_url}/docs/readme`)
    await page
      .locator('img')
      .evaluateAll('(pictures) => Promise.all(pictures.map((picture) => picture.decode()))')
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

export function accessibility(town: () => Town): void {
  test.each(Object.keys(states))(
    '%s has no fault that axe finds, light and dark, and fits a phone in either direction',
    async (name) => {
      // Axe is put into the page, which lets no foreign script in.
      const visitor = await town().visitor({ viewport: DESKTOP, bypassCSP: true })
      const { page } = visitor
      await states[name]?.(town(), visitor)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.setViewportSize(DESKTOP)
        expect(await findAxeFaults(page, colorScheme)).toEqual([])
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
}
