import type { CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newName } from '../browser/new-name.ts'
import {
  clickOnPhone,
  expectAccessible,
  followLink,
  type Harness,
  hasChromium,
  openHarness,
  picture,
  pictures,
} from './harness.ts'

describe.skipIf(!hasChromium)('people in the console', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  const newOperator = async (name: string) =>
    (
      await harness.operator.createPerson({
        name: newName(name),
        roles: [{ site_id: null, role: 'operator' }],
      })
    ).person_id
  const namesOfPeople = async () => {
    const { items } = await harness.operator.listPeople({ limit: 200 })
    return items.map(({ name }) => name)
  }
  const settings = (page: Page, tab = '') => followLink(page, `/console/settings${tab}`)

  /** Ends the elevation of all other sessions of the person, as removing any passkey does. */
  const endElevation = async (page: Page) => {
    await addPasskey(page, 'Phone')
    await removePasskey(page, 'Phone')
  }
  const askToAdd = async (page: Page, name: string) => {
    await settings(page, '/people')
    await page.getByRole('button', { name: 'Add a person' }).click()
    await sheet(page).getByLabel('Name').fill(name)
    await sheet(page).getByRole('button', { name: 'Add the person' }).click()
  }
  const sessionCookie = async (page: Page) => {
    const cookies = await page.context().cookies(harness.url)
    return cookies.find(({ name }) => name.startsWith('countersign-console-'))?.value
  }

  test('T16: giving asks for the passkey, a failed ceremony changes nothing, and five minutes are remembered', {
    tags: 'long',
  }, async () => {
    const personId = await newOperator('Tess Sixteen')
    const { page } = await harness.openConsole({ personId })
    const authenticator = await addAuthenticator(page)
    await settings(page)
    await addPasskey(page, 'Laptop')
    const other = await harness.openConsole({ personId })
    await addAuthenticator(other.page)
    await settings(other.page)
    await endElevation(other.page)

    await askToAdd(page, newName('Bo Added'))
    await confirmDialog(page).getByText('Nothing has been changed yet.').waitFor()
    await pictures(page, 'step-up')
    await authenticator.verifyUser(false)
    await confirmDialog(page).getByRole('button', { name: 'Confirm with a passkey' }).click()
    await confirmDialog(page).getByText('The passkey was not used, so nothing was changed.').waitFor()
    expect(await namesOfPeople()).not.toContain(newName('Bo Added'))
    await confirmDialog(page).getByRole('button', { name: 'Cancel' }).click()
    await sheet(page).getByText('Not confirmed, so nothing was changed.').waitFor()
    expect(await namesOfPeople()).not.toContain(newName('Bo Added'))

    await authenticator.verifyUser(true)
    const before = await sessionCookie(page)
    await sheet(page).getByRole('button', { name: 'Add the person' }).click()
    await confirmDialog(page).getByRole('button', { name: 'Confirm with a passkey' }).click()
    await page.locator('tr', { hasText: newName('Bo Added') }).waitFor()
    expect((await namesOfPeople()).filter((name) => name === newName('Bo Added'))).toHaveLength(1)
    const after = await sessionCookie(page)
    expect(after).toBeDefined()
    expect(after).not.toBe(before)

    // Remembered: the next act does not ask.
    await askToAdd(page, newName('Cy Added'))
    await page.locator('tr', { hasText: newName('Cy Added') }).waitFor()
    expect(await confirmDialog(page).count()).toBe(0)

    const { items } = await harness.operator.listServiceAudit({ actor: `person:${personId}`, limit: 200 })
    expect(items.map(({ action }) => action)).toContain('session.step_up')
  })

  test('T16: revoking one user never asks', { tags: 'long' }, async () => {
    const personId = await newOperator('Rae Revoker')
    const { ppid } = await harness.credential(newName('stolen-laptop'))
    const { page } = await harness.openConsole({ personId })
    const other = await harness.openConsole({ personId })
    await addAuthenticator(other.page)
    await settings(other.page)
    await endElevation(other.page)
    await followLink(page, `/console/sites/${harness.siteId}/users`)
    await page.keyboard.press('Control+k')
    await page.locator('dialog.palette[open] input').fill(newName('stolen-laptop'))
    await page.keyboard.press('Enter')
    await page.locator('#revoke-reason').fill('Laptop stolen')
    await sheet(page).getByRole('button', { name: 'Revoke access' }).click()
    await page.locator('.sheet .verdict', { hasText: 'durable as entr' }).waitFor()
    expect(await confirmDialog(page).count()).toBe(0)
    expect(await harness.client.getUser({ site_id: harness.siteId, ppid })).toMatchObject({
      status: 'revoked',
    })
  })

  test('a passkey signs in, is renamed and removed, and its removal ends the session', {
    tags: 'long',
  }, async () => {
    const personId = await newOperator('Pat Passkey')
    const { page } = await harness.openConsole({ personId })
    await addAuthenticator(page)
    await settings(page)
    await addPasskey(page, 'Laptop')
    await pictures(page, 'settings-account')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
    await pictures(page, 'sign-in')
    await clickOnPhone(page, page.getByRole('button', { name: 'Sign in with a passkey' }))
    await page.locator('nav.rail').waitFor()
    await settings(page)
    await page.getByText('Signed in with a passkey').waitFor()
    await actOn(page, 'Laptop', 'Rename')
    await sheet(page).getByLabel('Name').fill('Old laptop')
    await sheet(page).getByRole('button', { name: 'Rename' }).click()
    await passkeys(page).getByText('Old laptop').waitFor()
    const other = await harness.openConsole({ personId })
    await addAuthenticator(other.page)
    await settings(other.page)
    await endElevation(other.page)
    await actOn(page, 'Old laptop', 'Remove')
    await sheet(page).getByRole('button', { name: 'Remove the passkey' }).click()
    await confirmDialog(page).getByRole('button', { name: 'Confirm with a passkey' }).click()
    // The list is loaded again, without a session.
    await confirmDialog(page).getByText('Your session has ended').waitFor()
    await confirmDialog(page).getByRole('button', { name: 'Sign in with a passkey' }).click()
    await confirmDialog(page).locator('.fault').waitFor()
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  test('a session that was ended elsewhere: the passkey signs in again, and what was typed is sent', {
    tags: 'long',
  }, async () => {
    const personId = await newOperator('Eva Ended')
    const { page } = await harness.openConsole({ personId })
    await addAuthenticator(page)
    await settings(page)
    await addPasskey(page, 'Laptop')
    await settings(page, '/people?act=add')
    await sheet(page).getByLabel('Name').fill('Half typed')
    const other = await harness.openConsole({ personId })
    await settings(other.page)
    await other.page.getByRole('button', { name: /^End the session of/ }).click()
    await other.page.getByText('The session was ended.').waitFor()
    await sheet(page).getByLabel('Name').fill(newName('Half typed, then sent'))
    await sheet(page).getByRole('button', { name: 'Add the person' }).click()
    await confirmDialog(page).getByText('Your session has ended').waitFor()
    await pictures(page, 'session-ended')
    expect(await sheet(page).getByLabel('Name').inputValue()).toBe(newName('Half typed, then sent'))
    await clickOnPhone(page, confirmDialog(page).getByRole('button', { name: 'Sign in with a passkey' }))
    await page.locator('tr', { hasText: newName('Half typed, then sent') }).waitFor()
    expect((await namesOfPeople()).filter((name) => name === newName('Half typed, then sent'))).toHaveLength(
      1,
    )
  })

  test('another person signs in in the dialog: nothing of the page is theirs', { tags: 'long' }, async () => {
    const [first, second] = [await newOperator('Ann First'), await newOperator('Sue Second')]
    const { page } = await harness.openConsole({ personId: first })
    await settings(page, '/people?act=add')
    await sheet(page).getByLabel('Name').fill(newName('Typed by Ann'))
    await harness.operator.changePerson({ person_id: first, status: 'ended' })
    await sheet(page).getByRole('button', { name: 'Add the person' }).click()
    await confirmDialog(page)
      .getByLabel('Sign-in link')
      .fill(await harness.link(second))
    await confirmDialog(page).getByRole('button', { name: 'Use the link' }).click()
    await page.locator('.rail .person', { hasText: newName('Sue Second') }).waitFor()
    await page.waitForURL(/\/console\/sites\//)
    expect(await namesOfPeople()).not.toContain(newName('Typed by Ann'))
  })

  test('another person signs in in another tab: the page sends nothing in their name', {
    tags: 'long',
  }, async () => {
    const [first, second] = [await newOperator('Ann Tab'), await newOperator('Sue Tab')]
    const { page } = await harness.openConsole({ personId: first })
    await settings(page, '/people?act=add')
    await sheet(page).getByLabel('Name').fill(newName('Typed by Ann in a tab'))
    const tab = await page.context().newPage()
    await tab.goto(await harness.link(second))
    await tab.getByRole('button', { name: 'Use the link and sign in again' }).click()
    await tab.locator('.rail .person', { hasText: newName('Sue Tab') }).waitFor()
    await sheet(page).getByRole('button', { name: 'Add the person' }).click()
    // The page begins again, for the other person.
    await page.locator('.rail .person', { hasText: newName('Sue Tab') }).waitFor()
    expect(await namesOfPeople()).not.toContain(newName('Typed by Ann in a tab'))
  })

  test('T18: own access, own session and the last operator key are rejected with the reason', {
    tags: 'long',
  }, async () => {
    const personId = await newOperator('Ole Own')
    const { page } = await harness.openConsole({ personId })
    await settings(page, '/people')
    await page.getByText('You cannot end or reduce your own access here').waitFor()
    await page
      .locator('tr', { hasText: newName('Ole Own') })
      .getByRole('button', { name: /^Actions/ })
      .click()
    const items = page.getByRole('menuitem')
    expect(await items.allTextContents()).toEqual(['Show their audit rows'])
    await page.keyboard.press('Escape')
    for (const [method, path, body] of [
      ['PATCH', `/console/api/people/${personId}`, { status: 'ended' }],
      ['PATCH', `/console/api/people/${personId}`, { roles: [] }],
      ['POST', `/console/api/people/${personId}/links`, undefined],
    ] as const) {
      const answer = await callFrom(page, method, path, body)
      expect(answer).toMatchObject({ status: 409, body: { code: 'own_access' } })
      expect(answer.body.detail).toContain('Ask another operator')
    }
    await settings(page)
    await page.getByText('This session', { exact: true }).waitFor()
    const own = page.locator('section[aria-labelledby=sessions] li', { hasText: 'This session' })
    expect(await own.getByRole('button').count()).toBe(0)

    await followLink(page, '/console/operator-keys')
    await page.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    const typed = await sheet(page).locator('label code').textContent()
    await sheet(page)
      .getByLabel(/^Type/)
      .pressSequentially(typed ?? '')
    await sheet(page)
      .getByLabel(/^Reason/)
      .fill('T18')
    await sheet(page).getByRole('button', { name: 'Delete the key' }).click()
    await sheet(page)
      .getByRole('alert')
      .getByText(/operator/)
      .waitFor()
    expect((await harness.operator.listOperatorKeys({})).items).toHaveLength(1)
  })

  test('an operator adds a person with roles, makes a link, and ends the access', {
    tags: 'long',
  }, async () => {
    const { page } = await harness.openConsole({ personId: await newOperator('Ida Inviter') })
    await settings(page, '/people')
    await page.getByRole('button', { name: 'Add a person' }).click()
    await sheet(page).getByLabel('Name').fill(newName('Nia New'))
    await sheet(page).getByLabel('Add a role at a site').selectOption(harness.siteId)
    await sheet(page).locator('.role-row select').selectOption('responder')
    await picture(page, 'people-add')
    await sheet(page).getByRole('button', { name: 'Add the person' }).click()
    const row = page.locator('tr', { hasText: newName('Nia New') })
    await row.getByText('Responder at').waitFor()
    await pictures(page, 'people')
    await expectAccessible(page)
    await row.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Make a sign-in link' }).click()
    await sheet(page).getByRole('button', { name: 'Make the link' }).click()
    const link = (await sheet(page).locator('.secret code').textContent()) ?? ''
    await picture(page, 'people-link')
    await sheet(page).getByRole('button', { name: 'Close' }).last().click()
    const nia = await harness.browser.newContext()
    const hers = await nia.newPage()
    await hers.goto(link.replace('//127.0.0.1:', '//localhost:'))
    await hers.locator('.rail .person', { hasText: newName('Nia New') }).waitFor()
    await hers.goto(`${harness.url}/console/settings`)
    await hers.getByText('Responder', { exact: true }).waitFor()
    expect(await hers.getByRole('link', { name: 'People' }).count()).toBe(0)
    await row.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'End access' }).click()
    await sheet(page)
      .getByLabel(/^Reason/)
      .fill('Left the company')
    await picture(page, 'people-end')
    await sheet(page).getByRole('button', { name: 'End access' }).click()
    await row.getByText('Ended').waitFor()
    await hers.reload()
    await hers.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
    await nia.close()
  })

  test('the theme is kept in this browser, and everyone can sign out everywhere', {
    tags: 'long',
  }, async () => {
    const { page } = await harness.openConsole({ role: 'viewer' })
    const other = await harness.openConsole({ role: 'viewer' })
    await settings(page)
    await page.getByRole('button', { name: 'Dark' }).click()
    await page.reload()
    await page.locator('html[data-theme=dark]').waitFor()
    expect(await page.evaluate('JSON.stringify({ ...localStorage })')).toBe('{"countersign-theme":"dark"}')
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
    await other.page.reload()
    await other.page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
  })
})

