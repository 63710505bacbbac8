import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type DevProcess, startDevProcess } from '../../scripts/dev-process.ts'
import { findChromium, openChromium } from '../browser/chromium.ts'
import { openPage } from './harness.ts'

const chromium = findChromium()
/** The command of the guide. */
const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/console.md'), 'utf8')
const [, line = ''] = /^```sh start\n(.*)\n```$/m.exec(guide) ?? []
const START = line.split(' ') as [string, ...string[]]
const LINK = /http:\/\/localhost:\d+\/console#link=[A-Za-z0-9_-]{43}/

describe.skipIf(chromium === undefined)('the console of npm start', () => {
  let started: DevProcess
  let browser: Browser
  let url: string
  const start = async () => {
    started = await startDevProcess({ command: START })
    url = started.dev.base_url.replace('//127.0.0.1:', '//localhost:')
  }
  beforeAll(async () => {
    browser = await openChromium(chromium ?? '')
    await start()
  })
  // The first try has used the link that was printed, or revoked the demo user.
  beforeEach(async ({ task }) => {
    if (!task.result?.retryCount) return
    await started.stop()
    await start()
  })
  afterAll(async () => {
    await browser?.close()
    await started?.stop()
  })

  const post = async (path: string, body?: object) => {
    const answer = await fetch(started.dev.base_url + path, {
      method: 'POST',
      headers: { 'x-api-key': started.dev.operator_key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: an answer of the service.
    return (await answer.json()) as any
  }
  /** A link for a person of its own, because a new link of a person replaces the one before. */
  const newLink = async (name: string): Promise<string> => {
    const { person_id } = await post('/api/people', { name, roles: [{ site_id: null, role: 'operator' }] })
    const { url: link } = await post(`/api/people/${person_id}/links`)
    return link.replace('//127.0.0.1:', '//localhost:')
  }
  const open = () => openPage(browser, [url])
  const isRejected = async (link: string) => {
    const { page } = await open()
    await page.goto(link)
    await page.getByText('This link was used before or has expired').waitFor()
    expect(await page.locator('nav.rail').count()).toBe(0)
    expect(new URL(page.url()).hash).toBe('')
  }

  test('T1: the printed link opens the overview of the demo site, once, and in one browser only', async () => {
    const [link = ''] = LINK.exec(started.output()) ?? []
    const { page } = await open()
    const beganMs = performance.now()
    await page.goto(link)
    await page.getByText('All 2 verifiers are up to date.').waitFor()
    console.log(`the overview was there after ${Math.round(performance.now() - beganMs)} ms`)
    expect(new URL(page.url()).pathname).toBe('/console/sites/demo.localhost/overview')
    // The secret is not in the address, and not in the history.
    expect(page.url()).not.toContain('#')
    await page.goBack().catch(() => {})
    expect(page.url()).not.toContain('link=')
    await isRejected(link)
    await page.goto(url.concat('/console'))
    await page.locator('nav.rail').waitFor()
  })

  test('T1: a link is rejected when another one has replaced it', async () => {
    const { person_id } = await post('/api/people', {
      name: 'Twice',
      roles: [{ site_id: null, role: 'operator' }],
    })
    const [first, second] = [
      await post(`/api/people/${person_id}/links`),
      await post(`/api/people/${person_id}/links`),
    ]
    await isRejected(first.url.replace('//127.0.0.1:', '//localhost:'))
    const { page } = await open()
    await page.goto(second.url.replace('//127.0.0.1:', '//localhost:'))
    await page.locator('nav.rail').waitFor()
  })

  test('a newcomer revokes the demo user and sees both demo verifiers reject it', {
    tags: 'long',
  }, async () => {
    const routes = [...started.output().matchAll(/verifier {2}demo-\w+ (http:\/\/127\.0\.0\.1:\d+\/orders)/g)]
    expect(routes).toHaveLength(2)
    const header = Buffer.from(JSON.stringify(started.dev.credential)).toString('base64url')
    const statuses = () =>
      Promise.all(
        routes.map(async ([, route = '']) => {
          const answer = await fetch(route, { headers: { 'X-Service-Credential': header } })
          await answer.body?.cancel()
          return answer.status
        }),
      )
    expect(await statuses()).toEqual([200, 200])
    const { page } = await open()
    await page.goto(await newLink('Newcomer'))
    await page.getByText('All 2 verifiers are up to date.').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('demo-user')
    await page.keyboard.press('Enter')
    await page.getByText('2 verifiers will be notified').waitFor()
    await page.getByLabel('Reason').fill('Trying it out')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('2 of 2').first().waitFor()
    await expect.poll(statuses).toEqual([401, 401])
  })

  test('a button starts a demo verifier; it leaves with the service, and the next start finds none', {
    tags: 'long',
  }, async () => {
    const dataDir = join(mkdtempSync(join(tmpdir(), 'countersign-demo-')), 'data')
    const first = await startDevProcess({ dataDir })
    expect(first.output()).toContain('npm start -- --with-demo-app')
    expect(await listVerifiers(first)).toEqual([])
    const { page } = await openPage(browser, [first.dev.base_url.replace('127.0.0.1', 'localhost')])
    await page.goto(LINK.exec(first.output())?.[0] ?? '')
    await page.getByRole('button', { name: 'Start a demo verifier' }).click()
    await page.getByText('The one verifier is up to date.').waitFor()
    expect(await listVerifiers(first)).toMatchObject([{ verifier_id: 'demo-orders', state: 'connected' }])
    await page.close()
    expect(await first.stop()).toBe(0)
    const second = await startDevProcess({ dataDir })
    expect(await listVerifiers(second)).toEqual([])
    await second.stop()
    rmSync(dirname(dataDir), { recursive: true })
  })
})

async function listVerifiers({ dev }: DevProcess): Promise<readonly unknown[]> {
  const answer = await fetch(`${dev.base_url}/api/sites/${dev.site_id}/verifiers`, {
    headers: { 'x-api-key': dev.site_key },
  })
  return ((await answer.json()) as { items: unknown[] }).items
}
