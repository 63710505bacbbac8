import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drawPictures, FOLDER } from '../../scripts/draw-pictures.ts'
import { drawBenchVerify, readFigures } from '../../scripts/pictures/bench.ts'
import { type Color, PALETTE } from '../../scripts/pictures/palette.ts'
import { MEASURED } from '../../scripts/pictures/times.ts'
import { findChromium, openChromium } from './chromium.ts'

const ROOT = join(import.meta.dirname, '../..')
const chromium = findChromium()
const drawn = drawPictures()
const files = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.svg'))
  .toSorted()
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

test('the pictures of the documentation are the ones that the scripts draw', () => {
  expect(files).toEqual(Object.keys(drawn).toSorted())
  for (const name of files) expect(read(name), `draw ${name} again: npm run pictures`).toBe(drawn[name])
})

test('every picture is in a document, with a text alternative', () => {
  const documents = globSync(['*.md', 'bench/*.md', 'docs/**/*.md'], { cwd: ROOT }).map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  )
  const alternatives = new Map(
    documents
      .flatMap((text) => [...text.matchAll(/!\[([^\]]*)\]\([^)]*pictures\/([\w-]+\.svg)\)/g)])
      .map(([, alternative = '', name = '']) => [name, alternative]),
  )
  for (const name of files.filter((file) => !file.endsWith('-narrow.svg')))
    expect(alternatives.get(name)?.length ?? 0, `${name} needs an alternative of a sentence`).toBeGreaterThan(
      40,
    )
})

test.each(files)(
  '%s has a title, a description, colors of the palette and nothing from elsewhere',
  (name) => {
    const text = read(name)
    expect(/<title id="title">[^<]{10,}<\/title>\n<desc id="desc">[^<]{80,}<\/desc>/.test(text)).toBe(true)
    const colors = new Set<string>(Object.values(PALETTE).flat())
    expect(
      [...text.matchAll(/#[\da-f]{3,8}\b/g)].map(([color]) => color).filter((color) => !colors.has(color)),
    ).toEqual([])
    expect(text.replace('http://www.w3.org/2000/svg', '')).not.toMatch(
      /https?:|href|<script|<image|@import|url\((?!#)/,
    )
    const sizes = [...text.matchAll(/font-size="([\d.]+)"/g)].map(([, size]) => Number(size))
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(12)
  },
)

/** Text and the grounds that it is drawn on. */
const PAIRS: readonly (readonly [text: Color, ground: Color])[] = [
  ...(['panel', 'sunken', 'green-soft', 'red-soft', 'amber-soft'] as const).flatMap((ground) =>
    (['ink', 'quiet'] as const).map((ink) => [ink, ground] as const),
  ),
  ...(['green', 'red', 'amber', 'blue'] as const).flatMap((color) => [
    [color, 'panel'] as const,
    [color, `${color}-soft`] as const,
  ]),
  ['green', 'sunken'],
  ['red', 'sunken'],
  ['on-green', 'green'],
  ['on-red', 'red'],
]

test.each(PAIRS)('%s on %s has a contrast of 4.5 in light and in dark', (ink, ground) => {
  for (const scheme of [0, 1] as const)
    expect(contrast(PALETTE[ink][scheme], PALETTE[ground][scheme])).toBeGreaterThanOrEqual(4.5)
})

function luminance(color: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

test('the plots show the figures of the file, and other figures give another plot', () => {
  const figures = readFigures()
  const { verify } = figures.results
  const rows = verify.rows.map((row) => (row.name === 'jose' ? { ...row, ratio: 7.77 } : row))
  const other = { ...figures, results: { ...figures.results, verify: { ...verify, rows } } }
  expect(drawBenchVerify(figures).wide).toBe(drawn['bench-verify.svg'])
  expect(drawBenchVerify(other).wide).toContain('>7.77 ×</text>')
})

test('the times of connected guards are those of the measurements', () => {
  const measurements = readFileSync(join(ROOT, 'bench/README.md'), 'utf8')
  expect(measurements).toContain(`${MEASURED.medianMs} / ${MEASURED.p99Ms.toFixed(1)} ms`)
})

/**
 * Runs in the page. Faults: a box outside of the picture; text outside of it, over other text, or
 * over the edge of the smallest box that it is in.
 */
const FIND_FAULTS = `(svg) => {
  const whole = svg.viewBox.baseVal
  const boxes = [...svg.querySelectorAll('rect')].map((rect) => rect.getBBox())
  const texts = [...svg.querySelectorAll('text')].map((each) => ({ words: each.textContent, box: each.getBBox() }))
  const faults = boxes.filter((each) => each.y + each.height > whole.height).map(() => 'a box below the picture')
  for (const [i, { words, box }] of texts.entries()) {
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    const around = boxes
      .filter((each) => x > each.x && x < each.x + each.width && y > each.y && y < each.y + each.height)
      .sort((a, b) => a.width * a.height - b.width * b.height)[0] ?? whole
    if (box.x < around.x + 2 || box.x + box.width > around.x + around.width - 2) faults.push('too wide: ' + words)
    for (const other of texts.slice(i + 1))
      if (box.x < other.box.x + other.box.width && other.box.x < box.x + box.width &&
          box.y + 3 < other.box.y + other.box.height - 3 && other.box.y + 3 < box.y + box.height - 3)
        faults.push('over each other: ' + words + ' / ' + other.words)
  }
  return faults
}`

describe.skipIf(chromium === undefined)('in a real browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openChromium(chromium as string)
  })
  afterAll(() => browser.close())

  test('every picture is well-formed, and its texts fit', { tags: 'long' }, async () => {
    const page = await browser.newPage()
    const faults: string[] = []
    for (const name of files) {
      await page.goto(`data:image/svg+xml;base64,${Buffer.from(read(name)).toString('base64')}`)
      const found = await page.evaluate<string[]>(
        `document.documentElement.localName === 'svg' && document.querySelector('parsererror') === null ? (${FIND_FAULTS})(document.documentElement) : ['not well-formed']`,
      )
      faults.push(...found.map((fault) => `${name}: ${fault}`))
    }
    await page.close()
    expect(faults).toEqual([])
  })

  test('dark readers get dark grounds', async () => {
    const page = await browser.newPage({ colorScheme: 'dark' })
    await page.goto(`data:image/svg+xml;base64,${Buffer.from(read('flow.svg')).toString('base64')}`)
    const ground = await page.evaluate<string>("getComputedStyle(document.querySelector('rect')).fill")
    await page.close()
    expect(ground).toBe('rgb(24, 32, 29)')
  })
})
