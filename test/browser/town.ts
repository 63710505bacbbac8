import { mkdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { openExample } from '../../examples/sign-in/app.ts'
import { type Client, createClient } from '../../packages/sdk/src/index.ts'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { expireSignIns } from '../../packages/service/test/store/expire-sign-ins.ts'
import { freePort } from '../../packages/service/test/store/postgres-server.ts'
import { createHome, type ServiceProcess, startFurnished } from '../process/service-process.ts'
import { openChromium, WAIT_MS_MAX, wantsPictures } from './chromium.ts'
import { createContextPool, type PooledOptions } from './context-pool.ts'
import { newName } from './new-name.ts'

/** A service, a site that people sign in to, and a browser: each a thing of its own, as in life. */
export interface Town {
  readonly service: ServiceProcess
  readonly dev: DevFile
  readonly client: Client
  /** Of the example site. */
  readonly site: string
  readonly siteId: string
  readonly browser: Browser
  /** A person with a browser, which is closed after the test: its pages would go on asking. */
  visitor(options?: PooledOptions): Promise<Visitor>
  /** A claim link for that user. */
  offer(userRef: string, scope?: readonly string[]): Promise<string>
  /** A credential that is bound to no key. */
  credential(
    userRef: string,
    more?: object,
  ): Promise<{ readonly credential: object; readonly ppid: string; readonly id: string }>
  /** Ends all sign-ins that are on their way, as ten minutes would. */
  expireSignIns(): void
  close(): Promise<void>
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  /** What the pages complained about. */
  readonly complaints: string[]
}

const SCREENSHOTS = join(import.meta.dirname, 'screenshots')

export async function openTown(executablePath: string): Promise<Town> {
  const home = await createHome()
  const env = { COUNTERSIGN_RATE_LIMIT_SIGN_IN_START: '1000000/1' }
  const { dev, ...service } = await startFurnished(home, { env })
  const client = createClient({ baseUrl: home.baseUrl, apiKey: dev.site_key })
  const port = await freePort()
  // Another name than the service has, so that for the browser these are two sites.
  const site = `http://localhost:${port}`
  const siteId = dev.site_id
  await client.changeSite({ site_id: siteId, name: 'Blue Door Orders', return_urls: [`${site}/callback`] })
  const example = await openExample({
    baseUrl: home.baseUrl,
    siteId,
    apiKey: dev.site_key,
    origin: site,
    scope: ['orders:read'],
  })
  await new Promise<void>((resolve) => example.listen({ port, host: 'localhost' }, resolve))
  const browser = await openChromium(executablePath)
  mkdirSync(SCREENSHOTS, { recursive: true })
  const pool = createContextPool(browser, async (context) => context.setDefaultTimeout(WAIT_MS_MAX))

  return {
    service,
    dev,
    client,
    site: `http://localhost:${(example.address() as AddressInfo).port}`,
    siteId,
    browser,
    async visitor(options = {}) {
      const { context, page, giveBack } = await pool.open({
        locale: 'en',
        timezoneId: 'UTC',
        // What moves is drawn again and again, and a click waits for its end.
        reducedMotion: 'reduce',
        ...options,
      })
      const complaints: string[] = []
      context.on('weberror', (error) => complaints.push(error.error().message))
      context.on('console', (message) => {
        // A refusal that the page shows is also a line in the console.
        if (['error', 'warning'].includes(message.type()) && !/Failed to load resource/.test(message.text()))
          complaints.push(message.text())
      })
      onTestFinished(({ task }) => giveBack([home.baseUrl, site], task.result?.state !== 'fail'))
      return { context, page, complaints }
    },
    async offer(userRef, scope = ['orders:read', 'orders:write']) {
      const user_ref = newName(userRef)
      return (await client.createOffer({ site_id: siteId, user_ref, scope: [...scope] })).offer_url
    },
    async credential(userRef, more = {}) {
      const issued = await client.issueCredential({
        site_id: siteId,
        user_ref: newName(userRef),
        scope: ['orders:read'],
        ...more,
      })
      return { credential: issued.credential, ppid: issued.ppid, id: issued.credential_id }
    },
    expireSignIns() {
      expireSignIns(home.file)
    },
    async close() {
      await browser.close()
      example.closeAllConnections()
      await new Promise((resolve) => example.close(resolve))
      await service.stop()
    },
  }
}

/** With `PICTURES=1`, for people to look at. The folder is not kept. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!wantsPictures) return
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true })
}
