import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { didKey, generatePrivateKey, startSignIn } from '@countersign/sdk'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createPng } from '../../packages/service/test/brand/pictures.ts'
import { closeReceivers, openReceiver } from '../../packages/service/test/webhooks/receiver.ts'
import { newName } from '../browser/new-name.ts'
import { copyCommand } from './copy-command.ts'
import {
  expectAccessible,
  type Harness,
  hasChromium,
  openHarness,
  pictures,
  shareConsole,
} from './harness.ts'

const run = promisify(execFile)

/** `npm run console-rows` has 100,000. The page loads 50 of them, however many there are. */
const ROWS = Number(process.env.CONSOLE_ROWS ?? 60)
const isLong = ROWS > 1000
const BATCH = 20

const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] }

describe.skipIf(!hasChromium)('the administrative pages of the console', () => {
  let harness: Harness
  let site_id: string
  beforeAll(async () => {
    harness = await openHarness({ isDevelopment: true })
    site_id = harness.siteId
  })
  afterAll(async () => {
    await harness?.close()
    await closeReceivers()
  })

  const openShared = shareConsole(() => harness, CLIPBOARD)

  /** Runs what was copied, as a person would in a terminal. */
  async function runCopied(command: string): Promise<string> {
    const env = { PATH: process.env.PATH, COUNTERSIGN_KEY: harness.dev.operator_key }
    return (await run('sh', ['-c', command], { env })).stdout
  }

  async function findAction(page: Page, name: string): Promise<number> {
    return page.getByRole('button', { name, exact: true }).count()
  }

  test('a list that could not be loaded says why and offers another try, with the same filter', {
    tags: 'long',
  }, async () => {
    await harness.client.createKey({ site_id, permissions: ['site:read'], label: 'for the list' })
    const { page } = await harness.openConsole({ role: 'viewer', page: 'audit' })
    const rows = page.locator('#content tbody tr a')
    await rows.first().waitFor()
    const detail = 'The database does not answer.'
    await page.route(/\/audit\?/, (route) =>
      route.fulfill({ status: 503, json: { code: 'store_unavailable', detail } }),
    )
    await page.getByRole('button', { name: 'Done', exact: true }).click()
    const alert = page.getByRole('alert').filter({ hasText: detail })
    await alert.waitFor()
    await page.unroute(/\/audit\?/)
    const [again] = await Promise.all([
      page.waitForRequest(/\/audit\?/),
      alert.getByRole('button', { name: 'Try again' }).click(),
    ])
    expect(new URL(again.url()).searchParams.get('outcome')).toBe('done')
    await alert.waitFor({ state: 'detached' })
    await rows.first().waitFor()
  })

  test('a filter of the address that is not valid hides all rows, and says which it is', {
    tags: 'long',
  }, async () => {
    const { page, complaints, visit } = await harness.openConsole({ role: 'viewer', page: 'audit' })
    for (const [query, name] of [
      ['from=yesterday', 'from'],
      ['outcome=good', 'outcome'],
    ]) {
      await visit('keys')
      await visit(`audit?${query}`)
      await page.locator('.fault', { hasText: new RegExp(`^${name}:? `) }).waitFor()
      expect(await page.locator('#content tbody tr a').count()).toBe(0)
    }
    // The browser writes a line about a time that is none.
    complaints.length = 0
  })

  test('T15: a viewer sees no button that it may not use; a responder can revoke and cannot issue', {
    tags: 'long',
  }, async () => {
    await harness.client.createKey({ site_id, permissions: ['site:read'], label: 'looked at' })
    const { webhook_id } = await harness.client.createWebhook({
      site_id,
      url: 'https://hooks.example/viewer',
    })
    const issuers = await harness.client.listIssuers({ site_id })
    const pages = [
      ...['overview', 'users', 'credentials', 'tokens', 'verifiers', 'receipts', 'drills', 'log'],
      ...['keys', 'webhooks', `webhooks/${webhook_id}`, 'issuers', `issuers/${issuers.items[0]?.issuer_id}`],
      ...['site', 'audit'],
    ]
    const forbidden =
      /^(?:Create|Trust|Change|Delete|Pause|Resume|Rotate|Send|Switch|Require|Make it|End |Revoke |Reinstate|Issue |Invite|Run a drill|Retire |Actions for)/
    const viewer = await harness.openConsole({ role: 'viewer' })
    for (const name of pages) {
      await viewer.visit(name)
      await expect.poll(() => viewer.page.locator('main [aria-busy=true]').count()).toBe(0)
      const names = await viewer.page.getByRole('button').allInnerTexts()
      expect(
        names.filter((each) => forbidden.test(each.trim())),
        name,
      ).toEqual([])
      expect(await viewer.page.getByRole('button', { name: /Actions for/ }).count(), name).toBe(0)
    }
    // An address that names an act does not open it.
    for (const name of ['keys?act=create', 'webhooks?act=create', 'issuers?act=trust', 'site?act=cut-off']) {
      await viewer.open(name)
      await viewer.page.locator('main table, main .card').first().waitFor()
      expect(await viewer.page.locator('dialog[open]').count(), name).toBe(0)
    }
    const responder = await harness.openConsole({ role: 'responder', page: 'credentials' })
    expect(await responder.page.getByRole('button', { name: /^Revoke access/ }).count()).toBeGreaterThan(0)
    expect(await responder.page.getByRole('button', { name: /^Issue/ }).count()).toBe(0)
    await responder.visit('keys')
    expect(await findAction(responder.page, 'Create a key')).toBe(0)
    const status = await responder.page.evaluate(
      async (site) =>
        (
          await fetch('/console/api/wallet/credentials', {
            method: 'POST',
            headers: { 'countersign-console': site, 'content-type': 'application/json' },
            body: JSON.stringify({ site_id: site, user_ref: 'mallory', scope: ['orders:read'] }),
          })
        ).status,
      site_id,
    )
    expect(status).toBe(403)
  })

  test('a key is created, shown once and hidden after a minute, renamed, and deleted with its name', {
    tags: 'long',
  }, async () => {
    const { page, open } = await harness.openConsole({ page: 'keys', isAlone: true })
    const [nightWatch, dayWatch] = [newName('night watch'), newName('day watch')]
    const reason = newName('no longer needed')
    await page.clock.install()
    await page.getByRole('button', { name: 'Create a key' }).click()
    const dialog = page.getByRole('dialog')
    const create = dialog.getByRole('button', { name: 'Create the key' })
    expect(await create.isDisabled()).toBe(true)
    await dialog.getByLabel('Label').fill(nightWatch)
    await dialog.getByLabel('Follow the log').check()
    await create.click()
    const secret = dialog.locator('.secret code')
    await secret.waitFor()
    const key = await secret.innerText()
    expect(key).toMatch(/^svc_sk_/)
    // The jump of the clock would end a request that is under way, and must come after the minute
    // has begun: the list has the new row, and the seconds have begun to fall.
    await page.locator('tbody tr', { hasText: nightWatch }).waitFor()
    await page.getByText(/^Hidden in 5\d s/).waitFor()
    await page.clock.fastForward(61_000)
    await page.getByText('Hidden.').waitFor()
    expect(await page.content()).not.toContain(key)
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    expect(new URL(page.url()).search).toBe('')
    await page.clock.resume()

    const row = page.getByRole('row', { name: nightWatch })
    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Change label' }).click()
    await dialog.getByLabel('Label', { exact: true }).fill(dayWatch)
    await dialog.getByRole('button', { name: 'Change the label' }).click()
    await page.getByRole('row', { name: dayWatch }).waitFor()

    const answer = async () =>
      (
        await fetch(`${harness.service.url}/api/sites/${site_id}/head?observe=1`, {
          headers: { 'x-api-key': key },
        })
      ).status
    expect(await answer()).toBe(200)
    await page.getByRole('button', { name: `Actions for ${dayWatch}` }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    const sheet = page.getByRole('dialog')
    await sheet.getByLabel('Reason', { exact: true }).fill(reason)
    const remove = sheet.getByRole('button', { name: /^Delete API key/ })
    expect(await remove.isDisabled()).toBe(true)
    await sheet.getByLabel(/^Type/).pressSequentially(dayWatch)
    await remove.click()
    await expect.poll(answer).toBe(401)
    await open('audit?action=api_key.delete')
    await page.getByText(reason).waitFor()
  })

  test('T20: reload, back, forward and a copied address show the same view; typing adds one entry', {
    tags: 'long',
  }, async () => {
    const { page, context, open } = await harness.openConsole({ page: 'audit' })
    const length = () => page.evaluate<number>('history.length')
    const before = await length()
    await page.getByRole('searchbox', { name: 'Action' }).pressSequentially('api_key.create', { delay: 20 })
    expect(await length()).toBe(before + 1)
    const actions = () => page.locator('tbody tr td:nth-child(2)').allInnerTexts()
    const isFiltered = async () => {
      const all = await actions()
      return all.length > 0 && all.every((each) => each === 'api_key.create')
    }
    await expect.poll(isFiltered).toBe(true)
    await page.getByRole('button', { name: 'Oldest first' }).click()
    await page.getByRole('button', { name: '24 hours' }).click()
    await expect.poll(() => page.url()).toContain('since=24h')
    await page.locator('tbody a').first().click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('api_key.create').first().waitFor()
    const view = async (at: Page) => ({
      url: at.url(),
      action: await at.getByRole('searchbox', { name: 'Action' }).inputValue(),
      pressed: await at.locator('button[aria-pressed=true]').allInnerTexts(),
      drawer: await at.locator('dialog[open] h2').innerText(),
      rows: await at.locator('tbody tr').count(),
    })
    await expect.poll(isFiltered).toBe(true)
    const shown = await view(page)
    await page.reload()
    await page.locator('dialog[open] h2').waitFor()
    expect(await view(page)).toEqual(shown)
    await page.goBack()
    await expect.poll(() => page.locator('dialog[open]').count()).toBe(0)
    await page.goForward()
    await page.locator('dialog[open] h2').waitFor()
    expect(await view(page)).toEqual(shown)
    const other = await context.newPage()
    await other.goto(shown.url)
    await other.locator('dialog[open] h2').waitFor()
    expect(await view(other)).toEqual(shown)
    await other.close()
    for (let n = 0; n < 3; n++) await page.goBack()
    await expect
      .poll(() => page.getByRole('searchbox', { name: 'Action' }).inputValue())
      .toBe('api_key.create')
    await page.goBack()
    await expect.poll(() => page.getByRole('searchbox', { name: 'Action' }).inputValue()).toBe('')
    expect(new URL(page.url()).search).toBe('')

    await open('keys?act=create')
    await page.locator('dialog[open]').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => new URL(page.url()).search).toBe('')
  })

  test('T20: as many pages of a list are shown again after a reload', { tags: 'long' }, async () => {
    for (let n = 0; n < 120; n++) await harness.client.changeSite({ site_id, name: `Demo ${n}` })
    const { page } = await openShared('audit')
    const count = () => page.locator('tbody tr').count()
    await expect.poll(count).toBe(50)
    await page.getByRole('button', { name: 'Show more' }).click()
    await expect.poll(count).toBe(100)
    await page.reload()
    await expect.poll(count).toBe(100)
  })

  test('the audit is filtered by the service, opened from an object, and exported', {
    tags: 'long',
  }, async () => {
    const { key_id } = await harness.client.createKey({
      site_id,
      permissions: ['site:read'],
      label: newName('exported'),
    })
    await harness.client.changeKey({ site_id, key_id, label: newName('exported twice'), reason: '=1+1' })
    const { page, visit } = await openShared('keys')
    await page.getByRole('button', { name: `Actions for ${newName('exported twice')}`, exact: true }).click()
    await page.getByRole('menuitem', { name: 'Show its audit rows' }).click()
    await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
    for (const [item, part] of [
      ['CSV for a spreadsheet', `"'=1+1"`],
      ['NDJSON, one row per line', '"reason":"=1+1"'],
      ['OCSF events for a SIEM', '"class_uid":'],
    ] as const) {
      await page.getByRole('button', { name: 'Export' }).click()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: item }).click(),
      ])
      const chunks: Buffer[] = []
      for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
      const text = Buffer.concat(chunks).toString('utf8')
      expect(text).toContain(part)
      expect(text).toContain(key_id)
      const lines = text.trim().split('\n').length
      expect(lines).toBe(item.startsWith('CSV') ? 3 : 2)
    }
    await visit('audit?actor=mallory')
    await page.getByText('Complete the filter to search.').waitFor()
    await visit({ ofService: 'audit?without_site=1' })
    await page.getByRole('heading', { name: 'Audit of all sites' }).waitFor()
    await page.locator('tbody tr').first().waitFor()
    await visit({ ofService: 'nodes' })
    await page.getByText('Ready').waitFor()
    await page.getByText('version 0.1.0').waitFor()
  })

  test('T25: a receiver that fails and then works is seen, tested, resumed and sent all since a time', {
    tags: 'long',
  }, async () => {
    const receiver = await openReceiver(500)
    const { page, visit } = await openShared('webhooks')
    await page.getByRole('button', { name: 'Create a webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('URL').fill(receiver.url)
    await dialog.getByRole('button', { name: 'Create the webhook' }).click()
    const secret = await dialog.locator('.secret code').innerText()
    expect(secret).toMatch(/^whsec_/)
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('heading', { name: receiver.url }).waitFor()
    expect(await page.content()).not.toContain(secret)

    await harness.client.changeSite({ site_id, bearer: 'off' })
    await harness.client.changeSite({ site_id, bearer: 'on' })
    await page.getByRole('cell', { name: '500' }).first().waitFor()
    await page.getByRole('row').filter({ hasText: '500' }).getByRole('link').first().click()
    await dialog.getByText('The receiver answered with an error (500)').first().waitFor()
    expect(await dialog.locator('.attempts .ms').first().innerText()).toMatch(/ms|s$/)
    await page.keyboard.press('Escape')

    await page.getByRole('button', { name: 'Send a test' }).click()
    await dialog.getByRole('button', { name: 'Send a test' }).click()
    await dialog.getByText('The receiver failed').waitFor()
    receiver.answer(204)
    await dialog.getByRole('button', { name: 'Send another test' }).click()
    await dialog.getByText('The receiver accepted the test').waitFor()
    await page.keyboard.press('Escape')

    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click()
    await page.locator('.facts').getByText('Paused').waitFor()
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await dialog.getByRole('button', { name: 'Resume', exact: true }).click()
    await page.locator('.facts').getByText('On').waitFor()
    await expect.poll(() => page.locator('tbody').getByText('Delivered').count()).toBeGreaterThanOrEqual(2)

    const got = receiver.got.length
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Send again since a time' }).click()
    await dialog.getByLabel('Which').selectOption('all')
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await page.getByText(/deliveries are pending again/).waitFor()
    await expect.poll(() => receiver.got.length).toBeGreaterThanOrEqual(got + 2)

    await expect.poll(() => page.locator('tbody').getByText('Pending').count()).toBe(0)
    const gotBefore = receiver.got.length
    await page.locator('tbody a').first().click()
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await expect.poll(() => receiver.got.length).toBe(gotBefore + 1)
    await visit('webhooks')
    await receiver.close()
  })

  test('A348: a delivery is sent again once, also after a double click and an answer that never came', {
    tags: 'long',
  }, async () => {
    const receiver = await openReceiver(204)
    const { webhook_id } = await harness.client.createWebhook({ site_id, url: receiver.url })
    await harness.client.changeSite({ site_id, delegation: 'off' })
    await harness.client.changeSite({ site_id, delegation: 'on' })
    const deliveries = async () =>
      (await harness.client.listDeliveries({ site_id, webhook_id, limit: 10 })).items
    await expect
      .poll(async () => (await deliveries()).map(({ status }) => status))
      .toEqual(['delivered', 'delivered'])
    const [chosen] = await deliveries()
    const { page } = await openShared(`webhooks/${webhook_id}?delivery=${chosen?.delivery_id}`)
    const keys: (string | undefined)[] = []
    let isLost = false
    await page.route(/\/replay$/, async (route) => {
      keys.push(route.request().headers()['idempotency-key'])
      const answer = await route.fetch()
      return isLost ? route.abort() : route.fulfill({ response: answer })
    })
    const dialog = page.getByRole('dialog')
    const button = dialog.getByRole('button', { name: 'Send again' })
    const attempts = async () =>
      (await harness.client.readDelivery({ site_id, delivery_id: String(chosen?.delivery_id) }))
        .attempt_history.length
    // Two clicks in one task: the page cannot draw the button between them.
    await button.evaluate((element) => {
      element.click()
      element.click()
    })
    await expect.poll(attempts).toBe(2)
    const sent = keys.length
    expect(sent).toBe(1)

    // The answer is lost: the next click has the same key, and nothing is sent twice.
    isLost = true
    await button.click()
    await dialog.getByRole('alert').waitFor()
    isLost = false
    await expect
      .poll(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
      .toBe(true)
    const before = await attempts()
    await button.click()
    await dialog.getByRole('alert').waitFor({ state: 'detached' })
    expect(keys.slice(sent)).toEqual([keys[sent], keys[sent]])
    // Control: after an answer, a click is another act with another key.
    await button.click()
    await expect.poll(attempts).toBe(before + 1)
    expect(keys.at(-1)).not.toBe(keys[sent])
    expect(new Set(keys).size).toBe(keys.length - 1)
    await receiver.close()
  })

  test('T26: what is copied as curl does the same as the act', { tags: 'long' }, async () => {
    await harness.client.changeSite({ site_id, delegation: 'on' })
    const { page, visit } = await openShared('keys')
    const listed = JSON.parse(await runCopied(await copyCommand(page, 'Copy as curl')))
    expect(listed.items.length).toBe(await page.locator('tbody tr').count())

    const inSheet = 'dialog[open]'
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await dialog.getByLabel('Label').fill(`it's "quoted" $(id) \\ ä`)
    await dialog.getByLabel('Read all lists').check()
    await dialog.getByLabel('Reason').fill(`why 'not'`)
    const created = JSON.parse(await runCopied(await copyCommand(page, 'Copy as curl', inSheet)))
    expect(created.permissions).toEqual(['site:read'])
    const { items: keys } = await harness.client.listKeys({ site_id, limit: 200 })
    expect(keys.find(({ key_id }) => key_id === created.key_id)?.label).toBe(`it's "quoted" $(id) \\ ä`)
    const { items: rows } = await harness.client.listAudit({ site_id, target: created.key_id })
    expect(rows[0]?.reason).toBe(`why 'not'`)

    // Through another page, so that the list is loaded again: a command has changed it.
    await visit('site')
    await visit(`keys?act=rename&on=${created.key_id}`)
    await dialog.getByLabel('Label', { exact: true }).fill('plain')
    await runCopied(await copyCommand(page, 'Copy as curl', inSheet))
    const { items: renamed } = await harness.client.listKeys({ site_id, limit: 200 })
    expect(renamed.find(({ key_id }) => key_id === created.key_id)?.label).toBe('plain')

    await visit('site?act=change')
    await dialog.getByLabel('Name', { exact: true }).fill(newName('Copied'))
    await runCopied(await copyCommand(page, 'Copy as curl', inSheet))
    expect((await harness.client.readSite({ site_id })).name).toBe(newName('Copied'))
    await visit('site?act=switch&on=delegation')
    await dialog.getByLabel('Reason').fill('copied')
    await runCopied(await copyCommand(page, 'Copy as curl', inSheet))
    expect((await harness.client.readSite({ site_id })).delegation).toBe('off')
    await visit('site?act=switch&on=delegation')
    await runCopied(await copyCommand(page, 'Copy as curl', inSheet))
    expect((await harness.client.readSite({ site_id })).delegation).toBe('on')

    await visit('webhooks?act=create')
    await dialog.getByLabel('URL').fill('https://hooks.example/copied')
    const { webhook_id } = JSON.parse(await runCopied(await copyCommand(page, 'Copy as curl', inSheet)))
    const find = async () =>
      (await harness.client.listWebhooks({ site_id, limit: 200 })).items.find(
        (each) => each.webhook_id === webhook_id,
      )
    for (const [act, status] of [
      ['pause', 'paused'],
      ['resume', 'on'],
      ['delete', undefined],
    ] as const) {
      await visit('keys')
      await visit(`webhooks/${webhook_id}?act=${act}`)
      await page.locator(inSheet).waitFor()
      if (act === 'delete') await dialog.getByLabel('Reason').fill('ä copied')
      await runCopied(await copyCommand(page, 'Copy as curl', inSheet))
      expect((await find())?.status).toBe(status)
    }

    await visit('issuers?act=trust')
    await dialog.getByLabel('DID').fill(didKey((await generatePrivateKey('Ed25519')).publicKey))
    await dialog.getByLabel('May grant at most').fill('orders:read')
    const issuer = JSON.parse(await runCopied(await copyCommand(page, 'Copy as curl', inSheet)))
    expect(issuer.scope).toEqual(['orders:read'])
    const read = () => harness.client.getIssuer({ site_id, issuer: issuer.issuer_id })
    await visit(`issuers/${issuer.issuer_id}?act=change`)
    await dialog.getByLabel('May grant at most').fill('orders:read orders:write')
    await runCopied(await copyCommand(page, 'Copy as curl', inSheet))
    expect((await read()).scope).toEqual(['orders:read', 'orders:write'])
    await visit(`issuers/${issuer.issuer_id}`)
    await page.locator(inSheet).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Distrust' }).click()
    await dialog.getByLabel('Reason', { exact: true }).fill('copied')
    await runCopied(await copyCommand(page, 'Copy as curl', inSheet))
    expect((await read()).status).toBe('distrusted')
    // This sheet belongs to no page and would stay open.
    await page.keyboard.press('Escape')
    await page.locator(inSheet).waitFor({ state: 'detached' })
    await visit('keys')
    await visit(`issuers/${issuer.issuer_id}?act=trust-again`)
    await runCopied(await copyCommand(page, 'Copy as curl', inSheet))
    expect((await read()).status).toBe('trusted')
  })

  test('the look of the sign-in page: a preview, errors beside the fields, on the hosted page, and removed', {
    tags: 'long',
  }, async () => {
    const logos = createServer(({ url }, answer) => {
      if (url === '/missing') answer.statusCode = 404
      answer.end(createPng(64, 64, { colour: [31, 79, 216] }))
    })
    await new Promise<void>((resolve) => logos.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      logos.closeAllConnections()
      logos.close()
    })
    const logo = `http://localhost:${(logos.address() as AddressInfo).port}/logo.png`
    const returnUrl = new URL('/callback', logo).href
    await harness.client.changeSite({ site_id, name: newName('Blue Door'), return_urls: [returnUrl] })
    const { page, visit } = await openShared('site')
    const dialog = page.getByRole('dialog')
    const field = (label: string) => dialog.getByRole('textbox', { name: label, exact: true })
    const save = dialog.getByRole('button', { name: 'Change the look' })
    const paint = (at: Page, selector: string) =>
      at.evaluate<readonly string[]>(`(() => {
        const { backgroundColor, color } = getComputedStyle(document.querySelector('${selector}'))
        return [backgroundColor, color]
      })()`)
    const readSite = () => harness.client.readSite({ site_id })

    await page.getByRole('button', { name: 'Change the look' }).click()
    expect(await save.isDisabled()).toBe(true)
    // The preview follows what is typed, before anything is sent.
    await field('Colour of the main button').fill('#FFD400')
    await expect
      .poll(() => paint(page, 'dialog .look.light .look-button'))
      .toEqual(['rgb(140, 117, 0)', 'rgb(255, 255, 255)'])
    expect(await paint(page, 'dialog .look.dark .look-button')).toEqual([
      'rgb(255, 212, 0)',
      'rgb(13, 18, 16)',
    ])
    expect(await dialog.locator('.look-links').count()).toBe(0)
    await field('Help for users').fill('javascript:alert(1)')
    await field('Privacy notice').fill('https://shop.example/privacy')
    expect(await dialog.locator('.look.light .look-links').innerText()).toMatch(/Contact Blue Door.*Privacy/s)
    await field('Logo').fill(new URL('/missing', logo).href)
    await save.click()
    const rejected = async (label: string) => [
      await field(label).getAttribute('aria-invalid'),
      await dialog.locator(`[id="${await field(label).getAttribute('aria-describedby')}"]`).textContent(),
    ]
    // An invalid link: the service fetches no logo for it.
    await expect
      .poll(() => rejected('Help for users'))
      .toEqual(['true', expect.stringMatching(/^Not accepted: .*mailto/)])
    expect(await page.evaluate('document.activeElement.getAttribute("aria-invalid")')).toBe('true')
    expect(await rejected('Privacy notice')).toEqual(['false', 'An https address.'])
    await field('Help for users').fill('https://shop.example/help')
    expect((await rejected('Help for users'))[0]).toBe('false')
    await save.click()
    await expect.poll(() => rejected('Logo')).toEqual(['true', expect.stringMatching(/^Not accepted: /)])
    expect(await readSite()).toMatchObject({ accent: null, logo_url: null, support_url: null })
    await field('Logo').fill(logo)
    await pictures(page, 'site-look-sheet')
    await save.click()
    await page.locator('.toast', { hasText: 'The look was changed.' }).waitFor()
    await page.locator('main .look.light img').waitFor()
    const width = "document.querySelector('main .look.light img').naturalWidth"
    await expect.poll(() => page.evaluate(width)).toBe(64)
    await pictures(page, 'site-look')

    // On the hosted page: what the preview has shown.
    const openSignIn = async () => {
      const { authUrl } = await startSignIn({ baseUrl: harness.dev.base_url, siteId: site_id, returnUrl })
      const visitor = await harness.browser.newContext({ locale: 'en' })
      onTestFinished(() => visitor.close())
      const hosted = await visitor.newPage()
      await hosted.goto(String(authUrl))
      await hosted.locator('body.ready, .btn.primary').first().waitFor({ state: 'attached' })
      return hosted
    }
    const hosted = await openSignIn()
    for (const colorScheme of ['light', 'dark'] as const) {
      await hosted.emulateMedia({ colorScheme })
      expect(await paint(page, `main .look.${colorScheme}`)).toEqual(await paint(hosted, 'body'))
      const tick = await paint(page, `main .look.${colorScheme} .look-tick`)
      expect(tick).toEqual(await paint(hosted, '.tick'))
      expect(await paint(hosted, '.btn.primary')).toEqual(
        await paint(page, `main .look.${colorScheme} .look-button`),
      )
    }
    expect(await hosted.locator('.who img.logo').getAttribute('src')).toBe((await readSite()).logo_path)
    expect(await hosted.getByRole('link', { name: /^Contact/ }).getAttribute('href')).toBe(
      'https://shop.example/help',
    )

    // Removed again, with the command that the sheet copies for it.
    await visit('site?act=look')
    for (const label of ['Logo', 'Colour of the main button', 'Help for users', 'Privacy notice'])
      await field(label).fill('')
    await save.click()
    // The notice of the first change may still be there.
    await page.locator('.toast', { hasText: 'The look was changed.' }).waitFor()
    await expect.poll(readSite).toMatchObject({
      ...{ logo_url: null, logo_path: null, accent: null, support_url: null, privacy_url: null },
    })
    const plain = await openSignIn()
    expect(await plain.locator('.who img, .foot-links a[rel]').count()).toBe(0)
    const letters = page.locator('main .look.light .look-letters')
    await letters.waitFor()
    expect(await letters.innerText()).toBe(await plain.locator('.who .monogram').innerText())
    expect((await paint(page, 'main .look.light .look-letters'))[0]).toBe(
      (await paint(plain, '.who .monogram'))[0],
    )

    const looked = await harness.openConsole({ page: 'site?act=look', bypassCSP: true })
    await looked.page.getByRole('dialog').getByLabel('Help for users').fill('http:')
    await looked.page.getByRole('dialog').getByRole('button', { name: 'Change the look' }).click()
    await looked.page.locator('.field-error').waitFor()
    await expectAccessible(looked.page)

    // Without the role there is no button, an address opens no sheet, and the service rejects it.
    const viewer = await harness.openConsole({ role: 'viewer', page: 'site?act=look' })
    await viewer.page.locator('main .look.light').waitFor()
    expect(await viewer.page.getByRole('button', { name: 'Change the look' }).count()).toBe(0)
    expect(await viewer.page.locator('dialog[open]').count()).toBe(0)
    const status = await viewer.page.evaluate(
      async (site) =>
        (
          await fetch(`/console/api/sites/${site}`, {
            method: 'PATCH',
            headers: { 'countersign-console': site, 'content-type': 'application/json' },
            body: JSON.stringify({ accent: '#ff0000' }),
          })
        ).status,
      site_id,
    )
    expect(status).toBe(403)
    expect((await readSite()).accent).toBe(null)
  })

  test('typed names stay shut for what is pasted or almost right', { tags: 'long' }, async () => {
    await harness.client.changeSite({ site_id, delegation: 'on' })
    const { page } = await openShared('site?act=switch&on=delegation')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('a test')
    const typed = dialog.getByLabel(/^Type/)
    const button = dialog.getByRole('button', { name: 'Switch off' })
    for (const text of [site_id.toUpperCase(), `${site_id} `, site_id.slice(0, -1), `${site_id}x`]) {
      await typed.fill('')
      await typed.pressSequentially(text)
      expect(await button.isDisabled(), text).toBe(true)
    }
    await typed.fill('')
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(site_id)})`)
    await typed.press('Control+V')
    expect(await button.isDisabled()).toBe(true)
    await typed.pressSequentially(site_id)
    expect(await button.isDisabled()).toBe(false)
    await button.click()
    await page.locator('.sheet .verdict', { hasText: 'This change is durable' }).waitFor({ timeout: 60_000 })
    expect((await harness.client.readSite({ site_id })).delegation).toBe('off')
  })

  test('an issuer is trusted, limited, cut off, and its key marked as compromised', {
    tags: 'long',
  }, async () => {
    const { page } = await openShared('issuers?act=trust')
    const dialog = page.getByRole('dialog')
    const did = didKey((await generatePrivateKey('Ed25519')).publicKey)
    const last8 = did.slice(-8)
    await dialog.getByLabel('DID').fill(did)
    await dialog.getByLabel('Label').fill('Partner')
    await dialog.getByRole('button', { name: 'Trust the issuer' }).click()
    await page.getByRole('heading', { name: 'Partner' }).waitFor()
    await page.getByRole('button', { name: /^Actions for key/ }).click()
    await page.getByRole('menuitem', { name: 'Mark as compromised' }).click()
    await dialog.getByLabel('Reason', { exact: true }).fill('leaked')
    const mark = dialog.getByRole('button', { name: /^Mark as compromised/ })
    expect(await mark.isDisabled()).toBe(true)
    await dialog
      .getByLabel(/^Type/)
      .pressSequentially(last8.replace(/^./, (first) => (first === 'z' ? 'y' : 'z')))
    expect(await mark.isDisabled()).toBe(true)
    await dialog.getByLabel(/^Type/).fill('')
    await dialog.getByLabel(/^Type/).pressSequentially(last8)
    await mark.click()
    const keys = async () => (await harness.client.getIssuer({ site_id, issuer: did })).keys[0]?.status
    await expect.poll(keys).toBe('compromised')
  })

  test('T21: the first page of a list is shown as soon as the API has answered', {
    tags: 'long',
    timeout: 3_600_000,
  }, async () => {
    for (let made = 0; made < ROWS; made += BATCH)
      await Promise.all(
        Array.from({ length: Math.min(BATCH, ROWS - made) }, (_, n) =>
          harness.credential(`user-${made + n}`),
        ),
      )
    const { page, context } = await harness.openConsole({ page: 'overview' })
    const answered = page.waitForResponse((answer) => answer.url().includes('/credentials?'))
    await page.getByRole('link', { name: 'Credentials' }).click()
    const answer = await answered
    await answer.finished()
    const at = performance.now()
    // Nothing else that could arrive is needed.
    await context.setOffline(true)
    await page.locator('tbody tr:nth-child(50)').waitFor()
    // On a machine that does nothing else: the page adds little to the time of the API.
    if (isLong) expect(performance.now() - at).toBeLessThan(300)
  })
})
