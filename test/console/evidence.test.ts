import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseReceipt, type SignedReceipt, signReceipt } from '@countersign/core'
import { agentFetch, didKey, generatePrivateKey, importPrivateKey } from '@countersign/sdk'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestFeedKeys } from '../../packages/sdk/src/testing/test-feed-keys.ts'
import { newName } from '../browser/new-name.ts'
import { expectAccessible, type Harness, hasChromium, openHarness, pictures } from './harness.ts'

const run = promisify(execFile)

interface Print {
  readonly colours: readonly string[]
  /** The address of each link, and what is printed after it. */
  readonly links: readonly (readonly [href: string, after: string])[]
  readonly text: string
}

/** What a printed page shows: its colours, links and text. */
const READ_PRINT = `(() => {
  const visible = [...document.querySelectorAll('body *')].filter(
    (each) => each.checkVisibility() && each.getClientRects().length > 0,
  )
  const colours = new Set()
  for (const each of visible) {
    const { color, backgroundColor } = getComputedStyle(each)
    if (each.textContent !== '') colours.add(color)
    colours.add(backgroundColor)
  }
  const links = visible.filter((each) => each.matches('a[href]'))
  return {
    colours: [...colours].sort(),
    links: links.map((each) => [each.href, getComputedStyle(each, '::after').content]),
    text: document.querySelector('.paper')?.textContent ?? '',
  }
})()`

