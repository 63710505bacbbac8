import type { LogEntry } from '@countersign/core/contract'
import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newName } from '../browser/new-name.ts'
import {
  expectAccessible,
  type Harness,
  hasChromium,
  openHarness,
  pictures,
  shareConsole,
} from './harness.ts'

const ENTRIES = 10_000
const TARGETS = 200
/** One task with most of the work would make the page feel slow. */
const SHARE_MAX = 0.4

const LOG = /\/console\/api\/sites\/[^/]+\/log\?/
const HEAD = /\/console\/api\/sites\/[^/]+\/head\?/

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

/**
 * The part of the page's work that its longest task has, by the time of its thread: what other
 * programs use of the processor does not count. On two slow cores the longest took 49 to 71 ms, and
 * was the one that shows the page; those that verify took 7 to 12 ms.
 */
function findLargestShare(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: readonly TraceEvent[] }
  const pages = traceEvents
    .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
    .map(({ pid, tid }) => `${pid} ${tid}`)
  const tasks = traceEvents.filter(
    ({ name, ph, pid, tid }) =>
      name === 'ThreadControllerImpl::RunTask' && ph === 'X' && pages.includes(`${pid} ${tid}`),
  )
  expect(tasks.length).toBeGreaterThan(100)
  // Chromium leaves the processor time out when it is less than a microsecond.
  const times = tasks.map(({ tdur = 0 }) => tdur)
  return Math.max(...times) / times.reduce((sum, time) => sum + time, 0)
}

interface LogAnswer {
  items: LogEntry[]
}

