import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newName } from '../browser/new-name.ts'
import {
  type ConsolePage,
  clickOnPhone,
  type Harness,
  hasChromium,
  openHarness,
  openPage,
  shareConsole,
  signIn,
} from './harness.ts'

/** A page of another origin. `localhost` with another port is the same site for cookies. */
interface OtherOrigin {
  readonly origin: string
  /** What the page is made of, without its head. */
  html: string
  close(): Promise<void>
}

async function openOrigin(host: 'localhost' | '127.0.0.1'): Promise<OtherOrigin> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><title>Other</title>${other.html}`)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const other: OtherOrigin = {
    origin: `http://${host}:${(server.address() as AddressInfo).port}`,
    html: '',
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return other
}

describe.skipIf(!hasChromium)('the session of the console', () => {
  let harness: Harness
  let others: readonly OtherOrigin[]
  beforeAll(async () => {
    harness = await openHarness()
    others = await Promise.all([openOrigin('localhost'), openOrigin('127.0.0.1')])
  })
  afterAll(async () => {
    await Promise.all((others ?? []).map((other) => other.close()))
    await harness?.close()
  })

  const openShared = shareConsole(() => harness, {})
  const status = async (ppid: string) =>
    (await harness.client.getUser({ site_id: harness.siteId, ppid })).status
  const rejections = async () => {
    const { items } = await harness.operator.listServiceAudit({ action: 'console.rejected', limit: 200 })
    return items.length
  }

  test('T12, A216: its cookie is for this host only, and no script can read it', {
    tags: 'long',
  }, async () => {
    const { context, page } = await openShared()
    const cookies = await context.cookies()
    expect(cookies).toHaveLength(1)
    const { port, hostname } = new URL(harness.url)
    expect(cookies[0]).toMatchObject({
      name: `countersign-console-${port}`,
      value: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      domain: hostname,
      path: '/',
      httpOnly: true,
      sameSite: 'Strict',
    })
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  test('T12, A301: the cookie means nothing at /api, and a key means nothing at /console/api', async () => {
    const { page } = await openShared()
    const ask = (path: string, headers: object) =>
      page.evaluate<{ status: number; code: string }>(
        `fetch(${JSON.stringify(path)}, { headers: ${JSON.stringify(headers)} })
          .then(async (answer) => ({ status: answer.status, code: (await answer.json()).code }))`,
      )
    const role = { 'countersign-console': 'all' }
    expect(await ask('/api/sites', role)).toEqual({ status: 401, code: 'api_key_missing' })
    expect(await ask('/console/api/sites', {})).toEqual({ status: 403, code: 'csrf_invalid' })
    expect((await ask('/console/api/sites', role)).status).toBe(200)
    const both = { ...role, 'x-api-key': harness.dev.operator_key }
    expect(await ask('/console/api/sites', both)).toEqual({ status: 400, code: 'auth_ambiguous' })
  })

  /** Runs in the other page: what it can send, with the cookie where the browser adds it. */
  const attacks = (ppid: string) => {
    const target = `${harness.url}/console/api/wallet/revoke-user`
    const body = JSON.stringify({ ppid, site_id: harness.siteId, reason: 'csrf' })
    const send = (init: object) => `await fetch(${JSON.stringify(target)}, ${JSON.stringify(init)})
      .then((answer) => sent.push(answer.type + ' ' + answer.status), () => sent.push('blocked'))`
    const simple = { method: 'POST', credentials: 'include', body }
    const json = { 'content-type': 'application/json', 'countersign-console': harness.siteId }
    return `(async () => {
      const sent = []
      ${send({ ...simple, mode: 'no-cors', headers: { 'content-type': 'text/plain' } })}
      ${send({ ...simple, mode: 'cors', headers: { 'content-type': 'text/plain' } })}
      ${send({ ...simple, mode: 'cors', headers: json })}
      navigator.sendBeacon(${JSON.stringify(target)}, ${JSON.stringify(body)})
      return sent
    })()`
  }

  test.each([0, 1])(
    'T13, A213, A218: pages of another origin cannot change anything with it (%i)',
    { tags: 'long' },
    async (which) => {
      const other = others[which] as OtherOrigin
      const { context, complaints } = await openSignedIn(other)
      const { ppid } = await harness.credential(`csrf-${which}`)
      const before = await rejections()
      other.html = ''
      const page = await context.newPage()
      await page.goto(other.origin)
      // The answer of the first cannot be read, the others are not sent or not shown.
      expect(await page.evaluate(attacks(ppid))).toEqual(['opaque 0', 'blocked', 'blocked'])
      expect(complaints.splice(0)).toEqual(Array(2).fill(expect.stringContaining('blocked by CORS policy')))

      // A form in a window of its own, as JSON that a form can make.
      const value = JSON.stringify({ ppid, site_id: harness.siteId, reason: 'csrf' })
      other.html = `<form method="post" enctype="text/plain" action="${harness.url}/console/api/wallet/revoke-user">
        <input name='${value.slice(0, -1)},"x":"' value='"}'><button>Send</button></form>`
      await page.goto(other.origin)
      const [answer] = await Promise.all([page.waitForResponse(/revoke-user/), page.click('button')])
      expect(answer.status()).toBe(403)
      expect(await status(ppid)).toBe('active')
      await expect.poll(rejections).toBeGreaterThan(before)
    },
  )

  test('T13, A213: a request with Origin null, without the header or with another Sec-Fetch-Site is rejected', async () => {
    const { context } = await openShared()
    const [{ name, value } = { name: '', value: '' }] = await context.cookies()
    const { ppid } = await harness.credential(newName('headers'))
    const send = async (headers: Readonly<Record<string, string>>) => {
      const answer = await fetch(`${harness.service.url}/console/api/wallet/revoke-user`, {
        method: 'POST',
        headers: { cookie: `${name}=${value}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ ppid, site_id: harness.siteId, reason: 'headers' }),
      })
      return [answer.status, ((await answer.json()) as { code?: string }).code]
    }
    const own = { origin: harness.service.url, 'countersign-console': harness.siteId }
    const { 'countersign-console': _, ...withoutHeader } = own
    expect(await send({ ...own, origin: 'null' })).toEqual([403, 'origin_forbidden'])
    expect(await send({ ...own, origin: others[0]?.origin ?? '' })).toEqual([403, 'origin_forbidden'])
    expect(await send({ 'countersign-console': harness.siteId })).toEqual([403, 'csrf_invalid'])
    expect(await send(withoutHeader)).toEqual([403, 'csrf_invalid'])
    for (const site of ['cross-site', 'same-site', 'none'])
      expect(await send({ ...own, 'sec-fetch-site': site })).toEqual([403, 'csrf_invalid'])
    expect(await status(ppid)).toBe('active')
    expect(await send(own)).toEqual([200, undefined])
    expect(await status(ppid)).toBe('revoked')
  })

  test('T13, A218: no other page can frame the console or keep a hold of its window', {
    tags: 'long',
  }, async () => {
    const other = others[0] as OtherOrigin
    const { context, complaints } = await openSignedIn(other)
    const page = await context.newPage()
    other.html = `<iframe src="${harness.url}/console"></iframe>`
    await page.goto(other.origin)
    await expect.poll(() => complaints.join('\n')).toMatch(/frame-ancestors/)
    expect(await page.frames()[1]?.evaluate('document.querySelector("#app")')).toBeNull()
    complaints.length = 0

    other.html = `<button onclick="window.kept = window.open('${harness.url}/console')">Open</button>`
    await page.goto(other.origin)
    await page.click('button')
    // The window is in a group of its own, so for its opener it looks closed.
    await expect.poll(() => page.evaluate('window.kept.closed')).toBe(true)
  })

  test('a first sign-in by link asks for nothing that is rejected', async () => {
    const { page } = await openPage(harness.browser, [harness.url])
    const answers: string[] = []
    page.on('response', (answer) => {
      if (answer.status() >= 400) answers.push(`${answer.status()} ${new URL(answer.url()).pathname}`)
    })
    await page.goto(await harness.link(await harness.person('operator')))
    await page.locator('nav.rail .person strong', { hasText: 'Omar Operator' }).waitFor()
    expect(answers).toEqual([])
  })

  test('T1: a link is valid for a minute, and rejected after it', { tags: 'long' }, async () => {
    const { page } = await openPage(harness.browser, [harness.url])
    const link = await harness.link(await harness.person('issuing'))
    await harness.passTime(61_000)
    await page.goto(link)
    await page.getByText('This link was used before or has expired').waitFor()
    expect(await page.locator('nav.rail').count()).toBe(0)
    expect(new URL(page.url()).hash).toBe('')
    const other = await harness.link(await harness.person('issuing'))
    await harness.passTime(55_000)
    await page.goto('about:blank')
    await page.goto(other)
    await page.locator('nav.rail .person strong', { hasText: 'Ivo Issuing' }).waitFor()
  })

  test('A334: a sign-in link that another page opens does not replace the session without a question', {
    tags: 'long',
  }, async () => {
    const other = others[1] as OtherOrigin
    const { context } = await openSignedIn(other)
    const page = await context.newPage()
    const name = () => page.locator('nav.rail .person strong').textContent({ timeout: 60_000 })
    const follow = async (role: 'operator' | 'viewer') => {
      other.html = `<a href="${await harness.link(await harness.person(role))}">Report</a>`
      await page.goto(other.origin)
      await page.getByText('Report').click()
      await page.getByRole('heading', { name: 'Use this sign-in link?' }).waitFor({ timeout: 60_000 })
      expect(new URL(page.url()).hash).toBe('')
    }
    await follow('viewer')
    await clickOnPhone(page, page.getByRole('button', { name: 'Stay signed in as Omar Operator' }))
    expect(await name()).toBe('Omar Operator')

    await follow('viewer')
    await clickOnPhone(page, page.getByRole('button', { name: 'Use the link and sign in again' }))
    expect(await name()).toBe('Vera Viewer')
  })

  /** A browser in which an operator is signed in, and which may also open the other origin. */
  async function openSignedIn(other: OtherOrigin): Promise<Pick<ConsolePage, 'context' | 'complaints'>> {
    const opened = await openPage(harness.browser, [harness.url, other.origin])
    await signIn(opened.context, harness.url, await harness.link(await harness.person('operator')))
    return opened
  }
})
