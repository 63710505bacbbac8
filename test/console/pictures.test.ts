import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newName } from '../browser/new-name.ts'
import { type Harness, hasChromium, openHarness } from './harness.ts'

/** The pictures of the guides. `UPDATE_PICTURES=1` writes them; otherwise they are only taken. */
const FOLDER = join(import.meta.dirname, '../../docs/guides/pictures')
const isUpdating = process.env.UPDATE_PICTURES === '1'
const BYTES_MAX = 150_000

async function take(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const file = join(FOLDER, `${name}-${colorScheme}.png`)
    const bytes = await page.screenshot(isUpdating ? { path: file } : {})
    expect(bytes.length, name).toBeLessThan(BYTES_MAX)
    expect(existsSync(file), file).toBe(true)
    expect(statSync(file).size, file).toBeLessThan(BYTES_MAX)
  }
}

describe.skipIf(!hasChromium)('the pictures of the guides', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
    mkdirSync(FOLDER, { recursive: true })
  })
  // The first try has left verifiers in the roster.
  beforeEach(async ({ task }) => {
    if (!task.result?.retryCount) return
    await harness.close()
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  test('show a revocation that has reached every verifier, and one verifier that is missing', {
    tags: 'long',
  }, async () => {
    const { client, operator, siteId: site_id } = harness
    await operator.changeSite({ site_id, name: 'Acme Payments' })
    await harness.openGuards(['checkout', 'checkout', 'checkout', 'orders', 'orders', 'orders'])
    await harness.openGuards(['search', 'support', 'support', 'support', 'payouts'])
    const last = await harness.openGuards(['payouts'])
    for (const name of ['ada', 'grace', 'linus']) {
      const { ppid } = await harness.credential(newName(name))
      await client.revokeUser({ site_id, ppid, reason: 'Contract ended' }, { waitSeconds: 30 })
    }
    for (let i = 0; i < 3; i++) await harness.credential(newName('m.osei'))
    const { page } = await harness.openConsole({ viewport: { width: 1280, height: 720 } })
    await page.getByText('All 12 verifiers are up to date.').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type(newName('m.osei'))
    await page.keyboard.press('Enter')
    await page.getByText('12 verifiers will be notified').waitFor()
    await page.getByLabel('Reason').fill('Laptop stolen, INC-4471')
    await page.getByLabel('Reason').press('Enter')
    const sheet = page.getByRole('dialog')
    await sheet.getByText('12 of 12').first().waitFor()
    await sheet
      .getByText(/Denied everywhere/)
      .first()
      .waitFor()
    await sheet.getByText(/Signed with feed key/).waitFor()
    await take(page, 'receipt')
    await page.keyboard.press('Escape')
    await last.kill()
    await page.getByText('11 of 12 verifiers are up to date.').waitFor()
    await take(page, 'overview')
  })
})