describe.skipIf(!hasChromium)('people at two nodes', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness({ nodes: 2 })
  })
  afterAll(() => harness?.close())

  test('T11: a person who was ended is out on both nodes within two seconds; a half-filled form survives', {
    tags: 'long',
  }, async () => {
    const { operator, url, secondUrl = '', siteId } = harness
    const roles = [{ site_id: siteId, role: 'admin' as const }]
    const { person_id } = await operator.createPerson({ name: newName('Eve Ended'), roles })
    const { page } = await harness.openConsole({ personId: person_id, page: 'keys?act=create' })
    const form = page.locator('dialog.sheet[open]')
    await form.getByLabel(/^Label/).fill('half-filled')
    const cookies = await page.context().cookies(url)
    const cookie = cookies.find(({ name }) => name.startsWith('countersign-console-'))
    const statuses = () =>
      Promise.all(
        [url, secondUrl].map(async (origin) => {
          const headers = { cookie: `${cookie?.name}=${cookie?.value}`, origin }
          return (await fetch(`${origin}/console/session`, { headers })).status
        }),
      )
    expect(await statuses()).toEqual([200, 200])
    await operator.changePerson({ person_id, status: 'ended' })
    // By the answers of the service: requests that it got later than that were all rejected.
    let acceptedMs = 0
    const endedMs = performance.now()
    await expect
      .poll(
        async () => {
          const askedMs = performance.now() - endedMs
          const both = await statuses()
          if (both.includes(200)) acceptedMs = askedMs
          return both
        },
        { interval: 50 },
      )
      .toEqual([401, 401])
    expect(acceptedMs).toBeLessThan(2000)
    // The page finds out by itself, because it follows the site.
    const dialog = page.locator('dialog.confirm[open]')
    await dialog.getByText('Your session has ended').waitFor()
    expect(await form.getByLabel(/^Label/).inputValue()).toBe('half-filled')
    await operator.changePerson({ person_id, status: 'active' })
    await dialog.getByLabel('Sign-in link').fill(await harness.link(person_id))
    await dialog.getByRole('button', { name: 'Use the link' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await form.getByLabel(/^Label/).inputValue()).toBe('half-filled')
    await form.getByLabel('Follow the log').check()
    await expect.poll(() => form.getByRole('button', { name: 'Create the key' }).isEnabled()).toBe(true)
    expect(await page.locator('nav.rail').count()).toBe(1)
  })
})

