import { badge, box, dot, heading, line, NARROW, type Picture, panel, text, toSvg, WIDE } from './svg.ts'

const TITLE = 'How a signing key changes'
const DESCRIPTION =
  'Two time lines. Without an interruption, in green: the old key signs. 1. The new key is published, and both keys verify. 2. The new key signs. 3. The old key is retired: what it signed before stays valid until it expires, and nothing that it signs later. 4. The last credential of the old key expires. After a leak, in red: the key is marked as compromised. From that moment nothing that it ever signed is valid, permanently. New credentials are signed with another key.'

const STEPS = ['publish new key', 'sign with it', 'retire old key', 'expired'] as const
const SHORT = [
  'publish the new key',
  'sign with it',
  'retire the old key',
  'the last old credential expires',
] as const

type Look = 'signs' | 'verifies' | 'invalid'

/** A part of a key's life, with its name inside. */
function drawLife(x: number, y: number, until: number, look: Look, label: string): string {
  const colors = {
    signs: { fill: 'green', ink: 'on-green' },
    verifies: { fill: 'green-soft', stroke: 'green', ink: 'green' },
    invalid: { fill: 'red-soft', stroke: 'red', ink: 'red' },
  } as const
  const { ink, ...rest } = colors[look]
  return `${box(x, y, until - x, 30, { ...rest, radius: 6, dashed: look === 'invalid' })}${text((x + until) / 2, y + 19.5, label, { size: 12, bold: true, color: ink, anchor: 'middle' })}`
}

function drawNumber(x: number, y: number, number: number): string {
  return `${dot(x, y, 9, 'green')}${text(x, y + 4.3, String(number), { size: 12, bold: true, color: 'on-green', anchor: 'middle' })}`
}

function drawWide(): string {
  const xs = [210, 350, 480, 640] as const
  const y = 238
  return toSvg({
    ...{ width: WIDE, height: y + 188, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, WIDE, 226),
      heading(
        20,
        32,
        'Without an interruption',
        ['Old and new overlap, so there is no moment without a valid key.'],
        'green',
      ),
      ...xs.flatMap((x, i) => [
        line(`M${x} 98V202`, { color: 'edge', width: 1, dashed: true }),
        drawNumber(x, 86, i + 1),
        text(x + 15, 90, STEPS[i] ?? '', { size: 12, color: 'quiet' }),
      ]),
      text(20, 129, 'Old key', { size: 14, bold: true }),
      drawLife(100, 110, xs[2], 'signs', 'signs'),
      drawLife(xs[2] + 2, 110, xs[3], 'verifies', 'still verifies'),
      text(20, 177, 'New key', { size: 14, bold: true }),
      drawLife(xs[0], 158, xs[1], 'verifies', 'verifies'),
      drawLife(xs[1] + 2, 158, 700, 'signs', 'signs'),
      panel(y, WIDE, 188),
      heading(
        20,
        y + 32,
        'After a leak',
        ['Nothing that the key ever signed is valid any more. This is permanent.'],
        'red',
      ),
      line(`M350 ${y + 66}V${y + 164}`, { color: 'edge', width: 1, dashed: true }),
      text(20, y + 93, 'Leaked key', { size: 14, bold: true }),
      drawLife(120, y + 74, 350, 'signs', 'signs'),
      drawLife(352, y + 74, 700, 'invalid', 'nothing from it is valid'),
      badge('cross', 350, y + 89),
      text(20, y + 143, 'Other key', { size: 14, bold: true }),
      drawLife(364, y + 124, 700, 'signs', 'signs new credentials'),
    ],
  })
}

function drawNarrow(): string {
  const xs = [84, 160, 224, 300] as const
  const y = 366
  return toSvg({
    ...{ width: NARROW, height: y + 242, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, NARROW, 354),
      heading(
        16,
        32,
        'Without an interruption',
        ['Old and new overlap, so there is', 'no moment without a valid key.'],
        'green',
      ),
      ...xs.flatMap((x, i) => [
        line(`M${x} 104V244`, { color: 'edge', width: 1, dashed: true }),
        drawNumber(x, 96, i + 1),
      ]),
      text(16, 130, 'Old key', { size: 14, bold: true, halo: 'panel' }),
      drawLife(16, 138, xs[2], 'signs', 'signs'),
      drawLife(xs[2] + 2, 138, xs[3], 'verifies', 'verifies'),
      text(16, 196, 'New key', { size: 14, bold: true, halo: 'panel' }),
      drawLife(xs[0], 204, xs[1], 'verifies', 'verifies'),
      drawLife(xs[1] + 2, 204, 324, 'signs', 'signs'),
      ...SHORT.flatMap((step, i) => [
        drawNumber(26, 266 + i * 24, i + 1),
        text(44, 270 + i * 24, step, { size: 12, color: 'quiet' }),
      ]),
      panel(y, NARROW, 242),
      heading(
        16,
        y + 32,
        'After a leak',
        ['Nothing that the key ever signed is', 'valid any more. This is permanent.'],
        'red',
      ),
      line(`M120 ${y + 84}V${y + 220}`, { color: 'edge', width: 1, dashed: true }),
      text(16, y + 102, 'Leaked key', { size: 14, bold: true, halo: 'panel' }),
      drawLife(16, y + 112, 120, 'signs', 'signs'),
      drawLife(122, y + 112, 324, 'invalid', 'nothing is valid'),
      badge('cross', 120, y + 127),
      text(16, y + 170, 'Other key', { size: 14, bold: true, halo: 'panel' }),
      drawLife(134, y + 180, 324, 'signs', 'signs new ones'),
    ],
  })
}

export function drawKeyRotation(): Picture {
  return { wide: drawWide(), narrow: drawNarrow() }
}
