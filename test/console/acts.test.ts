import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { exportJWK, generateKeyPair } from 'jose'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copyCommand } from './copy-command.ts'
import { type Harness, hasChromium, openHarness } from './harness.ts'

const run = promisify(execFile)
const MAIN = process.env.TEST_MAIN ?? join(import.meta.dirname, '../../packages/cli/src/main.ts')
const THUMBPRINT = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'
const SLOW = { timeout: 60_000 }

/** A folder with the command `countersign`, from its sources. */
function createCommand(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bin-'))
  const file = join(folder, 'countersign')
  const node = JSON.stringify(process.execPath)
  writeFileSync(file, `#!/bin/sh\nexec ${node} --conditions=countersign-source --no-warnings ${MAIN} "$@"\n`)
  chmodSync(file, 0o755)
  return folder
}

/** An OAuth issuer on this machine that has nothing but its keys. */
async function openIssuer(): Promise<{ readonly url: string; readonly server: Server }> {
  const { publicKey } = await generateKeyPair('ES256')
  const keys = [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'k1', use: 'sig' }]
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

describe.skipIf(!hasChromium)('every administrative act of the console', () => {
  let harness: Harness
  let site_id: string
  let issuer: Awaited<ReturnType<typeof openIssuer>>
  let bin: string
  beforeAll(async () => {
    harness = await openHarness({ isDevelopment: true })
    site_id = harness.siteId
    issuer = await openIssuer()
    bin = createCommand()
  })
  afterAll(async () => {
    issuer?.server.close()
    await harness?.close()
  })

  /** Presses a button of the open sheet, and fills in its reason and its name to type. */
  async function confirm(page: Page, button: string, { reason = '', typed = '' } = {}): Promise<void> {
    const dialog = page.getByRole('dialog')
    if (reason !== '') await dialog.getByLabel(/^Reason/).fill(reason)
    if (typed !== '') await dialog.getByLabel(/^Type/).pressSequentially(typed)
    await dialog.getByRole('button', { name: button, exact: true }).click(SLOW)
  }

  async function choose(page: Page, button: string | RegExp, item: string): Promise<void> {
    await page.getByRole('button', { name: button }).click(SLOW)
    await page.getByRole('menuitem', { name: item, exact: true }).click()
  }

  /** The receipt that fills up after an act, until every verifier has applied it. */
  async function seeReceipt(page: Page, noun: string): Promise<void> {
    await page.locator('.sheet .verdict', { hasText: `This ${noun} is durable as entr` }).waitFor(SLOW)
    await page.locator('.sheet .verdict', { hasText: '1 of 1' }).waitFor(SLOW)
    await page.locator('.sheet .signature').waitFor(SLOW)
    await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
  }

  const secret = (dialog: Locator) => dialog.locator('.secret code').innerText(SLOW)

  test('issue, invite, revoke a holder key, sign out, erase: each with its result', {
    tags: 'long',
  }, async () => {
    await harness.openGuards(['acts'])
    const { page, visit } = await harness.openConsole({ role: 'admin', page: 'credentials' })
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Issue a credential' }).click()
    await dialog.getByLabel(/^User/).fill('acts-user')
    await dialog.getByLabel('What the user may do').fill('orders:read')
    await confirm(page, 'Issue the credential')
    const issued = JSON.parse(await secret(dialog)) as { credentialSubject: { id: string } }
    const ppid = issued.credentialSubject.id
    await dialog.getByRole('button', { name: 'I have stored it' }).click()

    await page.getByRole('button', { name: 'Invite a user' }).click()
    await dialog.getByLabel(/^User/).fill('acts-user')
    await dialog.getByLabel('What the user may do').fill('orders:read')
    await confirm(page, 'Create the link')
    expect(await secret(dialog)).toMatch(/^http.*\/wallet.*#/)
    await dialog.getByRole('button', { name: 'I have stored it' }).click()

    await choose(page, 'More actions', 'Revoke a stolen holder key')
    await dialog.getByLabel('Thumbprint of the key').fill(THUMBPRINT)
    await confirm(page, 'Revoke the key', { reason: 'phone stolen' })
    await seeReceipt(page, 'revocation')

    await visit(`users/${ppid}`)
    await choose(page, 'More actions', 'Sign out everywhere')
    await confirm(page, 'Sign the user out', { reason: 'lost laptop' })
    await seeReceipt(page, 'sign-out')
    const { items } = await harness.client.listLogEntries({ site_id, limit: 10 })
    expect(items.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['user.signed_out', 'holder.revoked']),
    )

    await choose(page, 'More actions', 'Erase personal data')
    await confirm(page, 'Erase the data', { typed: ppid.slice(-8) })
    await page.locator('.toast', { hasText: 'Erased: 1 credential,' }).waitFor(SLOW)
    const { items: left } = await harness.client.listCredentials({ site_id, ppid })
    expect(left).toEqual([])
  })

  test('an OAuth issuer is trusted and cut off; the whole site is cut off', { tags: 'long' }, async () => {
    const { page, visit } = await harness.openConsole({ role: 'admin', page: 'issuers?act=trust' })
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('It signs').selectOption('oauth')
    await dialog
      .getByLabel('URL', { exact: true })
      .or(dialog.getByLabel(/^URL(?! of)/))
      .first()
      .fill(issuer.url)
    await dialog.getByLabel('Audience').fill('https://api.shop.example')
    await dialog.getByLabel(/URL of its key set/).fill(`${issuer.url}/jwks`)
    await dialog.getByLabel('Label').fill('Our login')
    await confirm(page, 'Trust the issuer')
    await page.getByRole('heading', { name: 'Our login' }).waitFor(SLOW)
    await choose(page, 'More actions', 'End everything signed so far')
    await confirm(page, 'End all of it', { reason: 'breach', typed: 'Our login' })
    await seeReceipt(page, 'cut-off')

    const { credential } = await harness.credential('cut-off')
    const guards = await harness.openGuards(['cut-off'])
    expect(await guards.decide(credential)).toEqual({ 'cut-off': 'allowed' })
    await visit('site')
    await page.getByRole('button', { name: 'End all access' }).click()
    await confirm(page, 'End all access', { reason: 'breach', typed: site_id })
    await page.locator('.sheet .verdict', { hasText: 'This cut-off is durable' }).waitFor(SLOW)
    await expect.poll(() => guards.decide(credential), SLOW).toEqual({ 'cut-off': 'credential_revoked' })
    await guards.close()
  })

  test('a site, operator keys and the replacement of a key', { tags: 'long' }, async () => {
    const { page, visit } = await harness.openConsole()
    const dialog = page.getByRole('dialog')
    await visit({ ofService: 'all-sites' })
    await page.getByRole('button', { name: 'Create a site' }).click()
    await dialog
      .getByLabel('Site', { exact: true })
      .or(dialog.getByLabel(/^Site/))
      .first()
      .fill('second.example')
    await dialog.getByLabel(/^Name/).fill('Second')
    await confirm(page, 'Create the site')
    await page.waitForURL(/sites\/second\.example\/issuers/, SLOW)
    // The menu of the site stays on the pages of the service.
    await page.getByRole('link', { name: 'Operator keys' }).click()
    expect(await page.locator('.rail select').inputValue()).toBe('second.example')
    await page.locator('.rail').getByRole('link', { name: 'Credentials' }).waitFor()

    await page.getByRole('button', { name: 'Create a key' }).click()
    await dialog.getByLabel('Label').fill('night shift')
    await confirm(page, 'Create the key')
    const key = await secret(dialog)
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    const status = async (at: string, value: string) =>
      (await fetch(harness.service.url + at, { headers: { 'x-api-key': value } })).status
    expect(await status('/api/sites', key)).toBe(200)
    await page.locator('tr', { hasText: 'night shift' }).getByText('Omar Operator').waitFor(SLOW)
    await choose(page, 'Actions for night shift', 'Delete')
    await confirm(page, 'Delete the key', { reason: 'left', typed: 'night shift' })
    await expect.poll(() => status('/api/sites', key), SLOW).toBe(401)

    const { key_id } = await harness.client.createKey({ site_id, permissions: ['site:read'], label: 'shop' })
    await visit(`keys?act=replace&on=${key_id}`)
    await confirm(page, 'Create the key')
    const second = await secret(dialog)
    expect(await status(`/api/sites/${site_id}`, second)).toBe(200)
  })

  test('an answer that comes late does not close a sheet that was opened since', {
    tags: 'long',
  }, async () => {
    const { key_id } = await harness.client.createKey({ site_id, permissions: ['site:read'], label: 'late' })
    const { page, visit } = await harness.openConsole()
    const dialog = page.getByRole('dialog')
    const held = Promise.withResolvers<void>()
    const path = new RegExp(`/keys/${key_id}$`)
    await page.route(path, async (route) => {
      await held.promise
      await route.continue()
    })
    await visit(`keys?act=rename&on=${key_id}`)
    await dialog.getByLabel('Label').fill('later')
    await confirm(page, 'Change the label')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Create a key' }).click()
    await dialog.getByLabel('Label').fill('half a wor')
    held.resolve()
    await page.getByText('The label was changed.').waitFor(SLOW)
    expect(await dialog.getByLabel('Label').inputValue()).toBe('half a wor')
    await page.unroute(path)
  })

  test('an act that fails after its sheet was closed says so', async () => {
    const { ppid } = await harness.credential('left-sheet')
    const { page, visit } = await harness.openConsole()
    const dialog = page.getByRole('dialog')
    const answers = [
      { status: 403, detail: 'Your role does not allow this.', shown: 'Your role does not allow this.' },
      { status: 503, detail: 'The storage does not answer.', shown: 'The result is unknown.' },
    ]
    for (const { status, detail, shown } of answers) {
      const held = Promise.withResolvers<void>()
      await page.route(/sign-out-user$/, async (route) => {
        await held.promise
        await route.fulfill({ status, json: { code: 'any', detail } })
      })
      await visit(`users/${encodeURIComponent(ppid)}?act=sign-out`)
      await dialog.getByText('credentials').first().waitFor()
      await dialog.getByLabel('Reason').fill('closed early')
      await confirm(page, 'Sign the user out')
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      held.resolve()
      await page.locator('.toast', { hasText: shown }).waitFor()
      await page.unroute(/sign-out-user$/)
    }
  })

  test('T26: what is copied as a CLI command does the same as the act', { tags: 'long' }, async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page, visit } = await harness.openConsole({ page: 'keys', permissions })
    const dialog = page.getByRole('dialog')
    const env = {
      PATH: [bin, process.env.PATH].join(delimiter),
      HOME: bin,
      COUNTERSIGN_URL: harness.service.url,
      COUNTERSIGN_API_KEY: harness.dev.operator_key,
    }
    const runCopied = async (from = 'dialog[open]') => {
      const command = await copyCommand(page, 'Copy as CLI command', from)
      return (await run('sh', ['-c', command], { env })).stdout
    }
    expect(await runCopied('main .title')).toContain('development')

    await visit('site?act=change')
    await dialog.getByLabel('Name', { exact: true }).fill(`It's "quoted" $(id) \\ ä`)
    await runCopied()
    expect((await harness.client.readSite({ site_id })).name).toBe(`It's "quoted" $(id) \\ ä`)

    const { ppid } = await harness.credential('by-cli')
    await visit(`users/${ppid}`)
    await page.locator('main [data-revoke-page]').click()
    await dialog.getByLabel(/^Reason/).fill(`copied 'quoted'`)
    await runCopied()
    const { status, reason } = await harness.client.getUser({ site_id, ppid })
    expect([status, reason]).toEqual(['revoked', `copied 'quoted'`])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await visit('issuers?act=trust')
    await dialog.getByLabel('DID').fill('did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH')
    await dialog.getByLabel('May grant at most').fill('orders:read')
    await runCopied()
    const { items } = await harness.client.listIssuers({ site_id })
    expect(items.some(({ issuer: did }) => did.endsWith('wWsdvktH'))).toBe(true)
    await visit('site?act=switch&on=delegation')
    await dialog.getByLabel(/^Reason/).fill('copied')
    await runCopied()
    expect((await harness.client.readSite({ site_id })).delegation).toBe('off')
  })

  test('an operator ends the session of another person', { tags: 'long' }, async () => {
    const { person_id } = await harness.operator.createPerson({
      name: 'Nora Night',
      roles: [{ site_id, role: 'viewer' }],
    })
    const theirs = await harness.openConsole({ personId: person_id })
    const { page, visit } = await harness.openConsole()
    await visit({ ofService: 'settings/people' })
    await choose(page, 'Actions for Nora Night', 'Sessions and passkeys')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^End: Signed in with a link/ })
      .click(SLOW)
    await page.locator('.toast', { hasText: 'The session was ended.' }).waitFor(SLOW)
    await page.getByRole('dialog').getByText('Not signed in now.').waitFor()
    await theirs.page.getByText('Your session has ended').waitFor(SLOW)
  })
})
