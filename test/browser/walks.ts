import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Town, Visitor } from './town.ts'

/** Waits until the script of a page has done what it does first. */
export async function ready(page: Page): Promise<void> {
  await page.locator('html[data-ready]').waitFor()
}

/** What has the focus, as far as it can be told apart. */
export function focused(page: Page): Promise<string> {
  return page.evaluate('document.activeElement.id || document.activeElement.tagName.toLowerCase()')
}

/** Opens a claim link and accepts. */
export async function claim(
  town: Town,
  { page }: Visitor,
  userRef: string,
  scope?: readonly string[],
): Promise<void> {
  await page.goto(await town.offer(userRef, scope))
  await ready(page)
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.getByText('is in your wallet').waitFor()
}

/** From the site to the sign-in page. */
export async function askToSignIn(town: Town, page: Page): Promise<void> {
  await page.goto(town.site)
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.waitForURL(/\/auth\/sign-in\?/)
}

export async function paste(page: Page, credential: object | string): Promise<void> {
  const field = page.getByLabel('paste the credential').locator('visible=true')
  // The field is behind a summary when the browser keeps something that fits.
  const summary = page.getByText('Use another credential').locator('visible=true')
  await field.or(summary).first().waitFor()
  if ((await field.count()) === 0) await summary.click()
  await field.fill(typeof credential === 'string' ? credential : JSON.stringify(credential))
}

export const submit = (page: Page) => page.getByRole('button', { name: 'Continue' }).click()

/** That the site has accepted a person, and as whom. */
export async function isIn(town: Town, page: Page): Promise<string> {
  await page.waitForURL(`${town.site}/`)
  return (await page.locator('#ppid').textContent()) ?? ''
}

/** That the service shows the page of a refusal, with what a person needs to ask for help. */
export async function isRefused(page: Page, code: string): Promise<void> {
  await page.getByRole('link', { name: code }).waitFor()
  expect(await page.locator('dl').textContent()).toMatch(/Request id\s*[A-Za-z0-9._-]{8,}/)
}
