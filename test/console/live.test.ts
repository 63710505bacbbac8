import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../packages/service/test/store/postgres-server.ts'
import { newName } from '../browser/new-name.ts'
import { type ServiceProcess, startService } from '../process/service-process.ts'
import { type Harness, hasChromium, openHarness, pictures } from './harness.ts'

/** That come while the page is paused. `npm run console-entries` has 10,000. */
const PAUSED_ENTRIES = Number(process.env.CONSOLE_ENTRIES ?? 800)

describe.skipIf(!hasChromium)('the live view', () => {
  let harness: Harness
  let service: ServiceProcess
  let adminPort: number
  beforeAll(async () => {
    adminPort = await freePort()
    harness = await openHarness({ env: { COUNTERSIGN_ADMIN_PORT: String(adminPort) } })
    service = harness.service
  })
  afterAll(() => harness?.close())

  const toUrl = (page: string) => `${harness.url}/console/sites/${harness.siteId}/${page}`

  /** By its metrics: nodes report to each other every ten seconds only. */
  async function countStreams(): Promise<number> {
    const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
    return Number(/^countersign_feed_streams (\d+)$/m.exec(metrics)?.[1])
  }

  /** Revokes so many credentials that do not exist, in as many entries. */
  async function append(count: number): Promise<void> {
    const run = crypto.randomUUID().replaceAll('-', '')
    const ids = Array.from({ length: count }, (_, i) => ({
      credential_id: `cred_${run.slice(0, 20)}${String(i).padStart(6, '0')}`,
    }))
    for (let at = 0; at < count; at += 200)
      await harness.client.revokeTargets({ site_id: harness.siteId, targets: ids.slice(at, at + 200) })
  }

  const readSeq = async (page: Page) =>
    Number(/entry ([\d,]+)/.exec((await page.locator('.live').textContent()) ?? '')?.[1]?.replaceAll(',', ''))

  test('T4: six tabs share one stream, and another tab continues it when the first is closed', {
    tags: 'long',
  }, async () => {
    const { context, page } = await harness.openConsole({ page: 'users' })
    /** The tab that reads the stream, each time that one begins to. */
    const leaders: Page[] = []
    context.on('request', (request) => {
      if (/\/feed\?/.test(request.url())) leaders.push(request.frame().page())
    })
    await page.reload()
    const tabs = [page]
    while (tabs.length < 6) {
      const tab = await context.newPage()
      await tab.goto(toUrl('users'))
      tabs.push(tab)
    }
    for (const tab of tabs) await tab.locator('.live', { hasText: 'Live' }).waitFor()
    await expect.poll(countStreams).toBe(1)
    await append(3)
    for (const tab of tabs) await tab.getByRole('button', { name: '3 new entries' }).waitFor()
    // Six streams would leave no connection for it.
    const answer = await page.evaluate(`fetch('/readyz').then(({ status }) => status)`)
    expect(answer).toBe(200)

    const head = await readSeq(page)
    for (const tab of tabs) expect(await readSeq(tab)).toBe(head)
    expect(new Set(leaders)).toEqual(new Set([page]))
    leaders.length = 0
    await page.close()
    await append(2)
    const rest = tabs.slice(1)
    for (const tab of rest) await tab.getByRole('button', { name: '5 new entries' }).waitFor()
    await expect.poll(countStreams).toBe(1)
    await append(1)
    for (const tab of rest) await tab.getByRole('button', { name: '6 new entries' }).waitFor()
    for (const tab of rest) expect(await readSeq(tab)).toBe(head + 3)
    // One other tab has continued the stream.
    expect(new Set(leaders).size).toBe(1)
    expect(rest).toContain(leaders[0])
  })

  test('T5: an open console is in no receipt', { tags: 'long' }, async () => {
    const { client, siteId } = harness
    await expect.poll(countStreams).toBe(0)
    const guards = await harness.openGuards(['alone'])
    await expect.poll(countStreams).toBe(1)
    const before = await client.revokeUser(
      { site_id: siteId, user_ref: newName('before') },
      { waitSeconds: 30 },
    )
    const { page } = await harness.openConsole({ page: 'overview' })
    await page.locator('.live', { hasText: 'Live' }).waitFor()
    await expect.poll(countStreams).toBe(2)
    const after = await client.revokeUser(
      { site_id: siteId, user_ref: newName('after') },
      { waitSeconds: 30 },
    )
    const toCounts = ({ propagation }: typeof before) => ({
      connected: propagation?.connected,
      acknowledged: propagation?.acknowledged,
      names: propagation?.verifiers.map(({ verifier_id }) => verifier_id),
    })
    expect(toCounts(before)).toEqual({ connected: 1, acknowledged: 1, names: ['alone'] })
    expect(toCounts(after)).toEqual(toCounts(before))
    await guards.close()
  })

  test('T22: while it is paused nothing moves, and nothing is missing afterwards', {
    tags: 'long',
  }, async () => {
    const { page } = await harness.openConsole({ page: 'log' })
    await page.locator('.chain-table tbody tr').first().waitFor()
    await page.locator('.live', { hasText: 'Live' }).waitFor()
    await page.evaluate(`
      window.longest = 0
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration)
      }).observe({ type: 'longtask' })
    `)
    const devtools = await page.context().newCDPSession(page)
    /** What the page needs after the garbage of the moment is collected. */
    const measure = async () => {
      await devtools.send('HeapProfiler.collectGarbage')
      const { nodes, documents } = await devtools.send('Memory.getDOMCounters')
      const { usedSize } = await devtools.send('Runtime.getHeapUsage')
      const rows = await page.locator('.chain-table tbody tr').count()
      return { nodes, documents, usedSize, rows }
    }
    const first = page.locator('.chain-table tbody tr').first()
    const before = await readSeq(page)
    const all = before + 400 + PAUSED_ENTRIES
    await append(400)
    await expect.poll(() => readSeq(page)).toBe(before + 400)
    // The log of this page has been verified up to here, so that no reading of it is under way.
    await first.filter({ hasText: toShown(before + 400) }).waitFor()
    const full = await measure()
    expect(full.rows).toBe(100)
    await page.keyboard.press('p')
    await page.locator('.live', { hasText: 'Paused' }).waitFor()
    const shown = await first.textContent()
    await append(PAUSED_ENTRIES)
    await page.locator('.live', { hasText: `${PAUSED_ENTRIES.toLocaleString('en')} new since` }).waitFor()
    expect(await readSeq(page)).toBe(before + 400)
    expect(await first.textContent()).toBe(shown)
    await page.keyboard.press('p')
    await expect.poll(() => readSeq(page)).toBe(all)
    const [download] = await Promise.all([
      (async () => {
        await expect
          .poll(() => page.locator('.chain-table tbody tr').first().textContent())
          .toMatch(toShown(all))
        const waiting = page.waitForEvent('download')
        await page.getByRole('button', { name: 'Download' }).click()
        return waiting
      })(),
    ])
    const chunks: Buffer[] = []
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
    const seqs = Buffer.concat(chunks)
      .toString()
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { seq: number }).seq)
      .sort((a, b) => a - b)
    expect(seqs).toEqual(Array.from({ length: all }, (_, i) => i + 1))
    // Many more entries: as many rows, about as many nodes, and the entries themselves.
    const end = await measure()
    expect([end.rows, end.documents]).toEqual([full.rows, full.documents])
    expect(end.nodes).toBeLessThan(full.nodes * 1.5)
    const entryBytes = (end.usedSize - full.usedSize) / PAUSED_ENTRIES
    expect(entryBytes).toBeLessThan(10_000)
    console.info(
      `T22: the longest task took ${await page.evaluate('window.longest')} ms; ${end.nodes} nodes, ${Math.round(entryBytes)} bytes for each entry`,
    )
  })

  test('T22: a reading that began before the pause shows nothing that came after it', {
    tags: 'long',
  }, async () => {
    const { page } = await harness.openConsole({ page: 'log' })
    const first = page.locator('.chain-table tbody tr').first()
    await page.locator('.live', { hasText: 'Live' }).waitFor()
    const before = await readSeq(page)
    await first.filter({ hasText: toShown(before) }).waitFor()
    // The reading waits for the signed head, which it gets after the pause.
    const held: (() => Promise<void>)[] = []
    await page.route(/\/head\?/, (route) => void held.push(() => route.continue().catch(() => {})))
    await append(1)
    await expect.poll(() => readSeq(page)).toBe(before + 1)
    await expect.poll(() => held.length).toBeGreaterThan(0)
    await page.keyboard.press('p')
    await page.locator('.live', { hasText: 'Paused' }).waitFor()
    const shown = await first.textContent()
    await append(2)
    await page.locator('.live', { hasText: '2 new since' }).waitFor()
    const read = page.waitForResponse(/\/log\?/)
    await page.unroute(/\/head\?/)
    await Promise.all(held.map((release) => release()))
    await (await read).finished()
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))')
    expect(await first.textContent()).toBe(shown)
    // Control: after the pause, the same page shows all of them.
    await page.keyboard.press('p')
    await first.filter({ hasText: toShown(before + 3) }).waitFor()
  })

  test('a page says that it is connecting while it is not known who is signed in', async () => {
    const { page } = await harness.openConsole({ role: 'responder' })
    const held = Promise.withResolvers<void>()
    await page.route('**/console/session', async (route) => {
      await held.promise
      await route.continue()
    })
    await page.goto(toUrl('overview'))
    await page.getByRole('status').getByText('Connecting').waitFor()
    held.resolve()
    await page.locator('header.top').waitFor()
    expect(await page.locator('.beginning').count()).toBe(0)
  })

  test('an address that no page has leads back to the overview', async () => {
    const { page } = await harness.openConsole({ page: 'nothing', role: 'viewer' })
    await page.locator('#content').getByRole('link', { name: 'Overview' }).click()
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/\/overview$/)
  })

  test('the search finds a user and a page of the site from the pages of the service', {
    tags: 'long',
  }, async () => {
    const { page, visit } = await harness.openConsole({ page: 'overview' })
    await visit({ ofService: 'settings' })
    await page.locator('header.top .search').click()
    await page.keyboard.type('rec')
    await page.locator('.palette[open] [aria-selected="true"]', { hasText: 'Receipts' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Receipts' }).waitFor()
    expect(await page.locator('dialog[open]').count()).toBe(0)
  })

  test('an id that the service does not know is said in words for people', { tags: 'long' }, async () => {
    const { page, visit } = await harness.openConsole({ role: 'responder', page: 'overview' })
    const unknown = ['credentials/cred_unknown', 'users/did:service:ppid_unknown', 'issuers/did:key:unknown']
    for (const path of unknown) {
      await visit(path)
      await page.locator('.fault', { hasText: 'Nothing is known here under this id.' }).waitFor()
    }
    // What is no id of a credential must not be looked up as the name of a user.
    await visit('credentials/alice')
    await page.locator('.fault').waitFor()
    expect(await page.getByRole('button', { name: 'Revoke this credential' }).count()).toBe(0)
  })

  test('a page that could not be loaded offers another try', async () => {
    const { page, complaints } = await harness.openConsole({ role: 'viewer', page: 'overview' })
    await page.route(/assets\/drills/, (route) => route.abort())
    await page.getByRole('link', { name: 'Drills' }).click()
    const again = page.getByRole('alert').getByRole('button', { name: 'Try again' })
    await again.waitFor()
    await page.unroute(/assets\/drills/)
    await again.click()
    await page.getByRole('heading', { name: 'Drills' }).waitFor()
    complaints.length = 0
  })

  test('T23: without the service, the page says what it knows and how old it is, and goes on alone', {
    tags: 'long',
  }, async ({ task }) => {
    if (task.result?.retryCount) {
      await service.kill('SIGKILL')
      service = await startService(harness.home)
    }
    const { page } = await harness.openConsole({ role: 'responder', page: 'overview' })
    await page.locator('.live', { hasText: 'Live' }).waitFor()
    const before = await readSeq(page)
    expect(await findGreen(page)).not.toEqual([])
    // The sheet is loaded after the page, and must be there before the service is away.
    await page.keyboard.press('r')
    await page.locator('#revoke-name').waitFor()
    await page.keyboard.press('Escape')
    await service.kill('SIGKILL')
    const startedMs = performance.now()
    const words = page.locator('.not-live')
    await words.filter({ hasText: 'This page will not act until it answers again' }).waitFor()
    await words.filter({ hasText: /What is shown was known .+ ago, at entry/ }).waitFor()
    console.info(`T23: after ${Math.round(performance.now() - startedMs)} ms`)
    expect(await findGreen(page)).toEqual([])
    await pictures(page, 'not-live')
    // On a phone the whole words are shown, too, and a sheet says the same.
    await page.setViewportSize({ width: 375, height: 667 })
    const isCut = `(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('.live strong'))`
    expect(await page.locator('.live strong').innerText()).toBe('Not connected')
    expect(await page.evaluate(isCut)).toBe(false)
    await page.locator('header.top .danger').click()
    await page.getByRole('dialog').getByText('The service does not answer.').waitFor()
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 1280, height: 800 })

    service = await startService(harness.home)
    await page.locator('.live', { hasText: 'Live' }).waitFor()
    await words.waitFor({ state: 'detached' })
    expect(await findGreen(page)).not.toEqual([])
    await append(2)
    await expect.poll(() => readSeq(page)).toBe(before + 2)

    // A service that hangs is noticed, too.
    await service.kill('SIGSTOP')
    await words.filter({ hasText: 'will not act' }).waitFor()
    await page.keyboard.press('r')
    await page.locator('#revoke-name').fill('anyone')
    await service.kill('SIGCONT')
    await words.waitFor({ state: 'detached' })
    await service.stop()
  })

  /** A number as a table shows it, with or without a comma. */
  function toShown(seq: number): RegExp {
    return new RegExp(seq.toLocaleString('en').replace(',', ',?'))
  }

  /** Elements that show something in green. */
  function findGreen(page: Page): Promise<readonly string[]> {
    return page.evaluate(`(() => {
      const isGreen = (color) => {
        const [red = 0, green = 0, blue = 0, alpha = 1] = (color.match(/[\\d.]+/g) ?? []).map(Number)
        return alpha > 0 && /^rgb/.test(color) && green - Math.max(red, blue) > 20
      }
      return [...document.querySelectorAll('.shell *')].flatMap((element) => {
        if (!element.checkVisibility()) return []
        const style = getComputedStyle(element)
        const isDrawn = element instanceof SVGElement
        const colors = [
          ...(!isDrawn && element.textContent?.trim() !== '' ? [style.color] : []),
          style.backgroundColor,
          ...(isDrawn ? [style.fill, style.stroke] : []),
        ]
        return colors.some(isGreen) ? [element.tagName + ' ' + (element.getAttribute('class') ?? '')] : []
      })
    })()`)
  }
})
