import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ConsoleRole } from '@countersign/core/contract'
import { type Client, createClient } from '@countersign/sdk'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, expect, onTestFailed, onTestFinished, type RunnerTestCase, TestRunner } from 'vitest'
import { buildConsole } from '../../packages/service/src/development/build-console.ts'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { findAxeFaults } from '../browser/axe.ts'
import { findChromium, openChromium, WAIT_MS_MAX, wantsPictures } from '../browser/chromium.ts'
import {
  type ContextPool,
  createContextPool,
  type PooledContext,
  type PooledOptions,
} from '../browser/context-pool.ts'
import {
  cleanUp,
  createHome,
  type ServiceHome,
  type ServiceProcess,
  startFurnished,
} from '../process/service-process.ts'
import { startTwoNodes } from '../process/two-nodes.ts'
import { type GuardOptions, type GuardProcess, startGuards } from './guards.ts'

/** Tests of the console are skipped without a browser: `describe.skipIf(!hasChromium)`. */
const chromium = findChromium()
export const hasChromium = chromium !== undefined

/** A service with a demo site, its guards and a browser. One for each test file. */
export interface Harness {
  /** Where pages are opened: at `localhost`, because passkeys need the name of a host. */
  readonly url: string
  /** The second node. Undefined when there is one node only. */
  readonly secondUrl: string | undefined
  readonly home: ServiceHome
  readonly service: ServiceProcess
  readonly dev: DevFile
  readonly siteId: string
  /** With a key of the site that has every permission. */
  readonly client: Client
  readonly operator: Client
  readonly browser: Browser
  /** Moves the clocks of the service and of the guards ahead. One node only. */
  passTime(ms: number): Promise<void>
  /** Issues a credential to a user of the site. */
  credential(
    userRef: string,
    more?: object,
  ): Promise<{ readonly credential: object; readonly ppid: string; readonly id: string }>
  /**
   * One process with a guard for each name. It ends with the test file at the latest, and with a
   * test that fails, which then leaves no verifier behind for its second try.
   */
  openGuards(names: readonly string[], options?: GuardOptions): Promise<GuardProcess>
  /** The person with this role at the site, who is added when the role is first used. */
  person(role: ConsoleRole): Promise<string>
  /** A one-time link that signs the person in. */
  link(personId: string): Promise<string>
  /** A browser of its own in which that role is signed in. Only in a test. */
  openConsole(options?: OpenConsoleOptions): Promise<ConsolePage>
  close(): Promise<void>
}

export interface HarnessOptions {
  /** Two nodes share one PostgreSQL. One node has SQLite. Default: 1 */
  readonly nodes?: 1 | 2
  /** The settings of the development start, which may send webhooks to this machine: one node. */
  readonly isDevelopment?: boolean
  /** More settings of the service, on each node. */
  readonly env?: Readonly<Record<string, string>>
}

interface OpenConsoleOptions extends PooledOptions {
  /** Default: `operator`. */
  readonly role?: ConsoleRole
  /** Another person than the one with that role. */
  readonly personId?: string
  /** The page of the site to open: `verifiers`, `log?kind=…`. Default: where a sign-in leads. */
  readonly page?: string
  /** It stays open after the test. Only for `shareConsole`. */
  readonly isShared?: boolean
}

export interface ConsolePage {
  readonly context: BrowserContext
  readonly page: Page
  readonly personId: string
  /**
   * Errors of scripts, lines in the console of the browser, violations of the content security
   * policy and requests to other origins. The test fails unless it is empty at its end.
   */
  readonly complaints: string[]
  /** Opens a page of the site by its name in the address. */
  open(name: string): Promise<void>
  /** Goes to another page as a link of the console does, which loads nothing again. */
  visit(page: string | { readonly ofService: string }): Promise<void>
}

