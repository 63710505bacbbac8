import { describe, expect, it } from 'vitest'
import { deriveShades } from '../../src/brand/accent.ts'
import { assets } from '../../src/pages/assets.ts'
import { hostedStyle } from '../../src/pages/hosted-style.ts'

/** WCAG 2.2, written a second time. */
function contrast(a: string, b: string): number {
  const light = (hex: string) =>
    [1, 3, 5]
      .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, i) => sum + part * ([0.2126, 0.7152, 0.0722][i] ?? 0), 0)
  const [low = 0, high = 0] = [light(a), light(b)].sort((x, y) => x - y)
  return (high + 0.05) / (low + 0.05)
}

const [, lightCard = '', darkCard = ''] = /--card: light-dark\((#\w{6}), (#\w{6})\)/.exec(hostedStyle) ?? []

const every = [0, 51, 102, 153, 204, 255].flatMap((red, _i, steps) =>
  steps.flatMap((green) =>
    steps.map((blue) => [red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join('')),
  ),
)

describe('deriveShades', () => {
  it('keeps a colour that can be read already', () => {
    expect(deriveShades('0a6448')?.light.fill).toBe('#0a6448')
    expect(deriveShades('63d3a8')?.dark.fill).toBe('#63d3a8')
  })

  it('A340: every colour has shades of 4.5 : 1 against the page and its text, light and dark', () => {
    expect([lightCard, darkCard]).toEqual(['#ffffff', '#18201d'])
    for (const hex of every) {
      const shades = deriveShades(hex)
      if (shades === undefined) throw new Error(hex)
      const { light, dark } = shades
      for (const [fill, other] of [
        [light.fill, light.text],
        [light.fill, lightCard],
        [dark.fill, dark.text],
        [dark.fill, darkCard],
      ] as const)
        expect(contrast(fill, other), `${hex}: ${fill} on ${other}`).toBeGreaterThanOrEqual(4.5)
    }
    // As they were sent, most of them could not be read in one of the schemes.
    const unreadable = every.filter((hex) =>
      [lightCard, darkCard].some((card) => contrast(`#${hex}`, card) < 4.5),
    )
    expect(unreadable.length).toBeGreaterThan(every.length / 2)
  })

  it('keeps the hue', () => {
    const { light } = deriveShades('ffd400') ?? { light: { fill: '' } }
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) =>
      Number.parseInt(light.fill.slice(at, at + 2), 16),
    )
    expect(blue).toBe(0)
    expect(green / red).toBeCloseTo(0xd4 / 0xff, 1)
  })
})

describe('the style sheet of an accent', () => {
  const path = assets().accent('#0a6448')

  it('sets two properties, and says so permanently', () => {
    const answer = assets().answer(path, '')
    expect(String(answer?.body)).toMatch(
      /^:root \{ --accent: light-dark\(#0a6448, #\w{6}\); --on-accent: light-dark\(#ffffff, #\w{6}\); \}\n$/,
    )
    expect(answer).toMatchObject({
      contentType: 'text/css; charset=utf-8',
      headers: { 'cache-control': expect.stringContaining('immutable'), 'x-content-type-options': 'nosniff' },
    })
  })

  it.each([
    '0a644',
    '0a64488',
    '0A6448',
    'red',
    '0a6448;}body{background:url(https://evil.example)}',
    '0a6448)%3B',
    '../hosted',
    '',
  ])('A340: there is none for %j', (hex) => {
    expect(assets().answer(path.replace('0a6448', hex), '')).toBeUndefined()
  })
})
