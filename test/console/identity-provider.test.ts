import { once } from 'node:events'
import { createServer, type Server, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
// @ts-expect-error: it comes without types.
import Provider from 'oidc-provider'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { clickOnPhone, type Harness, hasChromium, openHarness } from './harness.ts'

// Sign-in to the console in a real browser, with an identity provider that others wrote. The
// provider is at 127.0.0.1 and the console at localhost, so they are different sites.

const CLIENT_ID = 'console'
const CLIENT_SECRET = 'only-for-tests-0123456789abcdef'
const GROUPS: Readonly<Record<string, readonly string[]>> = { ada: ['platform'], guest: ['visitors'] }

/** The settings of the console for this provider. */
const toSettings = (issuer: string) => ({
  COUNTERSIGN_CONSOLE_OIDC_ISSUER: issuer,
  COUNTERSIGN_CONSOLE_OIDC_CLIENT_ID: CLIENT_ID,
  COUNTERSIGN_CONSOLE_OIDC_CLIENT_SECRET: CLIENT_SECRET,
  COUNTERSIGN_CONSOLE_OIDC_NAME: 'Example ID',
  COUNTERSIGN_CONSOLE_OIDC_SCOPE: 'openid profile groups',
  COUNTERSIGN_CONSOLE_OIDC_ROLES: 'platform=all:operator',
})

describe.skipIf(!hasChromium)('sign-in with an identity provider', () => {
  let server: Server
  let issuer: string
  let harness: Harness
  beforeAll(async () => {
    server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    harness = await openHarness({
      env: toSettings(issuer),
    })
    const provider = await createProvider(issuer, [harness.url], harness.service.url)
    server.on('request', provider.callback())
  })
  afterAll(async () => {
    await harness?.close()
    server?.close()
    server?.closeAllConnections()
  })

  const signInAt = (page: Page, name: string) => signInAtProvider(page, issuer, name, harness.url)
  const readSession = (page: Page) =>
    page.evaluate(async () => {
      const answer = await fetch('/console/session')
      const body = (await answer.json()) as Readonly<Record<string, string>>
      return { status: answer.status, body }
    })

  test('the button leads to the provider and back to the page; a logout there ends the session', {
    tags: 'long',
  }, async () => {
    const context = await harness.browser.newContext()
    const page = await context.newPage()
    const wanted = `${harness.url}/console/sites/${harness.siteId}/verifiers`
    await page.goto(wanted)
    await clickOnPhone(page, page.getByRole('link', { name: 'Continue with Example ID' }))
    await signInAt(page, 'ada')
    await page.locator('nav.rail').waitFor()
    expect(page.url()).toBe(wanted)
    const { status, body } = await readSession(page)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      name: 'Account ada',
      door: 'oidc',
      roles: [{ site_id: null, role: 'operator' }],
    })
    expect(await page.evaluate('document.cookie')).toBe('')
    const cookies = (await context.cookies(harness.url)).map(({ name, sameSite, httpOnly }) => [
      name.replace(/-\d+$/, ''),
      sameSite,
      httpOnly,
    ])
    expect(cookies).toEqual([['countersign-console', 'Strict', true]])

    // Step-up: the provider asks for the password again, although it knows the browser.
    await page.goto(`${harness.url}/console/oidc/start?step_up=1&return=/console`)
    await signInAt(page, 'ada')
    const confirmed = (await readSession(page)).body
    expect(confirmed.person_id).toBe(body.person_id)
    expect(Date.parse(confirmed.elevated_until ?? '')).toBeGreaterThan(Date.now() + 200_000)

    const tab = await context.newPage()
    await tab.goto(`${issuer}/session/end`)
    await tab.locator('button[value=yes]').click()
    await expect.poll(async () => (await readSession(page)).status).toBe(401)
    await context.close()
  })

  test('an account without a group that has a role sees why, and gets no session', {
    tags: 'long',
  }, async () => {
    const context = await harness.browser.newContext()
    const page = await context.newPage()
    await page.goto(`${harness.url}/console`)
    await page.getByRole('link', { name: 'Continue with Example ID' }).click()
    await signInAt(page, 'guest')
    await page.getByRole('heading', { name: 'No access to the console' }).waitFor()
    expect(await context.cookies(harness.url)).toEqual([])
    await page.getByRole('link', { name: 'Back to the sign-in page' }).click()
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
    await context.close()
  })
})