export async function openHarness({
  nodes = 1,
  isDevelopment = false,
  env = {},
}: HarnessOptions = {}): Promise<Harness> {
  if (chromium === undefined) throw new Error('there is no Chromium: skip these tests with hasChromium')
  if (!(await buildConsole())) throw new Error('the console cannot be built: npx vite build packages/console')
  const { home, dev, services, passTime, closeServices } = await (nodes === 2
    ? startPair(env)
    : startOne(env, isDevelopment))
  const [service, second] = services as [ServiceProcess, ServiceProcess?]
  const toPageUrl = (url: string) => url.replace('//127.0.0.1:', '//localhost:')
  const url = toPageUrl(service.url)
  const secondUrl = second && toPageUrl(second.url)
  const client = createClient({ baseUrl: service.url, apiKey: dev.site_key })
  const operator = createClient({ baseUrl: service.url, apiKey: dev.operator_key })
  const browser = await openChromium(chromium)
  const guards = new Set<GuardProcess>()
  let passedMs = 0
  const people = new Map<ConsoleRole, Promise<string>>()
  const siteId = dev.site_id

  const addPerson = async (role: ConsoleRole): Promise<string> => {
    const roles = [role === 'operator' ? { site_id: null, role } : { site_id: siteId, role }]
    return (await operator.createPerson({ name: NAMES[role], roles })).person_id
  }
  /** Receipts expect verifiers that were killed, unless they are retired. */
  const retireGone = async (): Promise<void> => {
    const { items } = await client.listVerifiers({ site_id: siteId, limit: 200 })
    for (const { instance_id, state } of items)
      if (instance_id !== null && state !== 'connected')
        await client.dismissVerifier({ site_id: siteId, instance_id }).catch(() => {})
  }
  const harness: Harness = {
    url,
    secondUrl,
    home,
    service,
    dev,
    siteId,
    client,
    operator,
    browser,
    async passTime(ms) {
      passedMs += ms
      for (const each of guards) each.passTime(ms)
      await passTime(ms)
    },
    async credential(userRef, more = {}) {
      const issued = await client.issueCredential({
        site_id: siteId,
        user_ref: userRef,
        scope: ['orders:read'],
        ...more,
      })
      return { credential: issued.credential, ppid: issued.ppid, id: issued.credential_id }
    },
    async openGuards(names, options) {
      const connection = { baseUrl: service.url, siteId, apiKey: dev.site_key, names, passedMs }
      const opened = await startGuards(connection, options)
      guards.add(opened)
      if (TestRunner.getCurrentTest() !== undefined)
        onTestFailed(async () => {
          await opened.close().catch(() => opened.kill())
          await retireGone()
        })
      return opened
    },
    person(role) {
      const person = people.get(role) ?? addPerson(role)
      people.set(role, person)
      return person
    },
    async link(person_id) {
      return toPageUrl((await operator.createConsoleLink({ person_id })).url)
    },
    async openConsole({ role = 'operator', personId: given, page: name, isShared = false, ...options } = {}) {
      const personId = given ?? (await harness.person(role))
      const origins = [url, secondUrl].filter((origin) => origin !== undefined)
      const opened = await (isShared ? openRecorded : openPage)(browser, origins, options)
      await signIn(opened.context, url, await harness.link(personId))
      const console: ConsolePage = {
        ...opened,
        personId,
        async open(name) {
          await opened.page.goto(`${url}/console/sites/${siteId}/${name}`)
          await opened.page.locator('#content h1').first().waitFor()
        },
        async visit(page) {
          const path = typeof page === 'string' ? `sites/${siteId}/${page}` : page.ofService
          await followLink(opened.page, `/console/${path}`)
        },
      }
      if (name !== undefined) await console.open(name)
      else {
        await opened.page.goto(`${url}/console`)
        await opened.page.locator('header.top').waitFor()
      }
      return console
    },
    async close() {
      await browser.close()
      await Promise.all([...guards].map((each) => each.kill()))
      await closeServices()
    },
  }
  return harness
}

/** Signs in as the page of a link does. To load that page and then another takes twice as long. */
export async function signIn(context: BrowserContext, url: string, address: string): Promise<void> {
  const link = new URLSearchParams(new URL(address).hash.slice(1)).get('link')
  const answer = await context.request.post(`${url}/console/session`, {
    headers: { origin: url, 'countersign-console': '1' },
    data: { link },
  })
  if (answer.status() !== 201) throw new Error(`the link was not accepted: ${await answer.text()}`)
}

/**
 * Goes to another page of the console as a link does: a fifth of the work of loading it. When only
 * the query changes, the page itself decides what it draws again. The same page is loaded again if
 * it is about another thing, or if nothing changes.
 */
