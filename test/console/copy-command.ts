import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Opens the menu beside the title or in the sheet, and returns the command that it copies. */
export async function copyCommand(
  page: Page,
  item: 'Copy as curl' | 'Copy as CLI command',
  from = 'main .title',
): Promise<string> {
  const read = () => page.evaluate<string>('navigator.clipboard.readText()')
  await page.evaluate('navigator.clipboard.writeText("")')
  await page.locator(from).getByRole('button', { name: 'Copy as' }).first().click()
  await page.getByRole('menuitem', { name: item }).click()
  // The notice of an earlier copy may still be there.
  await page.locator('.toast', { hasText: 'Copied' }).waitFor()
  await expect.poll(read).not.toBe('')
  return read()
}
