import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { LANGUAGES } from '../../packages/console/language-pages.ts'
import { findAxeFaults, findOverflow } from '../browser/axe.ts'
import { newName } from '../browser/new-name.ts'
import {
  type Harness,
  hasChromium,
  openHarness,
  openPage,
  pictures,
  shareConsole,
  wantsAllLooks,
} from './harness.ts'
import { servicePages, sitePages } from './pages.ts'

type Words = Readonly<Record<string, string | Readonly<Record<string, string>>>>
const read = (language: string) =>
  JSON.parse(readFileSync(join(LANGUAGES, `${language}.json`), 'utf8')) as Words
const english = read('en')
const arabic = read('ar')

/** A text in Arabic, as the console says it. */
function say(key: string, values: Readonly<Record<string, string | number>> = {}): string {
  const text = arabic[key]
  if (typeof text !== 'string') throw new Error(`there is no Arabic text for ${key}`)
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]))
}

/** English texts of two words or more that Arabic says in another way, without their values. */
const ENGLISH = Object.entries(english).flatMap(([key, text]) =>
  JSON.stringify(text) === JSON.stringify(arabic[key])
    ? []
    : Object.values(typeof text === 'string' ? [text] : text)
        .flatMap((each) => each.split(/\{\w+\}/))
        .map((part) => part.trim())
        .filter((part) => /[a-z]\S* +\S*[a-z]/i.test(part)),
)
/** The same of one word, which are only found as a whole: `users` is also part of a command. */
const ENGLISH_WORDS = Object.keys(english).filter(
  (key) => /^[A-Z]?[a-z]+$/.test(key) && english[key] !== arabic[key],
)

/** What is in English on the page, among texts, labels and titles. */
async function findEnglish(page: Page): Promise<readonly string[]> {
  const { blocks, pieces } = await page.evaluate<{ blocks: string[]; pieces: string[] }>(READ)
  const texts = blocks.map(plain)
  return [
    ...ENGLISH.filter((part) => texts.some((text) => hasWords(text, part))),
    ...pieces.map(plain).filter((piece) => ENGLISH_WORDS.includes(piece)),
  ]
}

/** `API key` is not in `API key_01`. */
function hasWords(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1))
    if (!/\w/.test(text[at - 1] ?? '') && !/\w/.test(text[at + words.length] ?? '')) return true
  return false
}

/** Without the marks that keep the direction of a value. */
function plain(text: string | null): string {
  return (text ?? '').replaceAll(/[\u2066-\u2069\u200e\u200f]/g, '').trim()
}

const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 320, height: 640 }
/**
 * Pages with different parts. `accessibility.test.ts` looks for the faults of all pages on a
 * phone, in English; `npm run console-looks` does in Arabic.
 */
const ANALYZED = ['overview', 'users', 'log', 'inspector', 'site', 'one receipt', 'signed-out']
/** Riyadh is three hours ahead of UTC all year. */
const ARABIC = { locale: 'ar', timezoneId: 'Asia/Riyadh', bypassCSP: true } as const

