import { arrow, box, heading, NARROW, node, type Picture, panel, pill, text, toSvg, WIDE } from './svg.ts'

const TITLE = 'A chain of delegated credentials'
const DESCRIPTION =
  'Two rows. Delegate, in green: Alice has a credential with the scopes orders:read, orders:write and refunds:write for 30 days. She delegates orders:read and orders:write for 8 hours to a planner agent, which delegates orders:read for 10 minutes to a reader agent. The guard verifies every link and accepts the reader for orders:read. Revoke one link, in red: the credential of the planner is revoked. The reader is rejected with it, and Alice stays active.'

const SCOPES = ['orders:read', 'orders:write', 'refunds:write'] as const
const LINKS = [
  { name: 'Alice', about: 'root credential', scopes: 3, expires: '30 days' },
  { name: 'Planner agent', about: 'from Alice', scopes: 2, expires: '8 hours' },
  { name: 'Reader agent', about: 'from the planner', scopes: 1, expires: '10 minutes' },
] as const

const LESS = ['Each link has fewer permissions and a shorter life.', 'No call to Countersign is needed.']
const REVOKED = ['Everything below it is rejected with it.', 'Everything above it stays valid.']

/** A permission, or the empty place of one that was not passed on. */
function drawScope(x: number, y: number, width: number, scope: string | undefined): string {
  if (scope === undefined) return box(x, y, width, 24, { stroke: 'edge', radius: 6, dashed: true })
  return `${box(x, y, width, 24, { fill: 'panel', stroke: 'line', radius: 6 })}${text(x + 9, y + 16.5, scope, { size: 12, mono: true })}`
}

function drawWide(): string {
  const [width, gap] = [146, 22]
  const x = (i: number) => 20 + i * (width + gap + 10)
  const y = 278
  return toSvg({
    ...{ width: WIDE, height: y + 170, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, WIDE, 266),
      heading(20, 32, 'Delegate', [LESS.join(' ')], 'green'),
      ...LINKS.flatMap(({ name, about, scopes, expires }, i) => [
        box(x(i), 72, width, 174, { fill: 'sunken', stroke: 'edge' }),
        text(x(i) + 12, 94, name, { size: 14, bold: true }),
        text(x(i) + 12, 112, about, { size: 12, color: 'quiet' }),
        ...SCOPES.map((scope, n) =>
          drawScope(x(i) + 10, 124 + n * 29, width - 20, n < scopes ? scope : undefined),
        ),
        text(x(i) + 12, 233, `for ${expires}`, { size: 12, color: 'quiet' }),
        arrow(`M${x(i) + width + 5} 159H${x(i + 1) - 6}`, 'green'),
      ]),
      box(x(3), 72, width, 174, { fill: 'green-soft', stroke: 'green' }),
      text(x(3) + 12, 94, 'Guard', { size: 14, bold: true, color: 'green' }),
      text(x(3) + 12, 112, 'verifies every link', { size: 12, color: 'quiet' }),
      drawScope(x(3) + 10, 124, width - 20, SCOPES[0]),
      pill(x(3) + 12, 222, 68, '200', 'accepted'),
      panel(y, WIDE, 170),
      heading(20, y + 32, 'Revoke one link', [REVOKED.join(' ')], 'red'),
      node(x(0), y + 76, width, 72, {
        name: 'Alice',
        fill: 'green-soft',
        stroke: 'green',
        about: ['active'],
        anchor: 'start',
      }),
      arrow(`M${x(0) + width + 5} ${y + 112}H${x(1) - 6}`, 'green'),
      node(x(1), y + 76, width, 72, {
        name: 'Planner agent',
        fill: 'red-soft',
        stroke: 'red',
        about: ['revoked'],
        anchor: 'start',
      }),
      arrow(`M${x(1) + width + 5} ${y + 112}H${x(2) - 6}`, 'red', true),
      node(x(2), y + 76, width, 72, {
        name: 'Reader agent',
        fill: 'red-soft',
        stroke: 'red',
        about: ['rejected with it'],
        anchor: 'start',
      }),
      arrow(`M${x(2) + width + 5} ${y + 112}H${x(3) - 6}`, 'red', true),
      box(x(3), y + 76, width, 72, { fill: 'red-soft', stroke: 'red' }),
      text(x(3) + 14, y + 101, 'Guard', { size: 14, bold: true }),
      pill(x(3) + 12, y + 126, 68, '401', 'denied'),
    ],
  })
}

function drawNarrow(): string {
  const y = 494
  const chip = (n: number) => [24, 122, 226][n] ?? 0
  const widths = [92, 98, 90]
  return toSvg({
    ...{ width: NARROW, height: y + 318, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, NARROW, 482),
      heading(16, 32, 'Delegate', ['Each link has fewer permissions', 'and a shorter life.'], 'green'),
      ...LINKS.flatMap(({ name, about, scopes, expires }, i) => {
        const top = 88 + i * 112
        return [
          box(16, top, 308, 92, { fill: 'sunken', stroke: 'edge' }),
          text(28, top + 24, name, { size: 14, bold: true }),
          text(312, top + 24, `for ${expires}`, { size: 12, color: 'quiet', anchor: 'end' }),
          text(28, top + 43, about, { size: 12, color: 'quiet' }),
          ...SCOPES.map((scope, n) =>
            n < scopes
              ? `${box(chip(n), top + 56, widths[n] ?? 0, 24, { fill: 'panel', stroke: 'line', radius: 6 })}${text(chip(n) + (widths[n] ?? 0) / 2, top + 72.5, n === 2 ? 'refunds:…' : scope, { size: 12, mono: true, anchor: 'middle' })}`
              : box(chip(n), top + 56, widths[n] ?? 0, 24, { stroke: 'edge', radius: 6, dashed: true }),
          ),
          arrow(`M44 ${top + 94}V${top + 108}`, 'green'),
        ]
      }),
      node(16, 424, 308, 44, {
        name: 'Guard',
        fill: 'green-soft',
        stroke: 'green',
        color: 'green',
        anchor: 'start',
      }),
      text(86, 451, 'verifies every link', { size: 12, color: 'quiet' }),
      pill(244, 446, 68, '200', 'accepted'),
      panel(y, NARROW, 318),
      heading(
        16,
        y + 32,
        'Revoke one link',
        ['Everything below it is rejected.', 'Everything above it stays valid.'],
        'red',
      ),
      ...(
        [
          ['Alice', 'active', 'green'],
          ['Planner agent', 'revoked', 'red'],
          ['Reader agent', 'rejected with it', 'red'],
        ] as const
      ).flatMap(([name, about, color], i) => {
        const top = y + 86 + i * 56
        return [
          node(16, top, 308, 40, { name, fill: `${color}-soft`, stroke: color, anchor: 'start' }),
          text(312, top + 25, about, { color, bold: true, anchor: 'end' }),
          arrow(`M44 ${top + 42}V${top + 53}`, color, i > 0),
        ]
      }),
      node(16, y + 254, 308, 44, { name: 'Guard', fill: 'red-soft', stroke: 'red', anchor: 'start' }),
      pill(244, y + 276, 68, '401', 'denied'),
    ],
  })
}

export function drawDelegation(): Picture {
  return { wide: drawWide(), narrow: drawNarrow() }
}