export async function followLink(page: Page, path: string): Promise<void> {
  const [here, next] = [new URL(page.url()), new URL(path, page.url())]
  const isSamePath = here.pathname === next.pathname
  if (here.href === next.href || (!isSamePath && toPageName(here) === toPageName(next)))
    await page.goto(next.href)
  else
    await page.evaluate(`{
      if (!${isSamePath}) for (const each of document.querySelectorAll('#content > *')) each.dataset.old = ''
      history.pushState(null, '', ${JSON.stringify(next.href)})
      dispatchEvent(new PopStateEvent('popstate'))
    }`)
  await page.locator('#content > [data-old]').first().waitFor({ state: 'detached' })
  await page.locator('#content h1').first().waitFor()
}

/** `/console/sites/<site>/users` of a user of that site, `/console/settings` of any tab. */
function toPageName({ pathname }: URL): string {
  return pathname
    .split('/')
    .slice(0, pathname.startsWith('/console/sites/') ? 5 : 3)
    .join('/')
}

const NAMES: Readonly<Record<ConsoleRole, string>> = {
  viewer: 'Vera Viewer',
  responder: 'Rosa Responder',
  issuing: 'Ivo Issuing',
  admin: 'Ada Admin',
  operator: 'Omar Operator',
}

interface Started {
  readonly home: ServiceHome
  readonly dev: DevFile
  readonly services: readonly ServiceProcess[]
  passTime(ms: number): Promise<void>
  closeServices(): Promise<void>
}

async function startOne(env: Readonly<Record<string, string>>, isDevelopment: boolean): Promise<Started> {
  const home = await createHome()
  const { dev, passTime, ...service } = await startFurnished(home, { env, isDevelopment })
  return { home, dev, services: [service], passTime, closeServices: cleanUp }
}

async function startPair(env: Readonly<Record<string, string>>): Promise<Started> {
  const { home, dev, first, second, close } = await startTwoNodes(env)
  const passTime = () => Promise.reject(new Error('the clocks of two nodes cannot be moved'))
  return { home, dev, services: [first, second], passTime, closeServices: close }
}

type RecordedPage = Pick<ConsolePage, 'context' | 'page' | 'complaints'>

/** A browser of its own, which writes down what it should not do. Only in a test. */
export async function openPage(
  browser: Browser,
  origins: readonly string[],
  options: PooledOptions = {},
): Promise<RecordedPage> {
  const { giveBack, ...opened } = await openRecorded(browser, origins, options)
  onTestFinished(async ({ task }) => {
    const check = await endTest(opened, task)
    await giveBack(origins, task.result?.state !== 'fail')
    check()
  })
  return opened
}

const pools = new WeakMap<Browser, ContextPool>()

function findPool(browser: Browser): ContextPool {
  const pool = pools.get(browser) ?? createContextPool(browser, prepareContext)
  pools.set(browser, pool)
  return pool
}

async function prepareContext(context: BrowserContext): Promise<void> {
  context.setDefaultTimeout(WAIT_MS_MAX)
  await context.addInitScript(`document.addEventListener('securitypolicyviolation', (event) => {
    console.error('policy violated: ' + event.violatedDirective + ' by ' + event.blockedURI + ' ' + event.sample)
  })`)
}

/**
 * One signed-in browser for many tests, because to open one and to sign in costs more than most
 * pages do. With the name of a page, it is at that page. The test after one that failed gets a new
 * one.
 */
export function shareConsole(
  harness: () => Harness,
  options: OpenConsoleOptions,
): (name?: string) => Promise<ConsolePage> {
  let shared: ConsolePage | undefined
  afterAll(() => shared?.context.close())
  return async (name) => {
    const before = shared
    const page = name === undefined ? {} : { page: name }
    const opened = before ?? (await harness().openConsole({ ...options, ...page, isShared: true }))
    shared = opened
    if (before !== undefined && name !== undefined) {
      // A dialog stays open when only the query of its page changes.
      const isCovered = (await opened.page.locator('dialog[open]').count()) > 0
      await (isCovered ? opened.open(name) : opened.visit(name))
    }
    onTestFinished(async ({ task }) => {
      await opened.page.unrouteAll({ behavior: 'ignoreErrors' })
      const check = await endTest(opened, task)
      if (task.result?.state === 'fail') {
        shared = undefined
        await opened.context.close()
      }
      check()
    })
    return opened
  }
}