describe.skipIf(!hasChromium)('the console in Arabic', () => {
  let harness: Harness
  let details: Readonly<Record<string, string>>
  /** Names that the service itself gave to issuers, in English. */
  let labels: readonly string[]
  beforeAll(async () => {
    harness = await openHarness()
    const guards = await harness.openGuards(['orders', 'payments', 'search'])
    const { siteId: site_id, client } = harness
    const ada = await harness.credential('ada')
    const tim = await harness.credential('tim')
    await guards.decide(tim.credential)
    await client.revokeUser({ ppid: tim.ppid, site_id, reason: 'INC-4470' }, { waitSeconds: 30 })
    await client.startDrill({ site_id })
    await client.createKey({ site_id, permissions: ['feed:read'], label: 'Payments' })
    const { items: verifiers } = await client.listVerifiers({ site_id })
    const { items: issuers } = await client.listIssuers({ site_id })
    labels = issuers.flatMap(({ label }) => label ?? [])
    const seq = await vi.waitFor(async () => {
      const { items } = await client.listReceipts({ site_id })
      const found = items.find(({ kind }) => kind === 'user.revoked')
      if (found === undefined) throw new Error('there is no receipt yet')
      return found.seq
    })
    details = {
      'one user': `users/${encodeURIComponent(ada.ppid)}`,
      'a revoked user': `users/${encodeURIComponent(tim.ppid)}`,
      'one credential': `credentials/${ada.id}`,
      'one verifier': `verifiers/${verifiers[0]?.instance_id}`,
      'one receipt': `receipts/${seq}`,
      'one entry': `log/${seq}`,
      'one issuer': `issuers/${encodeURIComponent(issuers[0]?.issuer ?? '')}`,
    }
  })
  afterAll(() => harness?.close())

  /** All that T29 asks of a page. */
  async function check(page: Page, name: string): Promise<void> {
    await page.locator('#content [aria-busy=true]').waitFor({ state: 'detached' })
    await page.getByText(say('Reading the log…')).first().waitFor({ state: 'detached' })
    await page.emulateMedia({ reducedMotion: 'reduce' })
    expect(await readDirection(page), name).toEqual({ lang: 'ar', dir: 'rtl', shown: 'rtl' })
    await pictures(page, `ar-${name}`)
    const texts = (await findEnglish(page)).filter((text) => !labels.includes(text))
    expect(texts, `${name} in English`).toEqual([])
    for (const viewport of [DESKTOP, PHONE]) {
      await page.setViewportSize(viewport)
      expect(await findOverflow(page), `${name} ${viewport.width} px`).toBe(0)
      expect(await page.evaluate(OUTSIDE), `${name} ${viewport.width} px`).toEqual([])
      if (wantsAllLooks || (viewport === PHONE && ANALYZED.includes(name)))
        expect(await findAxeFaults(page, 'all'), `${name} ${viewport.width} px`).toEqual([])
    }
    expect(await page.evaluate(CODE_DIRECTIONS), `${name}: ids and commands`).not.toContain('rtl')
  }

  const openShared = shareConsole(() => harness, ARABIC)
  const readDirection = (page: Page) => page.evaluate<{ lang: string; dir: string; shown: string }>(DIRECTION)

  test.each(sitePages)('T29: %s is Arabic, from right to left, and fits', { tags: 'long' }, async (name) => {
    const { page, visit } = await openShared()
    await page.setViewportSize(DESKTOP)
    await visit(name)
    await check(page, name)
  })

  test.each(servicePages)('T29: the page %s of the whole service, too', { tags: 'long' }, async (name) => {
    const { page, visit } = await openShared()
    await page.setViewportSize(DESKTOP)
    await visit({ ofService: name })
    await check(page, `service-${name}`)
  })

  test('T29: pages about one thing, too', { tags: 'long' }, async () => {
    const { page, visit } = await openShared()
    for (const [name, path] of Object.entries(details)) {
      await page.setViewportSize(DESKTOP)
      await visit(path)
      await check(page, name)
    }
  })

  test('T29: the page of a person who is not signed in, too', { tags: 'long' }, async () => {
    const { page } = await openPage(harness.browser, [harness.url], ARABIC)
    await page.goto(`${harness.url}/console`)
    await page.locator('h1').first().waitFor()
    await check(page, 'signed-out')
  })

  test('T29: exact times are in UTC and in local time', async () => {
    const { page, visit } = await openShared()
    await page.setViewportSize(DESKTOP)
    await visit('overview')
    await visit(String(details['one receipt']))
    const time = page.locator('.paper time').first()
    await time.waitFor()
    const at = new Date((await time.getAttribute('datetime')) ?? '')
    const local = new Date(at.getTime() + 3 * 3_600_000).toISOString().slice(11, 19)
    const shown = plain(await time.textContent())
    expect(shown).toContain(at.toISOString().slice(11, 23))
    expect(shown).toContain('UTC')
    expect(shown).toContain(local)
  })

  test('T29: a user is revoked with the keyboard alone, and the receipt fills up', {
    tags: 'long',
  }, async () => {
    const { page } = await harness.openConsole({ ...ARABIC, role: 'responder' })
    await page.locator('.rail .count').waitFor()
    const dana = newName('dana')
    const { ppid } = await harness.credential(dana)
    await page.keyboard.press('Control+k')
    await page.getByLabel(say('User name, id, page or action')).waitFor()
    await page.keyboard.type(dana)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: say('Revoke access') }).waitFor()
    const sheet = page.locator('.sheet[open]')
    await sheet.locator('.counts dd:not(:has(.block))').first().waitFor()
    await pictures(page, 'ar-revoke-preview')
    expect(await findEnglish(page), 'the preview').toEqual([])
    expect(await findAxeFaults(page, 'all'), 'the preview').toEqual([])
    // The sheet is at the end of a line: at the left.
    expect(await sheet.evaluate((each) => each.getBoundingClientRect().left)).toBe(0)
    await page.keyboard.type('سُرق الحاسوب، INC-4471')
    await page.keyboard.press('Enter')
    const verdict = sheet.locator('.verdict')
    await expect
      .poll(async () => plain(await verdict.textContent()))
      .toContain(say('{done} of {all}', { done: 3, all: 3 }))
    await sheet.locator('.seal.proven').waitFor()
    await sheet.locator('.signature').waitFor()
    await pictures(page, 'ar-revoke-receipt')
    expect(await findEnglish(page), 'the receipt').toEqual([])
    expect(await findAxeFaults(page, 'all'), 'the receipt').toEqual([])
    await page.setViewportSize(PHONE)
    expect(await findOverflow(page)).toBe(0)
    expect(await page.evaluate(OUTSIDE)).toEqual([])
    const { siteId: site_id, client } = harness
    expect((await client.getUser({ site_id, ppid })).status).toBe('revoked')
  })

  test('T29: shortcuts work on an Arabic keyboard', async () => {
    const { page, visit } = await openShared()
    await page.setViewportSize(DESKTOP)
    await visit('overview')
    await page.locator('.rail .count').waitFor()
    const press = (key: string, code: string, ctrlKey = false) =>
      page.evaluate(
        `document.body.dispatchEvent(new KeyboardEvent('keydown', ${JSON.stringify({ key, code, ctrlKey, bubbles: true })}))`,
      )
    await press('ن', 'KeyK', true)
    await page.locator('.palette[open]').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('.palette[open]').count()).toBe(0)
    // The same letter at another place is no shortcut.
    await press('ق', 'Semicolon')
    expect(await page.locator('.sheet[open]').count()).toBe(0)
    await press('ق', 'KeyR')
    await page.getByRole('dialog', { name: say('Revoke access') }).waitFor()
  })

  test('A350: a hostile Accept-Language is rejected or answered in English', async () => {
    const ask = (field: string) => sendRaw(harness.url, `Accept-Language: ${field}`)
    expect(await ask('ar')).toMatch(/^HTTP\/1\.1 200 .*content-language: ar\r\n/is)
    expect(await ask('ar\0')).toMatch(/^HTTP\/1\.1 400 /)
    expect(await ask(`ar${' '.repeat(100_000)}`)).toMatch(/^HTTP\/1\.1 431 /)
    for (const field of ['../../etc/passwd', 'ar/../en', '__proto__', 'ar;q=2', 'de,'.repeat(2000)])
      expect(await ask(field), field).toMatch(/^HTTP\/1\.1 200 .*content-language: en\r\n/is)
    // Several fields are one list.
    expect(await ask('de\r\nAccept-Language: ar')).toMatch(/content-language: ar\r\n/i)
    expect(await ask(`de${'\r\nAccept-Language: ar'.repeat(300)}`)).toMatch(/content-language: en\r\n/i)
  })

  test('A351, A352: answers differ in their language only, and nothing in them can be mixed or run', async () => {
    const ask = async (lang: string) => {
      const answer = await fetch(`${harness.url}/console`, { headers: { 'accept-language': lang } })
      const { date, ...headers } = Object.fromEntries(answer.headers)
      return { headers, body: await answer.text() }
    }
    const [inArabic, inEnglish] = await Promise.all([ask('ar'), ask('en')])
    expect(inArabic.headers).toMatchObject({ vary: 'accept-language', 'cache-control': 'no-store' })
    expect(inArabic.headers).not.toHaveProperty('etag')
    const same = ({ headers }: typeof inArabic) => ({
      ...headers,
      'content-language': '',
      'content-length': '',
      'x-request-id': '',
    })
    expect(same(inArabic)).toEqual(same(inEnglish))
    expect(inArabic.body).toContain('<html lang="ar" dir="rtl">')
    expect(inEnglish.body).toContain('<html lang="en">')
    // No script, style or handler is in the page itself, and all files are ours.
    for (const { body } of [inArabic, inEnglish]) {
      expect(body).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|style=/)
      const addresses = [...body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)
      expect(addresses.filter((address) => !address?.startsWith('/console/assets/'))).toEqual([])
    }
  })

  test('T29: control arm: in English the page is from left to right, and its texts are found', async () => {
    const { page } = await harness.openConsole({ locale: 'en', page: 'verifiers' })
    expect(await readDirection(page)).toEqual({ lang: 'en', dir: '', shown: 'ltr' })
    const found = await findEnglish(page)
    expect(found).toContain('Verifiers')
    expect(found).toContain('Search users, ids, pages and actions')
    await page.evaluate(`document.querySelector('h1').style.cssText = 'position: relative; left: 9999px'`)
    expect(await page.evaluate(OUTSIDE)).not.toEqual([])
  })
})