describe.skipIf(!hasChromium)('the pages that show proof', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  // The first try has left verifiers in the roster.
  beforeEach(async ({ task }) => {
    if (!task.result?.retryCount) return
    await harness.close()
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  async function saveDownload(page: Page): Promise<string> {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download JSON' }).click(),
    ])
    return readFileSync(await download.path(), 'utf8')
  }

  /** Chooses a file in the page, and returns what the page says about it. */
  async function checkInPage(page: Page, text: string): Promise<string> {
    await page.locator('.check-file input').setInputFiles({
      name: 'receipt.json',
      mimeType: 'application/json',
      buffer: Buffer.from(text),
    })
    const line = page.locator('.check-file .proof-line:is(.good, .bad)')
    await line.waitFor()
    return (await line.textContent()) ?? ''
  }

  /** The exit code of `countersign verify-receipt`. */
  async function checkWithCommand(text: string): Promise<number> {
    const file = join(mkdtempSync(join(tmpdir(), 'receipt-')), 'receipt.json')
    writeFileSync(file, text)
    // Vitest names a bundle of it, which starts faster.
    const main = process.env.TEST_MAIN ?? 'packages/cli/src/main.ts'
    const args = ['--conditions=countersign-source', main, 'verify-receipt', file]
    try {
      await run(process.execPath, [...args, '--url', harness.service.url])
      return 0
    } catch (fault) {
      return (fault as { code: number }).code
    }
  }

  test('the overview says in a sentence who has applied the log, and never guesses', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    const { page, open } = await harness.openConsole({ page: 'overview', bypassCSP: true })
    await page.getByRole('heading', { name: 'No verifier follows this site yet.' }).waitFor()
    expect(await page.locator('main .mark.good').count()).toBe(0)
    const guards = await harness.openGuards(['storefront', 'checkout'])
    const lost = await harness.openGuards(['payouts'], { maxStalenessSeconds: 3 })
    await page.getByRole('heading', { name: 'All 3 verifiers are up to date.' }).waitFor()
    const { ppid } = await harness.credential(newName('overview'))
    const { seq } = await client.revokeUser({ ppid, site_id: siteId, reason: newName('Laptop stolen') })
    await page
      .locator('.recent tr', { hasText: newName('Laptop stolen') })
      .locator('text=3 of 3')
      .waitFor()
    await expect
      .poll(() => page.locator('.answer .lead').textContent())
      .toMatch(new RegExp(`^Log at ${seq}, proven .+ ago\\. All have applied it\\.`))
    await lost.kill()
    await page.getByRole('heading', { name: '2 of 3 verifiers are up to date.' }).waitFor()
    // Until its lease is over, which is the time that its clock may differ by, and its staleness.
    await harness.passTime(13_000)
    await page
      .locator('.answer .lead', { hasText: /payouts is not connected and has rejected every request since/ })
      .waitFor()
    const dot = page.getByRole('link', { name: /^payouts is not connected and has rejected/ }).first()
    expect(await dot.locator('.mark').getAttribute('class')).toBe('mark gone')
    await expectAccessible(page)
    await pictures(page, 'overview')
    await open('verifiers')
    await page
      .locator('.roster tr', { hasText: 'payouts' })
      .locator('text=rejects everything since')
      .waitFor()
    await expectAccessible(page)
    await pictures(page, 'verifiers')

    // Receipts expect it for a day, unless an operator retires it.
    await page.locator('.roster a', { hasText: 'payouts' }).click()
    await page.getByRole('heading', { name: 'payouts', exact: true }).waitFor()
    await expectAccessible(page)
    await pictures(page, 'verifier')
    await page.getByRole('button', { name: 'Retire', exact: true }).click()
    const retire = page.getByRole('button', { name: 'Retire payouts' })
    expect(await retire.isDisabled()).toBe(true)
    await page.getByLabel('Reason').fill('The machine is gone')
    await retire.click()
    await page.locator('.roster tr', { hasText: 'payouts' }).getByText('retired').waitFor()
    const { items } = await client.listVerifiers({ site_id: siteId })
    expect(items.map(({ verifier_id }) => verifier_id).sort()).toEqual(['checkout', 'storefront'])
    await guards.close()
  })

  test('T6: a downloaded receipt is valid, and with one byte changed it is not', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    const guards = await harness.openGuards(['ledger', 'billing'])
    const { ppid } = await harness.credential(newName('receipt'))
    const { seq } = await client.revokeUser({ ppid, site_id: siteId, reason: 'a test' })
    await expect
      .poll(async () => (await client.readReceipt({ site_id: siteId, seq }).catch(() => undefined))?.state)
      .toBe('complete')
    const { page } = await harness.openConsole({ page: `receipts/${seq}`, role: 'viewer', bypassCSP: true })
    await page.getByText('Signature valid, checked in this browser').waitFor()
    const text = await saveDownload(page)
    expect(JSON.parse(text)).toMatchObject({ seq, site_id: siteId })
    expect(await checkWithCommand(text)).toBe(0)
    expect(await checkInPage(page, text)).toContain('Signature valid')

    const spoiled = [
      text.replace('"acknowledged":2', '"acknowledged":1'),
      text.replace('ledger', 'ledgfr'),
      text.replace(/("signature":".)./, (_, start) => `${start}${text.includes(`${start}A`) ? 'B' : 'A'}`),
      text.replace('"seq"', '"sfq"'),
      text.slice(0, -1),
    ]
    for (const each of spoiled) {
      expect(each).not.toBe(text)
      expect(await checkInPage(page, each), each).toContain('Invalid')
    }
    expect(await checkWithCommand(spoiled[1] as string)).toBe(3)
    // Every byte counts.
    for (let at = 7; at < text.length; at += Math.ceil(text.length / 25)) {
      const byte = text[at] === 'x' ? 'y' : 'x'
      expect(await checkInPage(page, text.slice(0, at) + byte + text.slice(at + 1)), String(at)).toContain(
        'Invalid',
      )
    }
    expect(await checkInPage(page, text)).toContain('Signature valid')

    // A proxy changes the receipt on its way to the page.
    await page.route(`**/console/api/sites/*/receipts/${seq}`, async (route) => {
      const answer = await route.fetch({
        headers: { ...route.request().headers(), origin: harness.url },
      })
      await route.fulfill({ response: answer, body: (await answer.text()).replace('ledger', 'ledgfr') })
    })
    await page.reload()
    await page.locator('.paper .proof-line.bad', { hasText: 'Invalid' }).waitFor()
    expect(await page.locator('.paper .seal').getAttribute('class')).toBe('seal')
    await page.unroute(`**/console/api/sites/*/receipts/${seq}`)
    await page.reload()
    await page.getByText('Signature valid, checked in this browser').waitFor()
    await expectAccessible(page)
    await pictures(page, 'receipt')
    await guards.close()
  })

  test('a receipt of an earlier feed key stays valid when a later key was compromised', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    const { ppid } = await harness.credential(newName('earlier key'))
    const { seq } = await client.revokeUser({ ppid, site_id: siteId, reason: 'a test' })
    const read = () => client.readReceipt({ site_id: siteId, seq }).catch(() => undefined)
    await expect.poll(read).toBeDefined()
    const { signature: _, ...fields } = parseReceipt(await read()) as SignedReceipt
    // The service publishes three keys: it was rotated once, and then the second key leaked.
    const keys = await createTestFeedKeys(0)
    const { current: earlier } = keys
    await keys.rotate(1000)
    const { current: leaked } = keys
    await keys.rotate(2000, { compromised: true })
    const sign = async ({ kid, key }: typeof earlier) =>
      JSON.stringify(await signReceipt({ ...fields, kid }, key))

    const { page } = await harness.openConsole({ page: 'receipts', role: 'viewer' })
    await page.route('**/.well-known/countersign', (route) =>
      route.fulfill({ json: { feed: { chain: keys.chain } } }),
    )
    expect(await checkInPage(page, await sign(keys.current))).toContain('Signature valid')
    expect(await checkInPage(page, await sign(leaked))).toContain('marked as compromised')
    expect(await checkInPage(page, await sign(earlier))).toContain('Signature valid')
  })

  test('a receipt of a busy site has its reason, whatever else was done in that minute', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    const { ppid } = await harness.credential(newName('busy'))
    const { seq } = await client.revokeUser({ ppid, site_id: siteId, reason: 'Lost among others' })
    const changes = Array.from({ length: 210 }, (_, n) => `Busy ${n}`)
    await Promise.all(changes.map((name) => client.changeSite({ site_id: siteId, name })))
    await expect
      .poll(async () => (await client.readReceipt({ site_id: siteId, seq }).catch(() => undefined))?.seq)
      .toBe(seq)
    const { page } = await harness.openConsole({ page: `receipts/${seq}`, role: 'viewer' })
    await page.locator('.paper').getByText('Lost among others').waitFor()
  })

  test('T28: a receipt prints on one page, black on white, and no link is lost', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    const names = Array.from({ length: 30 }, (_, i) => `verifier-with-a-long-name-${i + 1}`)
    const guards = await harness.openGuards(names)
    const { ppid } = await harness.credential(newName('print'))
    const { seq } = await client.revokeUser({ ppid, site_id: siteId, reason: 'Left the company' })
    await expect
      .poll(
        async () => (await client.readReceipt({ site_id: siteId, seq }).catch(() => undefined))?.acknowledged,
      )
      .toBe(names.length)
    const { page } = await harness.openConsole({ page: `receipts/${seq}`, colorScheme: 'dark' })
    await page.getByText('Signature valid, checked in this browser').waitFor()
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1')
    expect(pdf.match(/\/Type\s*\/Page\b(?!s)/g)).toHaveLength(1)

    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    const shown = (await page.evaluate(READ_PRINT)) as Print
    expect(shown.colours).toEqual(['rgb(0, 0, 0)', 'rgb(255, 255, 255)', 'rgba(0, 0, 0, 0)'])
    expect(shown.links).toHaveLength(1)
    for (const [href, after] of shown.links) expect(after).toContain(href)
    for (const name of names) expect(shown.text).toContain(name)
    await guards.close()
  })

  test('T9: revoking the middle of a chain turns exactly what is below it', { tags: 'long' }, async () => {
    const { dev, siteId } = harness
    const guards = await harness.openGuards(['tree'])
    const action = `${dev.base_url}/api/protected/action`
    const root = agentFetch({
      credential: dev.bound.credential,
      holderKey: await importPrivateKey(dev.bound.holder_private_jwk),
      origins: dev.base_url,
    })
    const terms = { scope: ['orders:read'], ttlSeconds: 600 }
    const middleKey = await generatePrivateKey('Ed25519')
    const { credential: middleCredential } = await root.delegate({
      ...terms,
      holderKey: didKey(middleKey.publicKey),
      delegable: true,
    })
    const middle = agentFetch({ credential: middleCredential, holderKey: middleKey, origins: dev.base_url })
    const leafKey = await generatePrivateKey('Ed25519')
    const { credential: leafCredential } = await middle.delegate({
      ...terms,
      ttlSeconds: 300,
      holderKey: didKey(leafKey.publicKey),
    })
    const leaf = agentFetch({ credential: leafCredential, holderKey: leafKey, origins: dev.base_url })
    const sideKey = await generatePrivateKey('Ed25519')
    const { credential: sideCredential } = await root.delegate({
      ...terms,
      holderKey: didKey(sideKey.publicKey),
    })
    const side = agentFetch({ credential: sideCredential, holderKey: sideKey, origins: dev.base_url })
    for (const each of [root, middle, leaf, side])
      expect((await each(action, { method: 'POST' })).status).toBe(200)

    const ids = {
      root: root.credentialId,
      middle: middle.credentialId,
      leaf: leaf.credentialId,
      side: side.credentialId,
    }
    // What was presented is recorded a moment later.
    for (const credential_id of Object.values(ids))
      await expect
        .poll(() => harness.client.getCredential({ site_id: siteId, credential_id }))
        .toMatchObject({ status: 'active' })
    const { page } = await harness.openConsole({ page: `credentials/${ids.middle}`, bypassCSP: true })
    const readTree = async () => {
      const nodes = await page
        .locator('.family [data-credential]')
        .evaluateAll((all) =>
          all.map((each) => [each.getAttribute('data-credential'), each.getAttribute('data-status')]),
        )
      const known = Object.fromEntries(nodes) as Record<string, string>
      return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, known[id]]))
    }
    await page.locator('.family').waitFor()
    expect(await readTree()).toEqual({ root: 'active', middle: 'active', leaf: 'active', side: 'active' })
    // The leaf is drawn below the middle, and both below the root.
    await page
      .locator(
        `[data-credential="${ids.root}"] [data-credential="${ids.middle}"] [data-credential="${ids.leaf}"]`,
      )
      .waitFor()
    await page.getByText('ends 2 known credentials').waitFor()
    await pictures(page, 'delegation')

    await page.getByRole('button', { name: 'Revoke this credential' }).click()
    await page.locator('.sheet #revoke-reason').fill('a middle link')
    // Enter before the preview has loaded sends nothing.
    await page.locator('.sheet button.danger-fill[aria-disabled="false"]').waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(readTree).toEqual({
      root: 'active',
      middle: 'revoked',
      leaf: 'revoked',
      side: 'active',
    })
    const credentials = {
      root: dev.bound.credential,
      middle: middleCredential,
      leaf: leafCredential,
      side: sideCredential,
    }
    const decided = async () => {
      const answers: Record<string, string> = {}
      for (const [name, credential] of Object.entries(credentials)) {
        const { tree } = await guards.decide(credential as object)
        // Without a signed request, a guard asks for the proof of a bound credential last.
        answers[name] =
          tree === 'credential_revoked' ? 'revoked' : tree === 'proof_required' ? 'active' : `${tree}`
      }
      return answers
    }
    await expect.poll(decided).toEqual(await readTree())
    await page.keyboard.press('Escape')
    await expectAccessible(page)
    await pictures(page, 'delegation-revoked')
    expect(siteId).toBe(dev.site_id)
    await guards.close()
  })

  test('T10: a drill reports within 30 seconds, names every guard, and touches no user', {
    tags: 'long',
  }, async () => {
    const { client, siteId } = harness
    const guards = await harness.openGuards(['drill-1', 'drill-2', 'drill-3'])
    const users = async () => (await client.listUsers({ site_id: siteId })).items
    const before = await users()
    const { page, open } = await harness.openConsole({ page: 'drills', bypassCSP: true })
    await page.getByRole('button', { name: 'Run a drill' }).click()
    const start = page.getByRole('button', { name: 'Run the drill' })
    expect(await start.isDisabled()).toBe(true)
    await page.getByLabel('Why now?').fill('Weekly drill')
    await start.click()
    await page.getByText('Signature valid, checked in this browser').waitFor()
    for (const name of guards.names)
      expect(await page.locator('.applied-list tr', { hasText: name }).textContent()).toMatch(/\d+ (?:ms|s)/)
    const report = JSON.parse(await saveDownload(page))
    expect(report).toMatchObject({ site_id: siteId, receipt: { drill_id: report.drill_id } })
    expect(Date.parse(report.ended_at) - Date.parse(report.started_at)).toBeLessThan(30_000)
    expect(await checkWithCommand(JSON.stringify(report))).toBe(0)
    const { items } = await client.listLogEntries({ site_id: siteId, kind: 'credential.revoked', limit: 1 })
    expect(items[0]).toMatchObject({ seq: report.receipt.seq, body: { credential_id: report.credential_id } })
    expect(await users()).toEqual(before)
    expect((await client.listAudit({ site_id: siteId, limit: 20 })).items).toContainEqual(
      expect.objectContaining({ reason: 'Weekly drill' }),
    )
    await expectAccessible(page)
    await pictures(page, 'drill')

    guards.cutOff()
    await open('drills')
    await page.getByRole('button', { name: 'Run a drill' }).click()
    await page.getByLabel('Why now?').fill('One is cut off')
    await page.getByRole('button', { name: 'Run the drill' }).click()
    await expect
      .poll(async () => (await client.listDrills({ site_id: siteId })).items[0]?.state)
      .toBe('running')
    await harness.passTime(30_000)
    await page.locator('.paper').waitFor()
    for (const name of guards.names)
      expect(await page.locator('.applied-list tr.late', { hasText: name }).count()).toBe(1)
    expect(await page.locator('.paper .sentence').textContent()).toMatch(/drill-1/)
    await guards.kill()
  })

  test('the bearer meter says what is not known, and is never green then', { tags: 'long' }, async () => {
    const { page } = await harness.openConsole({ page: 'tokens', role: 'viewer', bypassCSP: true })
    await page.getByText('Not known to be safe to switch off.').waitFor()
    await page.getByText(/14 days are needed|Nothing has been counted yet/).waitFor()
    expect(await page.locator('.meter .mark.good').count()).toBe(0)
    await expectAccessible(page)
    await pictures(page, 'tokens')
  })
})