describe.skipIf(!hasChromium)('the log explorer', () => {
  let harness: Harness
  let head = 0
  let usersRevoked = 0
  beforeAll(async () => {
    harness = await openHarness()
    const { client, siteId } = harness
    for (let n = 0; n < ENTRIES / TARGETS; n++) {
      const targets = Array.from({ length: TARGETS }, (_, i) => ({
        credential_id: `cred_${String(n * TARGETS + i).padStart(26, '0')}`,
      }))
      await client.revokeTargets({ site_id: siteId, targets, reason: 'a long log' })
    }
    head = (await client.readHead({ site_id: siteId, observe: '1' })).seq
  })
  afterAll(() => harness?.close())

  /** Sends a request on. A browser says where it comes from in a header that is not passed on. */
  const pass = (route: Route) =>
    route.fetch({ headers: { ...route.request().headers(), origin: harness.url } })

  /** Changes what the page receives as pages of the log. */
  async function spoil(page: Page, change: (items: LogEntry[]) => LogEntry[]): Promise<void> {
    await page.route(LOG, async (route: Route) => {
      const response = await pass(route)
      const answer = (await response.json()) as LogAnswer
      await route.fulfill({ response, json: { ...answer, items: change(answer.items) } })
    })
  }

  const openShared = shareConsole(() => harness, { role: 'viewer' })

  test('T7: 10,000 entries are verified with progress, in many short tasks', { tags: 'long' }, async () => {
    const { page, open } = await harness.openConsole({ role: 'viewer', bypassCSP: true })
    const progress: string[] = []
    await open('overview')
    await page.getByRole('link', { name: 'All receipts' }).waitFor()
    await harness.browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
    await page.exposeFunction('seen', (text: string) => void progress.push(text))
    await page.evaluate(`new MutationObserver(() => {
      const title = document.querySelector('.proof h1')?.textContent
      if (title) window.seen(title)
    }).observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true })`)
    await page.locator('.rail a', { hasText: 'Log' }).click()
    await page
      .getByText(
        `Verified in your browser: ${head.toLocaleString('en')} of ${head.toLocaleString('en')} hashes`,
      )
      .waitFor()
    // About four fifths if all were verified in one task.
    expect(findLargestShare(await harness.browser.stopTracing())).toBeLessThan(SHARE_MAX)
    const steps = new Set(progress.filter((text) => text.startsWith('Verifying in your browser')))
    expect(steps.size).toBeGreaterThan(3)
    expect(await page.locator('.proof .seal').getAttribute('class')).toContain('proven')

    // An entry that is appended now is verified, too, and filters are in the address.
    const { ppid } = await harness.credential(newName('log'))
    const { seq } = await harness.client.revokeUser({ ppid, site_id: harness.siteId })
    usersRevoked++
    head = seq
    await page.getByText(`Verified in your browser: ${seq.toLocaleString('en')} of`).waitFor()
    // The number of an entry is a name, which people copy into commands.
    await page.locator('.proof', { hasText: `Head ${seq} signed by` }).waitFor()
    await page.locator('.live', { hasText: `entry ${seq}, proven` }).waitFor()
    await page.getByRole('button', { name: 'Users', exact: true }).click()
    await expect.poll(() => page.url()).toContain('kind=users')
    await expect.poll(() => page.locator('.chain-table tbody tr').count()).toBe(usersRevoked)
    await page.locator('.chain-table tbody a').first().click()
    await page.locator('.entry', { hasText: 'user.revoked' }).waitFor()
    await page.reload()
    await page.locator('.entry', { hasText: 'user.revoked' }).waitFor()
    await expectAccessible(page)
    await pictures(page, 'log')
  })

  const faults: readonly (readonly [
    name: string,
    change: (items: LogEntry[], seq: number) => LogEntry[],
    why: RegExp,
  ])[] = [
    [
      'one byte of an entry is changed',
      (items, seq) =>
        items.map((each) =>
          each.seq === seq
            ? { ...each, at: each.at.replace(/\dZ$/, (end) => (end === '1Z' ? '2Z' : '1Z')) }
            : each,
        ),
      /does not match its hash/,
    ],
    ['an entry is dropped', (items, seq) => items.filter((each) => each.seq !== seq), /is missing/],
    [
      'two entries are swapped',
      (items, seq) => {
        const at = items.findIndex((each) => each.seq === seq)
        const [one, other] = [items[at], items[at + 1]]
        return one === undefined || other === undefined ? items : items.with(at, other).with(at + 1, one)
      },
      /is missing or not in its place/,
    ],
  ]

  test.each(faults)('T7: red at that very entry when %s', { tags: 'long' }, async (_, change, why) => {
    const seq = head - 250
    const { page, open } = await openShared()
    await spoil(page, (items) => change(items, seq))
    await open('log')
    const proof = page.locator('.proof.wrong h1')
    await proof.waitFor()
    expect(await proof.textContent()).toMatch(new RegExp(`^Entry ${seq} ${why.source}`))
    expect(await page.locator('.proof .seal').getAttribute('class')).toBe('seal')
    await page.getByText('The list ends here').waitFor()
  })

  test('T7: red at the first entry that an older signed head does not cover', { tags: 'long' }, async () => {
    const { client, siteId } = harness
    const older = await client.readHead({ site_id: siteId, observe: '1' })
    const { ppid } = await harness.credential(newName('older head'))
    await client.revokeUser({ ppid, site_id: siteId })
    usersRevoked++
    head = older.seq + 1
    const { page, open } = await openShared()
    await page.route(HEAD, (route) => route.fulfill({ json: older }))
    await open('log')
    const proof = page.locator('.proof.wrong h1')
    await proof.waitFor()
    expect(await proof.textContent()).toBe(
      `Entry ${older.seq + 1} exists, but the service sent an older signed head without it.`,
    )

    // Also if the proxy hides the newer entries: this page has received them from the feed.
    await spoil(page, (items) => items.filter(({ seq }) => seq <= older.seq))
    await page.reload()
    await proof.waitFor()
    expect(await proof.textContent()).toMatch(new RegExp(`^Entry ${older.seq + 1} `))
  })

  test('T7: red when the head is signed by a key that the service does not publish', async () => {
    const { page, open } = await openShared()
    await page.route(HEAD, async (route) => {
      const response = await pass(route)
      const given = (await response.json()) as { signature: string }
      const signature = given.signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))
      await route.fulfill({ response, json: { ...given, signature } })
    })
    await open('log')
    const proof = page.locator('.proof.wrong h1')
    await proof.waitFor()
    expect(await proof.textContent()).toMatch(
      new RegExp(`^Entry ${head} is not covered by a valid signature`),
    )
  })
})