/** One request for the page of the console, written byte by byte. Resolves to the whole answer. */
function sendRaw(url: string, lines: string): Promise<string> {
  const { hostname, port, host } = new URL(url)
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET /console HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${lines}\r\n\r\n`),
    )
    socket.setEncoding('utf8')
    socket.on('data', (part) => (answer += part)).on('close', () => resolve(answer))
    socket.on('error', (fault) => (answer === '' ? reject(fault) : resolve(answer)))
  })
}

/** Runs in the page. */
const DIRECTION = `({
  lang: document.documentElement.lang,
  dir: document.documentElement.dir,
  shown: getComputedStyle(document.body).direction,
})`

/** Runs in the page: texts and labels that people read, without commands and ids. */
const READ = `(() => {
  const isShown = (each) => each.checkVisibility() && each.closest('code, pre, kbd, noscript, script, option') === null
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const pieces = []
  while (walker.nextNode()) if (isShown(walker.currentNode.parentElement)) pieces.push(walker.currentNode.data)
  const labels = [...document.querySelectorAll('[aria-label], [title], [placeholder]')].filter(isShown)
    .flatMap((each) => ['aria-label', 'title', 'placeholder'].map((name) => each.getAttribute(name) ?? ''))
  return { blocks: [document.body.innerText, document.title, ...pieces, ...labels], pieces: [...pieces, ...labels] }
})()`

/** Runs in the page: what lies beside the window, and is in nothing that scrolls or cuts. */
const OUTSIDE = `[...document.body.querySelectorAll('*')].filter((each) => {
  const { left, right, width } = each.getBoundingClientRect()
  if (width < 2 || !each.checkVisibility() || (left > -2 && right < innerWidth + 2)) return false
  for (let above = each.parentElement; above !== document.documentElement; above = above.parentElement)
    if (getComputedStyle(above).overflowX !== 'visible') return false
  return true
}).map((each) => each.outerHTML.slice(0, 120))`

/** Runs in the page. */
const CODE_DIRECTIONS = `[...document.querySelectorAll('code, pre, kbd')].map((each) => getComputedStyle(each).direction)`