async function openRecorded(
  browser: Browser,
  origins: readonly string[],
  options: PooledOptions,
): Promise<RecordedPage & PooledContext> {
  const pooled = await findPool(browser).open({
    locale: 'en',
    timezoneId: 'UTC',
    viewport: { width: 1280, height: 800 },
    // What moves is drawn again and again, and a click waits for its end.
    reducedMotion: 'reduce',
    ...options,
  })
  const { context } = pooled
  const complaints: string[] = []
  context.on('weberror', (error) => complaints.push(`error: ${error.error().message}`))
  context.on('console', (message) => {
    // The browser also writes a line for every answer that is not a success.
    if (['error', 'warning'].includes(message.type()) && !/Failed to load resource/.test(message.text()))
      complaints.push(`console: ${message.text()}`)
  })
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol !== 'blob:' && !origins.includes(origin))
      complaints.push(`request to another origin: ${request.url()}`)
  })
  return { ...pooled, complaints }
}

/** Looks at what the pages did in this test. The function it resolves to fails the test for it. */
async function endTest(
  { context, page, complaints }: RecordedPage,
  task: Readonly<RunnerTestCase>,
): Promise<() => void> {
  if (task.result?.state === 'fail') await savePicture(page, `failed ${task.name}`).catch(() => {})
  const stored = await findStored(context).catch(() => [])
  return () => {
    expect(complaints.splice(0)).toEqual([])
    // T12: nothing secret can be in there, after whatever the test has done.
    expect(stored.filter((name) => !STORED_NAMES.includes(name))).toEqual([])
  }
}

/** `CONSOLE_LOOKS=all`: every page in every look, for `npm run console-looks`. */
export const wantsAllLooks = process.env.CONSOLE_LOOKS === 'all'

const STORED_NAMES = ['countersign-theme', 'countersign.single-keys']

/** The names of everything that the pages of a browser have stored, except cookies. */
async function findStored(context: BrowserContext): Promise<readonly string[]> {
  const { origins } = await context.storageState({ indexedDB: true })
  const kept = origins.flatMap(({ localStorage, indexedDB = [] }: StoredAtOrigin) =>
    [...localStorage, ...indexedDB].map(({ name }) => name),
  )
  const ofTabs = await Promise.all(
    context
      .pages()
      .filter((page) => page.url() !== 'about:blank')
      .map((page) => page.evaluate<string[]>('Object.keys(sessionStorage)')),
  )
  return [...kept, ...ofTabs.flat()]
}

interface StoredAtOrigin {
  readonly localStorage: readonly { readonly name: string }[]
  readonly indexedDB?: readonly { readonly name: string }[]
}

const PICTURES = join(import.meta.dirname, 'screenshots')

/** A picture of the whole page with `PICTURES=1`, for people to look at. The folder is not kept. */
export async function picture(page: Page, name: string): Promise<void> {
  if (wantsPictures) await savePicture(page, name)
}

async function savePicture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true })
  const file = `${name.replaceAll(/[^\w.-]+/g, '-').slice(0, 100)}.png`
  await page.screenshot({ path: join(PICTURES, file), fullPage: true })
}

/** The same in three widths, light and dark. */
export async function pictures(page: Page, name: string): Promise<void> {
  if (!wantsPictures) return
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of [1280, 768, 375]) {
      await page.setViewportSize({ width, height: width === 375 ? 720 : 800 })
      await picture(page, `${name}-${width}-${colorScheme}`)
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** Clicks on a narrow screen, where it must be in sight as well; then the page is wide again. */
export async function clickOnPhone(page: Page, target: Locator): Promise<void> {
  await page.setViewportSize({ width: 375, height: 720 })
  await target.click()
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** Fails when axe finds a fault, in light or dark. Open the console with `bypassCSP: true`. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect(await findAxeFaults(page, colorScheme === 'light' ? 'all' : 'colors'), colorScheme).toEqual([])
  }
  await page.emulateMedia({ colorScheme: 'light' })
}
