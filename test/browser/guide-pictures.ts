import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Town } from './town.ts'
import { askToSignIn, claim, openList, openPass, ready } from './walks.ts'

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

export function guidePictures(town: () => Town): void {
  test('show the invitation, the sign-in page, the wallet and one entry of it', {
    tags: 'long',
  }, async () => {
    mkdirSync(FOLDER, { recursive: true })
    const visitor = await town().visitor({ viewport: { width: 560, height: 640 } })
    const { page } = visitor
    await claim(town(), visitor, 'pictured')
    await page.goto(await town().offer('pictured-2', ['reports:read']))
    await page.locator('#offer-until:not(:empty)').waitFor()
    await take(page, 'invitation')
    await page.getByRole('button', { name: 'Add to this browser' }).click()
    await page.getByRole('heading', { name: 'You’re in' }).waitFor()
    await openList(page)
    await page.locator('.pill.active').nth(1).waitFor()
    await take(page, 'wallet')
    await openPass(page)
    await take(page, 'wallet-entry')
    await askToSignIn(town(), page)
    await ready(page)
    await take(page, 'sign-in-page')
  })
}