// Behind a balancer, any node may get any request of a sign-in.
describe.skipIf(!hasChromium)('sign-in with an identity provider, at two nodes on PostgreSQL', () => {
  let server: Server
  let balancer: Server
  let issuer: string
  let url: string
  let harness: Harness
  /** The requests that the second node gets. */
  let isForSecond: (path: string) => boolean = () => false
  const seen: (readonly [node: 'first' | 'second', path: string])[] = []

  beforeAll(async () => {
    server = createServer()
    balancer = createServer((request, response) => {
      const path = new URL(request.url ?? '/', url).pathname
      const isSecond = isForSecond(path)
      seen.push([isSecond ? 'second' : 'first', path])
      const target = new URL((isSecond ? harness.secondUrl : harness.url) ?? '')
      const { method, url: asked, headers } = request
      const passed = sendRequest(
        { host: '127.0.0.1', port: target.port, method, path: asked, headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
          answer.pipe(response)
        },
      )
      passed.on('error', () => response.destroy())
      request.pipe(passed)
    })
    for (const each of [server, balancer]) {
      each.listen(0, '127.0.0.1')
      await once(each, 'listening')
    }
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    url = `http://localhost:${(balancer.address() as AddressInfo).port}`
    harness = await openHarness({
      nodes: 2,
      env: {
        COUNTERSIGN_CONSOLE_URL: url,
        ...toSettings(issuer),
      },
    })
    const provider = await createProvider(issuer, [url], harness.service.url)
    server.on('request', provider.callback())
  })
  afterAll(async () => {
    await harness?.close()
    for (const each of [server, balancer]) {
      each?.close()
      each?.closeAllConnections()
    }
  })

  test.each([
    ['the second', (path: string) => path === '/console/oidc/callback'],
    ['the first', (path: string) => path !== '/console/oidc/callback'],
  ] as const)(
    'the callback arrives at %s node only; the session is valid at both and ends at both',
    { tags: 'long' },
    async (name, rule) => {
      isForSecond = rule
      seen.length = 0
      const context = await harness.browser.newContext({ locale: 'en' })
      onTestFinished(() => context.close())
      const page = await context.newPage()
      await page.goto(`${url}/console/sites/${harness.siteId}/verifiers`)
      await page.getByRole('link', { name: 'Continue with Example ID' }).click()
      await signInAtProvider(page, issuer, 'ada', url)
      await page.locator('nav.rail').waitFor()
      const node = name === 'the second' ? 'second' : 'first'
      const other = node === 'first' ? 'second' : 'first'
      expect(seen.filter(([, path]) => path.startsWith('/console/oidc/'))).toEqual([
        [other, '/console/oidc/start'],
        [node, '/console/oidc/callback'],
      ])
      const read = (isSecond: boolean) => {
        isForSecond = () => isSecond
        return page.evaluate<readonly [number, string]>(`(async () => {
          const answer = await fetch('/console/session')
          return [answer.status, (await answer.json()).name ?? '']
        })()`)
      }
      for (const isSecond of [false, true]) expect(await read(isSecond)).toEqual([200, 'Account ada'])
      // The provider reports its logout to the first node.
      const tab = await context.newPage()
      await tab.goto(`${issuer}/session/end`)
      await tab.locator('button[value=yes]').click()
      for (const isSecond of [false, true]) await expect.poll(async () => (await read(isSecond))[0]).toBe(401)
    },
  )
})

/** Signs in at the pages of the provider, and consents where it asks. */
async function signInAtProvider(page: Page, issuer: string, name: string, back: string): Promise<void> {
  await page.waitForURL(`${issuer}/**`)
  await page.fill('input[name=login]', name)
  await page.fill('input[name=password]', 'any')
  await page.click('button[type=submit]')
  await page.waitForLoadState()
  if (page.url().startsWith(issuer)) await page.click('button[type=submit]')
  await page.waitForURL(`${back}/**`)
}

async function createProvider(issuer: string, consoleUrls: readonly string[], serviceUrl: string) {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const key = { ...(await exportJWK(privateKey)), alg: 'RS256', kid: 'rsa-1', use: 'sig' }
  // It says that its pages and its memory are for development, which is what they are for here.
  Object.assign(console, { info: () => {}, warn: () => {} })
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: consoleUrls.map((url) => `${url}/console/oidc/callback`),
        application_type: 'native',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        backchannel_logout_uri: `${serviceUrl}/console/oidc/logout`,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['only-for-tests'] },
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
    conformIdTokenClaims: false,
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, name: `Account ${id}`, groups: GROUPS[id] ?? [] }),
    }),
    // By default it connects to no loopback address, and the service of the test is at one.
    fetch: (url: string, { dispatcher: _, ...init }: RequestInit & { dispatcher?: unknown }) =>
      fetch(url, init),
    features: { backchannelLogout: { enabled: true } },
  })
  provider.on('server_error', (_context: unknown, error: Error) => console.error(error))
  provider.on('backchannel.error', (_context: unknown, error: Error) => console.error(error))
  return provider
}
