import type { Color } from './palette.ts'
import { arrow, heading, NARROW, node, type Picture, panel, pill, text, toSvg, WIDE } from './svg.ts'

interface Part {
  readonly name: string
  readonly about: string
  /** What goes to the next part. */
  readonly passes?: string
}

interface Row {
  readonly name: string
  /** Two lines on a narrow screen, one on a wide one. */
  readonly about: readonly [string, string]
  readonly color: 'green' | 'red'
  readonly parts: readonly [Part, Part, Part]
  readonly status: string
}

interface Story {
  readonly title: string
  readonly description: string
  readonly rows: readonly Row[]
}

const OWN_TOKENS: Story = {
  title: 'Access tokens of your own provider',
  description:
    'Two rows. Access, in green: your provider signs an access token for a client, as before. The client sends it to your API, whose guard accepts it without a network call. The API answers 200. Revocation, in red: the user signs out at your provider, or is disabled. Countersign adds an entry to its log and sends it to every guard. The guard denies the same token with 401 within milliseconds, although it has not expired.',
  rows: [
    {
      ...{
        name: 'Access',
        about: ['Your provider, clients and tokens', 'stay as they are.'],
        color: 'green',
      },
      parts: [
        { name: 'Your provider', about: 'signs a JWT', passes: 'token' },
        { name: 'Client', about: 'holds the token', passes: 'request' },
        { name: 'Guard in your API', about: 'accepts it' },
      ],
      status: '200',
    },
    {
      ...{
        name: 'Revocation',
        about: ['The same token is denied,', 'long before it expires.'],
        color: 'red',
      },
      parts: [
        { name: 'Your provider', about: 'signs the user out', passes: 'signal' },
        { name: 'Countersign', about: 'adds a log entry', passes: 'entry' },
        { name: 'Guard in your API', about: 'denies it' },
      ],
      status: '401',
    },
  ],
}

const SIGNALS: Story = {
  title: 'From a logout at the provider to a denied request',
  description:
    'One row, in red. Your identity provider reports that a session or an account has ended, with one of three standards: back-channel logout, global token revocation, or pushed security events. Countersign verifies the signature and adds an entry to the log. Every guard applies the entry within milliseconds and denies the access tokens and credentials of the user with 401.',
  rows: [
    {
      ...{ name: 'A signal', about: ['It ends access, and never', 'grants any.'], color: 'red' },
      parts: [
        { name: 'Your provider', about: 'ends a session', passes: 'signed' },
        { name: 'Countersign', about: 'verifies it', passes: 'log entry' },
        { name: 'Every guard', about: 'denies the user' },
      ],
      status: '401',
    },
  ],
}

const ROW = { wide: 168, narrow: 300 } as const
const GAP = 12

function drawWide({ title, description, rows }: Story): string {
  const xs = [20, 264, 508] as const
  const parts = rows.flatMap((row, i) => {
    const y = i * (ROW.wide + GAP)
    return [
      panel(y, WIDE, ROW.wide),
      heading(20, y + 32, row.name, [row.about.join(' ')], row.color),
      ...row.parts.flatMap(({ name, about, passes }, n) => {
        const isLast = n === row.parts.length - 1
        const look = isLast ? ({ fill: `${row.color}-soft`, stroke: row.color } as const) : {}
        const x = xs[n] ?? 0
        const width = isLast ? 192 : 152
        return [
          node(x, y + 76, width, 72, { name, about: [about], ...look, ...(isLast && { anchor: 'start' }) }),
          isLast ? '' : arrow(`M${x + width + 7} ${y + 112}H${(xs[n + 1] ?? 0) - 8}`, row.color),
          passes === undefined ? '' : label((x + width + (xs[n + 1] ?? 0)) / 2, y + 102, passes),
        ]
      }),
      pill(624, y + 126, 66, row.status, row.color === 'green' ? 'accepted' : 'denied'),
    ]
  })
  return toSvg({ width: WIDE, height: rows.length * (ROW.wide + GAP) - GAP, title, description, parts })
}

function label(x: number, y: number, content: string, anchor: 'middle' | 'start' = 'middle'): string {
  return text(x, y, content, { size: 12, color: 'quiet', anchor })
}

function drawNarrow({ title, description, rows }: Story): string {
  const parts = rows.flatMap((row, i) => {
    const y = i * (ROW.narrow + GAP)
    const color: Color = row.color
    return [
      panel(y, NARROW, ROW.narrow),
      heading(16, y + 32, row.name, row.about, color),
      ...row.parts.flatMap(({ name, about, passes }, n) => {
        const top = y + 86 + n * 72
        const isLast = n === row.parts.length - 1
        const look = isLast ? ({ fill: `${row.color}-soft`, stroke: color } as const) : {}
        return [
          node(16, top, 308, 48, { name, about: [about], anchor: 'start', ...look }),
          isLast ? '' : arrow(`M44 ${top + 51}V${top + 69}`, color),
          passes === undefined ? '' : label(58, top + 65, passes, 'start'),
        ]
      }),
      pill(248, y + 86 + 2 * 72 + 24, 64, row.status, row.color === 'green' ? 'accepted' : 'denied'),
    ]
  })
  return toSvg({ width: NARROW, height: rows.length * (ROW.narrow + GAP) - GAP, title, description, parts })
}

export function drawOwnTokens(): Picture {
  return { wide: drawWide(OWN_TOKENS), narrow: drawNarrow(OWN_TOKENS) }
}

export function drawSignals(): Picture {
  return { wide: drawWide(SIGNALS), narrow: drawNarrow(SIGNALS) }
}
