import { arrow, heading, NARROW, node, type Picture, panel, text, toSvg, WIDE } from './svg.ts'

const TITLE = 'Three ways to run Countersign'
const DESCRIPTION =
  'Three shapes. One machine: your services with their guards reach Countersign through a proxy with TLS; it keeps its data in one SQLite file. Start here. Several nodes: a balancer that checks /readyz passes requests to two or more nodes, which share one PostgreSQL with a synchronous standby. A node may fail, and every other node denies within 2 seconds. Without a guard: a proxy asks Countersign about every request and passes it on to your service, which may be written in any language. One call for each request.'

interface Shape {
  readonly name: string
  readonly about: readonly [string, string]
}

const SHAPES: readonly Shape[] = [
  { name: 'One machine', about: ['Start here. All data is', 'in one file.'] },
  { name: 'Several nodes', about: ['One may fail. All deny', 'within 2 seconds.'] },
  { name: 'Without a guard', about: ['Any language, one call', 'for each request.'] },
]

const OURS = { fill: 'green-soft', stroke: 'green', color: 'green' } as const
const HEIGHT = 374

function down(x: number, y: number, length = 20): string {
  return arrow(`M${x} ${y}V${y + length - 5}`, 'green')
}

function drawOneMachine(x: number, y: number, width: number): string[] {
  const middle = x + width / 2
  return [
    node(x, y, width, 52, { name: 'Your services', about: ['each with a guard'] }),
    down(middle, y + 54),
    node(x, y + 74, width, 52, { name: 'Proxy', about: ['TLS'] }),
    down(middle, y + 128),
    node(x, y + 148, width, 52, { name: 'Countersign', about: ['one process'], ...OURS }),
    down(middle, y + 202),
    node(x, y + 222, width, 52, { name: 'SQLite', about: ['one file, synced'] }),
  ]
}

function drawSeveralNodes(x: number, y: number, width: number): string[] {
  const half = (width - 12) / 2
  const [left, right] = [x + half / 2, x + width - half / 2]
  return [
    node(x, y, width, 52, { name: 'Your services', about: ['each with a guard'] }),
    down(x + width / 2, y + 54),
    node(x, y + 74, width, 52, { name: 'Balancer', about: ['checks /readyz'] }),
    down(left, y + 128),
    down(right, y + 128),
    node(x, y + 148, half, 52, { name: 'Node', about: ['one'], ...OURS }),
    node(x + half + 12, y + 148, half, 52, { name: 'Node', about: ['two'], ...OURS }),
    down(left, y + 202),
    down(right, y + 202),
    node(x, y + 222, width, 52, { name: 'PostgreSQL', about: ['with a standby'] }),
  ]
}

function drawProxy(x: number, y: number, width: number): string[] {
  const first = width * 0.58
  const [left, right] = [x + first / 2, x + (width + first + 12) / 2]
  return [
    node(x, y, width, 52, { name: 'Clients', about: ['users and agents'] }),
    down(x + width / 2, y + 54),
    node(x, y + 74, width, 52, { name: 'Proxy', about: ['asks, then passes on'] }),
    arrow(`M${left} ${y + 128}V${y + 181}`, 'green'),
    text(left + 8, y + 160, '1. ask', { size: 12, color: 'quiet' }),
    arrow(`M${right} ${y + 128}V${y + 181}`, 'green'),
    text(right - 8, y + 160, '2. pass', { size: 12, color: 'quiet', anchor: 'end' }),
    node(x, y + 186, first, 88, { name: 'Countersign', about: ['decides'], ...OURS }),
    node(x + first + 12, y + 186, width - first - 12, 88, { name: 'Yours', about: ['acts'] }),
  ]
}

const DRAW = [drawOneMachine, drawSeveralNodes, drawProxy] as const

function drawWide(): string {
  const width = 232
  return toSvg({
    ...{ width: WIDE, height: HEIGHT + 22, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, WIDE, HEIGHT + 22),
      ...SHAPES.flatMap(({ name, about }, i) => {
        const x = 12 + i * width
        return [heading(x + 10, 34, name, about, 'green'), ...(DRAW[i]?.(x + 10, 96, width - 20) ?? [])]
      }),
    ],
  })
}

function drawNarrow(): string {
  const height = HEIGHT + 14
  return toSvg({
    ...{ width: NARROW, height: SHAPES.length * (height + 12) - 12, title: TITLE, description: DESCRIPTION },
    parts: SHAPES.flatMap(({ name, about }, i) => {
      const y = i * (height + 12)
      return [
        panel(y, NARROW, height),
        heading(16, y + 32, name, about, 'green'),
        ...(DRAW[i]?.(16, y + 92, 308) ?? []),
      ]
    }),
  })
}

export function drawDeployment(): Picture {
  return { wide: drawWide(), narrow: drawNarrow() }
}
