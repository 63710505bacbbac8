import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from './chromium.ts'
import { openTown, type Town, type Visitor } from './town.ts'
import { claim, ready } from './walks.ts'

const chromium = findChromium()

/** How often a sign-in is measured. Once in the suite, which looks at no time. */
const RUNS = Number(process.env.SLOW_SIGN_INS ?? 1)

/** What browsers call slow 3G: 400 kbit/s and 400 ms for each request. */
const SLOW_3G = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 }

/** From the click at the site, in milliseconds. */
interface Times {
  readonly painted: number
  readonly usable: number
  readonly checked: number
}

describe.skipIf(chromium === undefined)('a sign-in on a slow network', () => {
  let town: Town
  beforeAll(async () => {
    town = await openTown(chromium as string)
  })
  afterAll(() => town?.close())

  test('is usable, and shows live statuses, with an empty cache and with a full one', {
    tags: 'long',
  }, async () => {
    const visitor = await town.visitor()
    await claim(town, visitor, 'slow')
    const measured: Record<string, Times[]> = { cold: [], warm: [] }
    for (let run = 0; run < RUNS; run += 1) {
      measured.cold?.push(await measure(visitor, true))
      measured.warm?.push(await measure(visitor, false))
    }
    for (const [cache, all] of Object.entries(measured)) {
      for (const { painted, usable, checked } of all)
        expect([painted > 0, usable >= painted, checked >= usable]).toEqual([true, true, true])
      if (process.env.SLOW_SIGN_INS !== undefined)
        console.log(cache, toMedians(all), `of ${all.length} runs`, JSON.stringify(all))
    }
  })

  async function measure({ page, context }: Visitor, isCold: boolean): Promise<Times> {
    const network = await context.newCDPSession(page)
    await network.send('Network.enable')
    await page.goto(town.site)
    if (isCold) await network.send('Network.clearBrowserCache')
    await page.addInitScript(WATCH)
    await network.send('Network.emulateNetworkConditions', SLOW_3G)
    const startedAt = await page.evaluate<number>(
      "(setTimeout(() => document.querySelector('a.countersign').click(), 0), Date.now())",
    )
    await page.waitForURL(/\/auth\/sign-in\?/)
    await ready(page)
    const seen = await readSeen(page)
    await network.detach()
    const since = (at: number) => Math.round(at - startedAt)
    return { painted: since(seen.painted), usable: since(seen.usable), checked: since(seen.checked) }
  }
})

const readSeen = (page: Page) =>
  page.evaluate<Times>(
    "({ ...seen, painted: performance.timeOrigin + performance.getEntriesByName('first-contentful-paint')[0].startTime })",
  )

/** Notes when the button can be pressed, and when the page has done all that it does first. */
const WATCH = `globalThis.seen = {}
new MutationObserver(() => {
  const button = document.getElementById('submit')
  if (button !== null && !button.disabled) seen.usable ??= Date.now()
  if (document.documentElement.dataset.ready) seen.checked ??= Date.now()
}).observe(document, { subtree: true, childList: true, attributes: true })`

function toMedians(all: readonly Times[]): Times {
  const median = (name: keyof Times) =>
    all.map((one) => one[name]).toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0
  return { painted: median('painted'), usable: median('usable'), checked: median('checked') }
}
