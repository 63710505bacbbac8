import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newName } from '../browser/new-name.ts'
import { type Harness, hasChromium, openHarness, pictures, shareConsole } from './harness.ts'

describe.skipIf(!hasChromium)('the revoke flow', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  const openResponder = shareConsole(() => harness, { role: 'responder' })
  const openAdmin = shareConsole(() => harness, { role: 'admin' })
  const openOperator = shareConsole(() => harness, { role: 'operator' })

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
    const dana = newName('dana.whitfield@acme.example')
    const guards = await Promise.all([
      harness.openGuards(['storefront-1', 'storefront-2', 'storefront-3', 'storefront-4']),
      harness.openGuards(['checkout-1', 'checkout-2', 'checkout-3', 'admin-bff']),
      harness.openGuards(['mcp-gateway-1', 'mcp-gateway-2', 'payouts-1']),
    ])
    const frozen = await harness.openGuards(['payouts-2'])
    const [{ credential }] = await Promise.all([harness.credential(dana), harness.credential(dana)])
    const act = { type: 'revoke_user', user_ref: dana } as const
    const preview = await client.preview({ site_id: siteId, act })
    const { page } = await harness.openConsole({ role: 'responder', page: 'users' })
    await page.locator('.rail .count', { hasText: '12 of 12' }).waitFor()

    frozen.freeze()
    await typeInPalette(page, dana)
    expect(await readCounts(page)).toMatchObject({
      credentials: String(preview.credentials.count - preview.delegated_credentials),
      delegated: String(preview.delegated_credentials),
      'live tokens': String(preview.tokens.count),
    })
    await pictures(page, 'revoke-preview')
    await page.keyboard.type('Laptop stolen, INC-4471')
    expect(await page.locator('.sheet .seal').count()).toBe(0)
    // Every state of the sheet is looked at, also those that are shown for a moment only.
    await page.evaluate(`
      window.states = []
      window.greenBefore = []
      new MutationObserver(() => {
        const verdict = document.querySelector('.sheet .verdict')?.textContent ?? ''
        const count = /\\d+ of 12/.exec(verdict)?.[0] ?? ''
        if (window.states.at(-1) !== count) window.states.push(count)
        const green = document.querySelector('.sheet .seal.proven, .sheet .banner.green')
        if (green !== null && count !== '12 of 12') window.greenBefore.push(verdict)
      }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true })
    `)
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
    // A page that was loaded again would have lost them.
    const states = await page.evaluate<string[]>('window.states')
    expect(states.slice(-2)).toEqual(['11 of 12', '12 of 12'])
    expect(await page.evaluate('window.greenBefore')).toEqual([])
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

  test('every entry of a user with several ids is named, and each opens its own receipt', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    await harness.credential('several')
    const { users } = await client.resolveUser({ site_id: siteId, user_ref: 'several' })
    expect(users).toHaveLength(2)
    const { page } = await openResponder('users')
    await typeInPalette(page, 'several')
    await page.locator('.notes', { hasText: 'Known under 2 ids' }).waitFor({ timeout: 60_000 })
    await page.keyboard.type('Left the company')
    await page.keyboard.press('Enter')
    const one = page.locator('.sheet')
    await one.locator('.entries li').nth(1).waitFor({ timeout: 60_000 })
    const { items } = await client.listLogEntries({ site_id: siteId, kind: 'user.revoked', limit: 2 })
    const [last, first] = items.map(({ seq }) => seq)
    await one.getByText(`durable as entries ${first} and ${last}`).waitFor()
    await one.locator('.signature').waitFor({ timeout: 60_000 })
    await one.getByRole('button', { name: `Open receipt of entry ${first}` }).click()
    await page.getByRole('article', { name: `Countersign receipt, entry ${first}` }).waitFor()
  })

  test('T3: a guard that was killed stays in the receipt, and one that fails open is shown in words', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    const steady = await harness.openGuards(['steady'], { maxStalenessSeconds: 5 })
    const killed = await harness.openGuards(['killed'], { maxStalenessSeconds: 10 })
    const open = await harness.openGuards(['lenient'], { maxStalenessSeconds: 5, failsOpen: true })
    const { page, visit } = await openResponder('users')
    await page.locator('.rail .count', { hasText: '3 of 3' }).waitFor()
    await killed.kill()
    open.freeze()
    await harness.credential(newName('eve'))
    await typeInPalette(page, newName('eve'))
    await page.locator('.notes', { hasText: 'killed' }).waitFor()
    await page.locator('.notes', { hasText: 'lenient fails open' }).waitFor()
    await page.locator('#revoke-reason').fill('T3')
    await page.keyboard.press('Enter')
    await page.locator('.sheet .verdict', { hasText: '1 of 3' }).waitFor()
    const lines = page.locator('.sheet .missing')
    // On a slow machine its lease may have ended before the page shows when it will.
    await lines
      .filter({
        hasText:
          /killed is not connected and (?:rejects everything from \d\d:\d\d:\d\d on|has rejected everything since)/,
      })
      .waitFor()
    await lines
      .filter({
        hasText: /lenient (?:has not answered yet|is connected and does not answer)\. It fails open/,
      })
      .waitFor()
    await page.locator('.banner.amber', { hasText: 'Not denied everywhere. lenient fails open' }).waitFor()
    // Its lease ends: from then on it is certain, and it is still counted.
    await harness.passTime(15_000)
    await lines.filter({ hasText: /killed is not connected and has rejected everything since/ }).waitFor()
    await page.locator('.sheet .verdict', { hasText: '1 of 3' }).waitFor()
    expect(await sealClass(page)).toBe('seal')
    await pictures(page, 'revoke-fails-open')
    const { items } = await client.listVerifiers({ site_id: siteId })
    expect(items.find(({ verifier_id }) => verifier_id === 'killed')).toMatchObject({
      state: 'gone',
      expected: true,
    })
    open.resume()
    await page.locator('.sheet .verdict', { hasText: '2 of 3' }).waitFor()
    await page.keyboard.press('Escape')
    await visit('verifiers')
    await page
      .getByText(/rejects everything since/)
      .first()
      .waitFor()
    await Promise.all([steady.close(), open.close()])
    for (const { instance_id, verifier_id } of items)
      if (verifier_id === 'killed' && instance_id !== null)
        await client.dismissVerifier({ site_id: siteId, instance_id })
  })

  test('T24: an answer that never comes is unknown, and is asked for again with the same key', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    const { ppid } = await harness.credential(newName('mallory'))
    const { page } = await openResponder('users')
    const keys: (string | undefined)[] = []
    await page.route('**/console/api/wallet/revoke-user', async (route) => {
      keys.push(route.request().headers()['idempotency-key'])
      // The service gets the request and answers. The first answer is lost on its way.
      if (keys.length === 1) await route.fetch()
      else await route.continue()
    })
    await typeInPalette(page, newName('mallory'))
    await readCounts(page)
    await page.keyboard.type('T24')
    await page.keyboard.press('Enter')
    await page.getByText('Not confirmed yet').waitFor()
    expect(await page.locator('.sheet').getByText('Revoked', { exact: true }).count()).toBe(0)
    await page.getByText('The result is unknown').waitFor()
    await page.getByText('Result unknown').waitFor()
    await pictures(page, 'revoke-unknown')
    await page.locator('.sheet .verdict', { hasText: 'durable as entr' }).waitFor()
    expect(keys.length).toBeGreaterThan(1)
    expect(new Set(keys).size).toBe(1)
    const log = await client.listLogEntries({ site_id: siteId, kind: 'user.revoked', limit: 200 })
    expect(log.items.filter(({ body }) => 'ppid' in body && body.ppid === ppid)).toHaveLength(1)
  })

  test('T17: only the exact name that is typed opens the button', { tags: 'long' }, async () => {
    const { siteId } = harness
    const { page } = await openAdmin('site')
    await page.locator('li', { hasText: 'Bearer tokens' }).getByRole('button', { name: 'Switch off' }).click()
    const button = page.getByRole('button', { name: /Switch bearer off/ })
    await readCounts(page)
    await page.locator('#revoke-reason').fill('T17')
    const typed = page.locator('#revoke-typed')
    const expectShut = async (text: string) => {
      await typed.fill('')
      await typed.pressSequentially(text)
      expect(await button.isDisabled(), JSON.stringify(text)).toBe(true)
    }
    await expectShut('')
    await expectShut(`${siteId} `)
    await expectShut(` ${siteId}`)
    await expectShut(siteId.toUpperCase())
    await expectShut(siteId.slice(0, -1))
    await expectShut(`${siteId}.example`)
    await typed.fill('')
    await typed.focus()
    await page.evaluate(`(() => {
      const data = new DataTransfer()
      data.setData('text/plain', '${siteId}')
      const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
      if (document.activeElement?.dispatchEvent(event)) document.execCommand('insertText', false, '${siteId}')
    })()`)
    expect(await button.isDisabled()).toBe(true)
    expect(await typed.inputValue()).toBe('')
    await pictures(page, 'revoke-typed')
    await typed.pressSequentially(siteId)
    expect(await button.isDisabled()).toBe(false)
    await page.keyboard.press('Escape')
    expect((await harness.client.readSite({ site_id: siteId })).bearer).toBe('on')
  })

  test('Enter before the preview says that it is still loading, and revokes nothing', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    const olga = newName('olga')
    const { ppid } = await harness.credential(olga)
    const { page } = await openResponder('users')
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/wallet/revoke-user')) sent.push(request.method())
    })
    await page.route('**/preview', async (route) => {
      asked.resolve()
      await answered.promise
      await route.continue()
    })
    await typeInPalette(page, olga)
    await asked.promise
    await page.getByLabel('Reason').fill('Left the company')
    await page.keyboard.press('Enter')
    await page.getByText('The preview is still loading. Nothing was sent.').waitFor()
    // A key that is held down when the preview appears confirms nothing.
    await page.keyboard.down('Enter')
    answered.resolve()
    await readCounts(page)
    await page.keyboard.down('Enter')
    await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    await page.getByText('The preview has loaded.').waitFor()
    expect(sent).toEqual([])
    const { users } = await client.resolveUser({ site_id: siteId, ppid })
    expect(users.map(({ status }) => status)).toEqual(['active'])
    await page.keyboard.press('Enter')
    await page.locator('.sheet .verdict', { hasText: 'durable as entr' }).waitFor()
    expect(sent).toEqual(['POST'])
  })

  test('a service that is too busy for a preview is asked again', { tags: 'long' }, async () => {
    const ines = newName('ines')
    await harness.credential(ines)
    const { page } = await openResponder('users')
    let asked = 0
    await page.route('**/preview', async (route) => {
      if (++asked > 2) return route.continue()
      const [status, code] = asked === 1 ? [503, 'overloaded'] : [429, 'rate_limited']
      await route.fulfill({ status, json: { status, code, title: code, detail: code } })
    })
    await typeInPalette(page, ines)
    expect(await readCounts(page)).toMatchObject({ credentials: '1' })
    expect(asked).toBe(3)
    await page.keyboard.press('Escape')

    const admin = await openAdmin('site')
    let askedForSite = 0
    await admin.page.route('**/preview', async (route) => {
      if (++askedForSite > 1) return route.continue()
      const overloaded = { status: 503, code: 'overloaded', title: 'overloaded', detail: 'overloaded' }
      await route.fulfill({ status: 503, json: overloaded })
    })
    await admin.page.getByRole('button', { name: 'End all access' }).click()
    await admin.page.locator('.sheet .figures dd:not(:has(.block))').first().waitFor()
    expect(askedForSite).toBe(2)
    await admin.page.keyboard.press('Escape')
  })

  test('cutting off a site waits for its preview, too', { tags: 'long' }, async () => {
    const { siteId, client } = harness
    const { page } = await openAdmin('site')
    const answered = Promise.withResolvers<void>()
    await page.route('**/preview', async (route) => {
      await answered.promise
      await route.abort()
    })
    const before = (await client.readHead({ site_id: siteId })).seq
    await page.getByRole('button', { name: 'End all access' }).click()
    const sheet = page.getByRole('dialog')
    await sheet.getByLabel('Reason').fill('Breach')
    await sheet.getByLabel(/to confirm/).pressSequentially(siteId)
    await page.keyboard.press('Enter')
    await sheet.getByText('The preview is still loading. Nothing was sent.').waitFor()
    answered.resolve()
    await sheet.getByText('The service did not answer.').waitFor()
    await page.keyboard.press('Escape')
    expect((await client.readHead({ site_id: siteId })).seq).toBe(before)
  })

  test('A356: a sheet does not outlive its page: Back to another site closes it, and nothing is sent', {
    tags: 'long',
  }, async () => {
    const { siteId, operator } = harness
    const other = `${newName('other')}.example`
    await operator.createSite({ site_id: other })
    const readHeads = () =>
      Promise.all([siteId, other].map((site_id) => operator.readHead({ site_id }).then(({ seq }) => seq)))
    await harness.credential(newName('olga'))
    const { page, visit } = await openOperator('users')
    await visit({ ofService: `sites/${other}/users` })
    await visit('users')
    await typeInPalette(page, newName('olga'))
    await readCounts(page)
    await page.locator('.sheet').getByLabel('Reason').fill('Left the company')
    const before = await readHeads()
    await page.goBack()
    await page.waitForURL(`**/sites/${other}/users`)
    await expect.poll(() => page.locator('dialog[open]').count()).toBe(0)
    await page.keyboard.press('Enter')
    await page.goForward()
    await page.waitForURL(`**/sites/${siteId}/users`)
    expect(await page.locator('dialog[open]').count()).toBe(0)
    expect(await readHeads()).toEqual(before)
  })

  test('a user that the service has never seen is asked for in other words', { tags: 'long' }, async () => {
    const { client, siteId } = harness
    const { page } = await openResponder('users')
    const user_ref = newName('no-such-person')
    await typeInPalette(page, user_ref)
    await page.getByText('Never seen here').waitFor()
    await page.locator('#revoke-reason').fill('typed wrong')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Is the name right?' }).waitFor()
    // The way back has the focus: Enter alone revokes nothing.
    await page.keyboard.press('Enter')
    await page.locator('#revoke-reason').waitFor()
    expect(await page.locator('#revoke-reason').inputValue()).toBe('typed wrong')
    const { users } = await client.resolveUser({ site_id: siteId, user_ref })
    expect(users.map(({ status }) => status)).toEqual(users.map(() => 'active'))
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Revoke an unknown user' }).click()
    await page.locator('.sheet .verdict', { hasText: 'durable as entr' }).waitFor()
  })

  test('T21: "all that match" says the number and revokes exactly that many', { tags: 'long' }, async () => {
    const { client, siteId } = harness
    const countRevoked = async () => {
      const query = { site_id: siteId, kind: 'credential.revoked', limit: 200 } as const
      return (await client.listLogEntries(query)).items.length
    }
    const before = await countRevoked()
    for (let n = 0; n < 60; n++) await harness.credential(`bulk-${n}`)
    const { page } = await openAdmin('credentials?status=active')
    let active = 0
    for (let cursor: string | undefined; ; ) {
      const found = await client.listCredentials({ site_id: siteId, status: 'active', limit: 200, cursor })
      active += found.items.length
      if (found.next_cursor === null) break
      cursor = found.next_cursor
    }
    await page.getByRole('button', { name: 'Select these 50' }).click()
    await page.getByText('50 credentials selected').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('button', { name: 'Revoke all that match' }).click()
    await page.getByRole('button', { name: `Revoke ${active} credentials` }).waitFor()
    await page.locator('#revoke-reason').fill('T21')
    await page.locator('#revoke-typed').pressSequentially(siteId)
    await readCounts(page)
    await pictures(page, 'revoke-bulk')
    await page.keyboard.press('Enter')
    await page.locator('.sheet .verdict', { hasText: `${active} credentials were revoked` }).waitFor()
    const left = await client.listCredentials({ site_id: siteId, status: 'active' })
    expect(left.items).toEqual([])
    expect(await countRevoked()).toBe(before + active)
  })

  test('every shortcut of the help works from a list, and the focus returns to where it was', {
    tags: 'long',
  }, async () => {
    await harness.client.signOutUser({ site_id: harness.siteId, user_ref: 'frank' })
    await harness.client.signOutUser({ site_id: harness.siteId, user_ref: 'grace' })
    const { page } = await openResponder('users?status=active')
    await page.locator('tbody tr a').nth(1).waitFor()
    const focused = () => page.evaluate(`document.activeElement?.getAttribute('href')`)
    await page.keyboard.press('j')
    const first = await focused()
    await page.keyboard.press('j')
    const second = await focused()
    expect(second).not.toBe(first)
    await page.keyboard.press('k')
    expect(await focused()).toBe(first)
    await page.keyboard.press('r')
    await page.locator('.sheet[open] .who').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(focused).toBe(first)
    await page.keyboard.press('?')
    await page.locator('.help[open]', { hasText: 'Pause or continue live updates' }).waitFor()
    await pictures(page, 'help')
    await page.keyboard.press('Escape')
    await expect.poll(focused).toBe(first)
    await page.keyboard.press('p')
    await page.locator('.live', { hasText: 'Paused' }).waitFor()
    await page.keyboard.press('p')
    await page.keyboard.press('x')
    await page.getByText('1 user selected').waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.user-head').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('v')
    await page.getByRole('heading', { name: 'Verifiers' }).waitFor()
  })

  test('the page of a user shows why and who, and an administrator reinstates', {
    tags: 'long',
  }, async () => {
    const henry = newName('henry')
    const { credential } = await harness.credential(henry)
    await harness.client.exchangeProof({ credential: credential as Record<string, unknown> })
    const { page } = await openAdmin('users')
    await page.getByPlaceholder('User name or ppid_…').fill(henry)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: henry }).waitFor()
    expect(page.url()).not.toContain(henry)
    await page.getByText('From your search, not stored').waitFor()
    await page.getByText('1 active, 0 past').waitFor()
    await pictures(page, 'user')
    await page.locator('body').press('r')
    await readCounts(page)
    await page.keyboard.type('INC-9')
    await page.keyboard.press('Enter')
    await page.locator('.sheet .verdict', { hasText: 'durable as entr' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText(/Revoked since/).waitFor()
    const history = page.locator('.history')
    await history.getByText('by Ada Admin').first().waitFor()
    await history.getByText('“INC-9”').first().waitFor()
    await page.getByRole('button', { name: 'Reinstate' }).click()
    await page.getByText('stay revoked: the user needs new ones').waitFor()
    await page.locator('.sheet[open] footer').getByRole('button', { name: 'Reinstate' }).click()
    await history.getByText('Reinstated').waitFor()
    await pictures(page, 'user-reinstated')

    const viewer = await harness.openConsole({ role: 'viewer', page: 'users' })
    await viewer.page.goto(page.url())
    await viewer.page.locator('.history').getByText('Reinstated').waitFor()
    // Names of colleagues at the site, also for people who are no operators.
    await viewer.page.locator('.history').getByText('by Ada Admin').first().waitFor()
    expect(await viewer.page.getByRole('button', { name: /revoke|reinstate/i }).count()).toBe(0)
  })

  test('a double click revokes once, and the receipt that appears under it stays open', {
    tags: 'long',
  }, async () => {
    const guards = await harness.openGuards(['twice'])
    const { ppid } = await harness.credential(newName('judy'))
    const { page } = await openResponder('users')
    let sent = 0
    page.on('request', (request) => {
      if (request.method() === 'POST' && /revo/.test(request.url())) sent++
    })
    await typeInPalette(page, newName('judy'))
    await readCounts(page)
    await page.keyboard.type('in a hurry')
    await page.locator('.sheet footer').getByRole('button', { name: 'Revoke access' }).dblclick()
    await page.locator('.sheet .verdict', { hasText: '1 of 1' }).waitFor()
    expect(sent).toBe(1)
    const { status } = await harness.client.getUser({ site_id: harness.siteId, ppid })
    expect(status).toBe('revoked')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Done|Close and keep watching/ })
      .click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await guards.close()
  })

  test('Enter that is pressed twice, or held down, leaves the receipt open', { tags: 'long' }, async () => {
    const { page } = await openResponder('users')
    for (const name of ['twice', 'held'].map(newName)) {
      await harness.credential(name)
      await typeInPalette(page, name)
      await readCounts(page)
      await page.keyboard.type('in a hurry')
      if (name === newName('twice')) for (const key of ['Enter', 'Enter']) await page.keyboard.press(key)
      else {
        for (let n = 0; n < 9; n++) await page.keyboard.down('Enter')
        await page.locator('.sheet .verdict').waitFor()
        for (let n = 0; n < 9; n++) await page.keyboard.down('Enter')
        await page.keyboard.up('Enter')
      }
      await page.locator('.sheet[open] .verdict', { hasText: 'durable as entr' }).waitFor()
      // A second later, it closes the receipt.
      const pressEnter = async () => {
        await page.keyboard.press('Enter')
        return page.locator('.sheet[open]').count()
      }
      await expect.poll(pressEnter).toBe(0)
    }
  })

  test('a list shows what was revoked on it, and selects only what it shows', { tags: 'long' }, async () => {
    const { client, siteId } = harness
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push((await harness.credential(newName('row'))).id)
    const { page } = await openAdmin('credentials?status=active')
    const box = (id: string | undefined) => page.getByLabel(`Select ${id}`)
    await page
      .locator('tr', { has: box(ids[0]) })
      .getByRole('button', { name: 'Revoke' })
      .click()
    await readCounts(page)
    await page.keyboard.type('left')
    await page.keyboard.press('Enter')
    await page.locator('.sheet .verdict', { hasText: 'durable as entr' }).waitFor()
    await box(ids[0]).waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await expect.poll(() => page.evaluate('document.activeElement?.id')).toBe('content')

    // Rows are not drawn again when one of them is selected.
    await page.evaluate(`{
      const { prototype } = Intl.DateTimeFormat
      const { get } = Object.getOwnPropertyDescriptor(prototype, 'format')
      window.drawn = 0
      Object.defineProperty(prototype, 'format', { get() { window.drawn++; return get.call(this) } })
    }`)
    await box(ids[1]).click()
    await box(ids[2]).click()
    await page.getByText('2 credentials selected').waitFor()
    expect(await page.evaluate('window.drawn')).toBe(0)

    await client.revokeCredential({ site_id: siteId, credential_id: ids[1] as string })
    await page.getByRole('button', { name: /new entr/ }).click()
    await page.getByText('1 credential selected').waitFor()
    expect(await box(ids[2]).isChecked()).toBe(true)
    await page.getByRole('button', { name: 'Revoked', exact: true }).click()
    await page.locator('tbody', { hasText: 'Revoked' }).waitFor()
    await page.getByRole('button', { name: 'Active', exact: true }).click()
    await box(ids[2]).waitFor()
    expect(await box(ids[2]).isChecked()).toBe(false)
  })

  test('an act whose sheet was closed goes on, and is found in the top bar', { tags: 'long' }, async () => {
    const frozen = await harness.openGuards(['slow'])
    await harness.credential(newName('ivan'))
    const { page } = await openResponder('users')
    await page.locator('.rail .count', { hasText: '1 of 1' }).waitFor()
    frozen.freeze()
    await typeInPalette(page, newName('ivan'))
    await readCounts(page)
    await page.keyboard.type('closed early')
    await page.keyboard.press('Enter')
    await page.locator('.sheet .verdict', { hasText: '0 of 1' }).waitFor()
    await page.getByRole('button', { name: 'Close and keep watching' }).click()
    await page.getByRole('button', { name: `${newName('ivan')}: 0 of 1` }).click()
    await page.locator('.sheet .verdict', { hasText: '0 of 1' }).waitFor()
    frozen.resume()
    await page.locator('.sheet .verdict', { hasText: '1 of 1' }).waitFor()
    await frozen.close()
  })
})