const sheet = (page: Page) => page.locator('dialog.sheet[open]')
const confirmDialog = (page: Page) => page.locator('dialog.confirm[open]')
const passkeys = (page: Page) => page.locator('section[aria-labelledby=passkeys]')

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await sheet(page).getByLabel('Name').fill(name)
  await sheet(page).getByRole('button', { name: 'Add the passkey' }).click()
  await passkeys(page).getByText(name).waitFor()
}

async function actOn(page: Page, name: string, act: string): Promise<void> {
  await passkeys(page)
    .getByRole('button', { name: `Actions for ${name}` })
    .click()
  await page.getByRole('menuitem', { name: act }).click()
}

async function removePasskey(page: Page, name: string): Promise<void> {
  await actOn(page, name, 'Remove')
  await sheet(page).getByRole('button', { name: 'Remove the passkey' }).click()
  await passkeys(page).locator('.own-list').getByText(name).waitFor({ state: 'detached' })
}

interface Authenticator {
  /** Whether it verifies its user from now on. */
  verifyUser(isUserVerified: boolean): Promise<void>
}

/** An authenticator of the browser that verifies its user without asking. */
async function addAuthenticator(page: Page): Promise<Authenticator> {
  const cdp: CDPSession = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    async verifyUser(isUserVerified) {
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
  }
}

interface PageAnswer {
  readonly status: number
  readonly body: { readonly code: string; readonly detail: string }
}

/** A request of the page itself, with its session. */
async function callFrom(page: Page, method: string, path: string, body?: object): Promise<PageAnswer> {
  return page.evaluate(
    async ([how, where, what]) => {
      const answer = await fetch(where, {
        method: how,
        headers: { 'countersign-console': 'all', ...(what !== '' && { 'content-type': 'application/json' }) },
        ...(what !== '' && { body: what }),
      })
      return { status: answer.status, body: (await answer.json()) as PageAnswer['body'] }
    },
    [method, path, body === undefined ? '' : JSON.stringify(body)] as const,
  )
}
