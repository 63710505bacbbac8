import type { Browser, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { findAxeFaults, findOverflow } from './axe.ts'
import { wantsAllLooks } from './chromium.ts'

export type Open = (path: string, options?: Parameters<Browser['newContext']>[0]) => Promise<Page>

/** The front page, the page of an endpoint, the list of problem codes, and the page of one. */
export const REFERENCE_PAGES = ['/', '/docs/api/revoke-user', '/problems', '/problems/credential_revoked']

const ZOOMED = { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 }

/** Tests of the pages that are made from the contract, in a browser that is open already. */
export function referencePages(open: Open): void {
  test('forms of an example are chosen with arrow keys', async () => {
    const page = await open('/docs/api/revoke-user')
    const shown = () =>
      page.evaluate<string[]>(
        "[...document.querySelectorAll('.tab')].filter((one) => one.checkVisibility()).map((one) => one.dataset.name)",
      )
    expect(await shown()).toEqual(['Request: curl', 'Response: ✓ 200'])
    await page.getByRole('radio', { name: 'curl' }).focus()
    await page.keyboard.press('ArrowRight')
    expect(await shown()).toEqual(['Request: Node', 'Response: ✓ 200'])
    expect(await page.evaluate("document.activeElement.matches(':checked:focus-visible')")).toBe(true)
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    expect(await shown()).toEqual(['Request: curl', 'Response: ✓ 200'])
    await page.keyboard.press('ArrowLeft')
    expect(await shown()).toEqual(['Request: CLI', 'Response: ✓ 200'])
    // From the tabs the keyboard goes on to the button of the form that is shown, and no other.
    await page.keyboard.press('Tab')
    expect(await page.evaluate("document.activeElement.closest('.tab').dataset.name")).toBe('Request: CLI')
  })

  test('examples, the filter of problem codes and the search of the front page work without JavaScript', {
    tags: 'long',
  }, async () => {
    const page = await open('/docs/api/revoke-user', { javaScriptEnabled: false })
    await page.getByText('Node', { exact: true }).click()
    await page.getByText("from '@countersign/sdk'").waitFor()
    await page.getByText('curl -X POST').waitFor({ state: 'hidden' })
    await page.getByRole('link', { name: 'Problem codes' }).first().click()
    await page.getByRole('link', { name: '403', exact: true }).click()
    await page.waitForURL('**/problems?status=403')
    const statuses = await page.locator('.codes tbody td:first-child').allTextContents()
    expect(new Set(statuses)).toEqual(new Set(['403']))
    await page.getByRole('link', { name: 'scope_insufficient' }).click()
    await page.waitForURL('**/problems/scope_insufficient')
    await page.getByRole('link', { name: 'Countersign' }).first().click()
    await page.getByRole('searchbox', { name: 'Search the docs' }).fill('revoke a user')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/search?q=revoke+a+user')
    await page.locator('.results a').first().waitFor()
  })

  test('these pages are usable in forced colors, and mark what is chosen by more than a color', {
    tags: 'long',
  }, async () => {
    const page = await open('/', { bypassCSP: true, forcedColors: 'active' })
    const { origin } = new URL(page.url())
    const analyze = async (path: string) => {
      await page.goto(origin + path)
      expect(await findAxeFaults(page, wantsAllLooks ? 'all' : 'colors'), path).toEqual([])
    }
    if (wantsAllLooks) for (const path of REFERENCE_PAGES) await analyze(path)
    await analyze('/docs/api/revoke-user')
    const lines = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.tabs > label')].slice(0, 2).map((one) => getComputedStyle(one).textDecorationLine)",
    )
    expect(lines).toEqual(['underline', 'none'])
    await page.goto(`${origin}/problems?status=403`)
    const grounds = await page.evaluate<string[]>(
      "['.chip[aria-current]', '.chip:not([aria-current])'].map((one) => getComputedStyle(document.querySelector(one)).backgroundColor)",
    )
    expect(grounds[0]).not.toBe(grounds[1])
  })

  test('these pages need no scrolling to the side at 200 % zoom', { tags: 'long' }, async () => {
    const page = await open('/', ZOOMED)
    const { origin } = new URL(page.url())
    for (const path of REFERENCE_PAGES) {
      await page.goto(origin + path)
      expect(await findOverflow(page), path).toBe(0)
      await page.getByRole('heading', { level: 1 }).waitFor()
    }
    await page.goto(`${origin}/docs/api/revoke-user`)
    await page.getByRole('button', { name: 'All pages' }).click()
    await page.getByRole('link', { name: 'Reinstate a revoked user' }).first().click()
    await page.waitForURL('**/docs/api/reinstate-user')
  })

  test('the front page moves only where motion is not reduced', async () => {
    const page = await open('/', { reducedMotion: 'reduce' })
    const animation = "getComputedStyle(document.querySelector('.stamp')).animationName"
    expect(await page.evaluate(animation)).toBe('none')
    expect(await page.evaluate('document.getAnimations().length')).toBe(0)
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    expect(await page.evaluate(animation)).toBe('stamp')
  })
}
