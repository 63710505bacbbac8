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
  await page.getByRole('button', { name: 'Add to this browser' }).click()
  await page.getByRole('heading', { name: 'You’re in' }).waitFor()
}

/** From the site to the sign-in page, as people do it. */
export async function clickToSignIn(town: Town, page: Page): Promise<void> {
  await page.goto(town.site)
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.waitForURL(/\/auth\/sign-in\?/)
}

/** The same without the page of the site, for tests that are not about the way. */
export async function askToSignIn(town: Town, page: Page): Promise<void> {
  await page.goto(`${town.site}/sign-in`)
  await page.waitForURL(/\/auth\/sign-in\?/)
}

export async function paste(page: Page, credential: object | string): Promise<void> {
  const field = page.getByLabel('paste the credential').locator('visible=true')
  // The field is behind a summary when the browser keeps something that fits.
  const summary = page.getByText('I have a credential file').locator('visible=true')
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
  await page.getByText('Details for support').waitFor()
  const details = await page.locator('#support').textContent()
  expect(details).toContain(code)
  expect(details).toMatch(/Request ID\s*[A-Za-z0-9._-]{8,}/)
  expect(await page.locator('.btn.primary:visible').count()).toBe(1)
}

/** From the confirmation of a claim, or from anywhere in the wallet, to its list. */
export async function openList(page: Page): Promise<void> {
  await page.evaluate("location.hash = '#list'")
  await page.getByRole('heading', { name: 'Your access' }).waitFor()
}

/** The details of the first entry of the list. */
export async function openPass(page: Page): Promise<void> {
  await openList(page)
  await page.locator('a.pass').first().click()
  await page.locator('#pass-title').waitFor()
}

/** Ends the access of the entry whose details are shown. */
export async function endAccess(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'End my access everywhere' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End access' }).click()
}
