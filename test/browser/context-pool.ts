import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

/** A browser of a person, with nothing in it, and a page to begin with. */
export interface PooledContext {
  readonly context: BrowserContext
  readonly page: Page
  /**
   * Forgets all that these origins have stored, closes the pages, and keeps the rest for the next
   * test. After a failure nothing is kept.
   */
  giveBack(origins: readonly string[], isClean: boolean): Promise<void>
}

export interface ContextPool {
  open(options: PooledOptions): Promise<PooledContext>
}

export interface PooledOptions extends BrowserContextOptions {
  /** For tests that move the clock of the page, which cannot be put back. */
  readonly isAlone?: boolean
}

/**
 * Contexts with the same options are used again by the next test, because a new one starts a
 * process and compiles every script again: 0.3 s of processor time. `prepare` is called for each
 * new one.
 */
export function createContextPool(
  browser: Browser,
  prepare: (context: BrowserContext) => Promise<void>,
): ContextPool {
  const free = new Map<string, Kept[]>()
  return {
    async open({ isAlone = false, ...options }) {
      const key = JSON.stringify(options)
      const kept = (isAlone ? undefined : free.get(key)?.pop()) ?? (await create(browser, options, prepare))
      const { context, blank } = kept
      return {
        context,
        page: await context.newPage(),
        async giveBack(origins, isClean) {
          // What still waits in a handler of a route would reject when its page is closed.
          await Promise.all(
            [context, ...context.pages()].map((each) => each.unrouteAll({ behavior: 'ignoreErrors' })),
          )
          if (isAlone || !isClean) return context.close()
          await Promise.all(context.pages().map((page) => (page === blank ? undefined : page.close())))
          await context.setOffline(false)
          await context.clearCookies()
          const devtools = await context.newCDPSession(blank)
          for (const origin of origins)
            await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
          await devtools.detach()
          free.set(key, [...(free.get(key) ?? []), kept])
        },
      }
    },
  }
}

interface Kept {
  readonly context: BrowserContext
  /** Without any page, the process would end. */
  readonly blank: Page
}

async function create(
  browser: Browser,
  options: BrowserContextOptions,
  prepare: (context: BrowserContext) => Promise<void>,
): Promise<Kept> {
  const context = await browser.newContext(options)
  await prepare(context)
  return { context, blank: await context.newPage() }
}
