import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findOverflow } from '../browser/axe.ts'
import { newName } from '../browser/new-name.ts'
import { type ConsolePage, type Harness, hasChromium, openHarness, shareConsole } from './harness.ts'
import { servicePages, sitePages } from './pages.ts'

const ASSETS = join(import.meta.dirname, '../../packages/console/dist/assets')

/** Each ends in its number, by which it is found on a page. */
const MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
const LINK = '"><a href="javascript:window.hit=1">free access</a>'
const TURNED = 'payroll \u202Egnp.exe\u202C'
const EMOJI = '🔐'.repeat(60)
const WORD = 'w'.repeat(120)

describe.skipIf(!hasChromium)('hostile texts', () => {
  let harness: Harness
  let ppid: string
  beforeAll(async () => {
    harness = await openHarness()
    const { client, operator, siteId: site_id } = harness
    await operator.changeSite({ site_id, name: MARKUP.slice(0, 64) }).catch(() => {})
    for (const label of [MARKUP, LINK, EMOJI, WORD, TURNED]) {
      const text = label.slice(0, 64)
      await client.createKey({ site_id, permissions: ['feed:read'], label: text }).catch(() => {})
      await operator.createPerson({ name: text, roles: [{ site_id, role: 'viewer' }] }).catch(() => {})
    }
    for (const reason of [MARKUP, LINK, EMOJI, WORD, TURNED]) {
      const user = await harness.credential(`hostile ${reason.replaceAll(/\p{C}/gu, '')}`)
      ppid = user.ppid
      await client.revokeUser({ site_id, ppid, reason }).catch(async () => {
        await client.revokeUser({ site_id, ppid })
      })
    }
    await harness.openGuards(['w'.repeat(64)])
  })
  afterAll(() => harness?.close())

  const openShared = shareConsole(() => harness, { permissions: ['clipboard-read', 'clipboard-write'] })

  async function expectText(page: Page, name: string): Promise<void> {
    expect(await page.evaluate('window.hit'), name).toBeUndefined()
    // Nothing of the texts has become an element.
    expect(await page.evaluate(FOREIGN), name).toEqual([])
    for (const width of [1280, 375]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await findOverflow(page), `${name} at ${width} px`).toBe(0)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
  }

  /** T30: the origins of all that the pages load from now on, beginning with the console itself. */
  async function watchOrigins({ context, page }: ConsolePage): Promise<ReadonlySet<string>> {
    const origins = new Set<string>()
    context.on('request', (request) => origins.add(new URL(request.url()).origin))
    await page.reload()
    await page.locator('#content h1').first().waitFor()
    return origins
  }

  test('T14, T30, A214, A178: are text on every page of a site, which loads from its own origin', {
    tags: 'long',
  }, async () => {
    const opened = await openShared()
    const { page, visit } = opened
    const origins = await watchOrigins(opened)
    const shown = new Set<string>()
    for (const name of sitePages) {
      await visit(name)
      await page.locator('#content [aria-busy=true]').waitFor({ state: 'detached' })
      await expectText(page, name)
      const text = await page.locator('#content').innerText()
      for (const each of [MARKUP, LINK, WORD.slice(0, 64)]) if (text.includes(each)) shown.add(each)
    }
    // The test would prove nothing if no page showed them.
    expect([...shown].sort()).toEqual([MARKUP, LINK, WORD.slice(0, 64)].sort())
    expect(await page.locator('nav.rail').innerText()).toContain('<img src=x')
    expect([...origins]).toEqual([harness.url])
  })

  test('T14, T30, A214: are text on the pages of the whole service, and on those of one user', {
    tags: 'long',
  }, async () => {
    const opened = await openShared()
    const { page, visit } = opened
    const origins = await watchOrigins(opened)
    for (const name of servicePages) {
      await visit({ ofService: name })
      await page.locator('#content [aria-busy=true]').waitFor({ state: 'detached' })
      await expectText(page, `service ${name}`)
    }
    await visit(`users/${encodeURIComponent(ppid)}`)
    await expectText(page, 'user')
    expect([...origins]).toEqual([harness.url])
  })

  test('T14, A214: are text where a person types them: search, name, reason and receipt', {
    tags: 'long',
  }, async () => {
    const { page, visit } = await openShared()
    await visit('overview')
    await page.keyboard.press('Control+k')
    await page.getByLabel('User name, id, page or action').fill(newName(MARKUP))
    await expectText(page, 'palette')
    await page.keyboard.press('Enter')
    await page.getByLabel('Reason').fill(LINK)
    await page.getByText('Never seen here').waitFor()
    await expectText(page, 'preview')
    await page.getByLabel('Reason').press('Enter')
    await page.getByRole('button', { name: 'Revoke an unknown user' }).click()
    await page.getByRole('dialog').getByText('1 of 1').first().waitFor()
    await expectText(page, 'receipt')
    expect(await page.getByRole('dialog').innerText()).toContain(MARKUP)
    // The name of a person is in no address.
    expect(decodeURIComponent(page.url())).not.toContain('onerror')
  })

  test('T14, A214: are text in the address', async () => {
    const { page, open } = await openShared()
    for (const path of [`users/${encodeURIComponent(MARKUP)}`, `users?status=${encodeURIComponent(LINK)}`]) {
      await open(path).catch(() => {})
      await expectText(page, path)
    }
  })

  test('A367: a text of the address is one word of a copied command', async () => {
    const { page, open } = await openShared()
    const text = "x'; id #"
    for (const path of [`users?status=${encodeURIComponent(text)}`, `users/${encodeURIComponent(text)}`]) {
      await open(path)
      await page.getByRole('button', { name: 'Copy as' }).first().click()
      await page.getByRole('menuitem', { name: 'Copy as CLI command' }).click()
      const command = await page.evaluate<string>('navigator.clipboard.readText()')
      expect(command).toContain(`'x'\\''; id #'`)
    }
  })

  test('A368: a text of the address does not lead a request of a page elsewhere', {
    tags: 'long',
  }, async () => {
    const { client, siteId: site_id } = harness
    const { webhook_id } = await client.createWebhook({ site_id, url: 'https://hooks.example/in' })
    const { page, open } = await openShared()
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(new URL(request.url()).pathname)
    })
    // The last one is the control arm.
    const ids = ['../tokens/tok_1/revoke#', '..', 'x/../../tokens/tok_1/revoke?', 'dlv_1']
    for (const id of ids) {
      await open(`webhooks/${webhook_id}?delivery=${encodeURIComponent(id)}`)
      await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click()
      if (id !== '..') await expect.poll(() => sent.at(-1)).toContain(encodeURIComponent(id))
    }
    const own = `/console/api/sites/${site_id}/deliveries/`
    // No path has the part `..`, so that one is not sent at all.
    const expected = ids.filter((id) => id !== '..').map((id) => `${own}${encodeURIComponent(id)}/replay`)
    expect(sent).toEqual(expected)
  })
})

describe('the files of the console', () => {
  test('T30: name no other origin, except as text that a person reads or a namespace', () => {
    const allowed = /^https?:\/\/(?:www\.w3\.org|w3id\.org|localhost|127\.0\.0\.1|[\w.-]*\.?example)\b/
    for (const name of readdirSync(ASSETS)) {
      const text = readFileSync(join(ASSETS, name), 'utf8')
      const urls = text.match(/https?:\/\/[\w.-]+/g) ?? []
      expect(
        urls.filter((url) => !allowed.test(url)),
        name,
      ).toEqual([])
      expect(text, name).not.toMatch(/sourceMappingURL|@import|\beval\(|new Function\(/)
    }
  })
})

/** Runs in the page: elements and attributes that the console does not make. */
const FOREIGN = `[...document.querySelectorAll('img, script, iframe, object, embed, [onerror], [onclick], [style], a[href^="javascript:" i]')]
  .filter((each) => !(each.tagName === 'SCRIPT' && each.src.startsWith(location.origin + '/console/assets/')))
  .map((each) => each.outerHTML.slice(0, 100))`
