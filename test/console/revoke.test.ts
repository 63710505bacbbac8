import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, hasChromium, openHarness, pictures } from './harness.ts'

const DANA = 'dana.whitfield@acme.example'

describe.skipIf(!hasChromium)('the revoke flow', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  /** Opens the palette, types the name and presses Enter, as a person with a keyboard does. */
  async function typeInPalette(page: Page, name: string): Promise<void> {
    await page.keyboard.press('Control+k')
    await page.locator('.palette[open] input').waitFor()
    await page.keyboard.type(name)
    await page.keyboard.press('Enter')
  }

  /** The four numbers of the preview, by their words. */
  async function readCounts(page: Page): Promise<Record<string, string>> {
    await page.locator('.counts dd:not(:has(.block))').first().waitFor()
    return Object.fromEntries(
      await page
        .locator('.counts > div')
        .evaluateAll((all) =>
          all.map((each) => [each.querySelector('dt')?.textContent, each.querySelector('dd')?.textContent]),
        ),
    )
  }

  const sealClass = (page: Page) => page.locator('.sheet .seal').getAttribute('class')

  test('T2: a user is revoked by name with the keyboard alone, and the receipt fills up', async () => {
    const { client, siteId } = harness
    const guards = await Promise.all([
      harness.openGuards(['storefront-1', 'storefront-2', 'storefront-3', 'storefront-4']),
      harness.openGuards(['checkout-1', 'checkout-2', 'checkout-3', 'admin-bff']),
      harness.openGuards(['mcp-gateway-1', 'mcp-gateway-2', 'payouts-1']),
    ])
    const frozen = await harness.openGuards(['payouts-2'])
    const [{ credential }] = await Promise.all([harness.credential(DANA), harness.credential(DANA)])
    const act = { type: 'revoke_user', user_ref: DANA } as const
    const preview = await client.preview({ site_id: siteId, act })
    const { page } = await harness.openConsole({ role: 'responder', page: 'users' })
    await page.locator('.rail .count', { hasText: '12 of 12' }).waitFor()

    frozen.freeze()
    await typeInPalette(page, DANA)
    expect(await readCounts(page)).toMatchObject({
      credentials: String(preview.credentials.count - preview.delegated_credentials),
      delegated: String(preview.delegated_credentials),
      'live tokens': String(preview.tokens.count),
    })
    await pictures(page, 'revoke-preview')
    await page.keyboard.type('Laptop stolen, INC-4471')
    expect(await page.locator('.sheet .seal').count()).toBe(0)
    await page.keyboard.press('Enter')
    await page.locator('.sheet .verdict', { hasText: '11 of 12' }).waitFor()
    await page.locator('.sheet .missing', { hasText: 'payouts-2' }).waitFor()
    expect(await sealClass(page)).toBe('seal')
    expect(await page.locator('.banner.green').count()).toBe(0)
    await pictures(page, 'revoke-filling')

    frozen.resume()
    await page.locator('.sheet .verdict', { hasText: '12 of 12' }).waitFor()
    await expect.poll(() => sealClass(page)).toContain('proven')
    await page.locator('.signature').waitFor()
    await pictures(page, 'revoke-receipt')
    for (const each of [...guards, frozen])
      expect(new Set(Object.values(await each.decide(credential)))).toEqual(new Set(['credential_revoked']))

    // Escape returns the focus to where it was: the page, which had it before the palette.
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('.sheet[open]').count()).toBe(0)
    const { items } = await client.listAudit({ site_id: siteId, action: 'user.revoke' })
    expect(items[0]).toMatchObject({ actor: { type: 'person' }, reason: 'Laptop stolen, INC-4471' })
    await Promise.all([...guards, frozen].map((each) => each.close()))
  })
})
