import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, hasChromium, openHarness } from './harness.ts'
import { servicePages, sitePages } from './pages.ts'

const ASSETS = join(import.meta.dirname, '../../packages/console/dist/assets')

describe.skipIf(!hasChromium)('what the console loads', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
    await harness.openGuards(['orders'])
  })
  afterAll(() => harness?.close())

  test('T30: comes from its own origin, on every page', async () => {
    const { page, open, context } = await harness.openConsole()
    const origins = new Set<string>()
    context.on('request', (request) => origins.add(new URL(request.url()).origin))
    for (const name of sitePages) await open(name)
    for (const name of servicePages) {
      await page.goto(`${harness.url}/console/${name}`)
      await page.locator('#content h1').first().waitFor()
    }
    expect([...origins]).toEqual([harness.url])
  })

  test('T30: names no other origin, except as text that a person reads or a namespace', () => {
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
