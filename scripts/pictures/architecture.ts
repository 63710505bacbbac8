import { arrow, box, lines, NARROW, type Picture, panel, text, toSvg, WIDE } from './svg.ts'

const TITLE = 'The packages and who imports them'
const DESCRIPTION =
  'Five packages as rooms, and arrows for imports. At the top: the command line (packages/cli), which imports the service and the SDK, and the console (packages/console), which imports the core. In the middle: the service (packages/service), with HTTP, routes, actions, feed, access, log and store, and the SDK (packages/sdk), with guard, feed, adapters, client and agent. Both import the core. At the bottom: the core (packages/core), which decides and does no input or output: log, verify, jwt, holder, credential, proof, encoding. Dashed arrows are HTTP: the guard of the SDK follows the feed of the service, and the console calls the service.'

interface Room {
  readonly name: string
  readonly path: string
  readonly about: readonly string[]
}

const ROOMS = {
  cli: { name: 'Command line', path: 'packages/cli', about: ['commands of operators'] },
  console: { name: 'Console', path: 'packages/console', about: ['pages in the browser'] },
  service: {
    name: 'Service',
    path: 'packages/service',
    about: ['http → routes → actions', 'feed · access · log · store'],
  },
  sdk: { name: 'SDK', path: 'packages/sdk', about: ['guard · feed · adapters', 'agent · client · site'] },
  core: {
    name: 'Core',
    path: 'packages/core',
    about: ['log → verify → jwt → holder →', 'credential → proof → encoding'],
  },
} as const satisfies Readonly<Record<string, Room>>

function drawRoom(x: number, y: number, width: number, room: Room, isCore = false): string {
  const look = isCore
    ? ({ fill: 'green-soft', stroke: 'green' } as const)
    : ({ fill: 'sunken', stroke: 'edge' } as const)
  return [
    box(x, y, width, 46 + room.about.length * 18, look),
    text(x + 14, y + 24, room.name, { size: 14, bold: true, color: isCore ? 'green' : 'ink' }),
    text(x + width - 12, y + 24, room.path, { size: 12, mono: true, color: 'quiet', anchor: 'end' }),
    lines(x + 14, y + 47, room.about, { color: 'quiet' }),
  ].join('\n')
}

function drawLegend(x: number, y: number): string {
  return [
    arrow(`M${x} ${y}H${x + 30}`, 'green'),
    text(x + 40, y + 4, 'imports', { size: 12, color: 'quiet' }),
    arrow(`M${x + 110} ${y}H${x + 140}`, 'blue', true),
    text(x + 150, y + 4, 'calls over HTTP', { size: 12, color: 'quiet' }),
  ].join('\n')
}

function drawWide(): string {
  const [left, right, width] = [20, 392, 308] as const
  return toSvg({
    ...{ width: WIDE, height: 410, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, WIDE, 410),
      drawRoom(left, 24, width, ROOMS.cli),
      drawRoom(right, 24, width, ROOMS.console),
      arrow('M120 92V130', 'green'),
      arrow('M290 92L404 132', 'green'),
      arrow('M430 92L318 132', 'blue', true),
      drawRoom(left, 138, width, ROOMS.service),
      drawRoom(right, 138, width - 40, ROOMS.sdk),
      arrow('M386 180H336', 'blue', true),
      arrow('M174 224V272', 'green'),
      arrow('M520 224V272', 'green'),
      arrow('M684 92V272', 'green'),
      drawRoom(
        left,
        280,
        680,
        { ...ROOMS.core, about: [ROOMS.core.about.join(' '), 'decides; no input or output, no clock'] },
        true,
      ),
      drawLegend(24, 386),
    ],
  })
}

function drawNarrow(): string {
  return toSvg({
    ...{ width: NARROW, height: 610, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, NARROW, 610),
      drawRoom(16, 20, 270, ROOMS.cli),
      arrow('M60 86V104', 'green'),
      drawRoom(16, 110, 270, ROOMS.service),
      arrow('M60 222V198', 'blue', true),
      text(74, 215, 'follows the feed', { size: 12, color: 'quiet' }),
      drawRoom(16, 228, 270, ROOMS.sdk),
      arrow('M60 312V332', 'green'),
      drawRoom(16, 338, 308, ROOMS.core, true),
      arrow('M60 444V426', 'green'),
      drawRoom(16, 450, 308, ROOMS.console),
      arrow('M288 52H300V250H292', 'green'),
      arrow('M288 146H312V332', 'green'),
      text(16, 546, 'The command line imports the SDK too.', { size: 12, color: 'quiet' }),
      text(16, 564, 'The console calls the service.', { size: 12, color: 'quiet' }),
      drawLegend(20, 590),
    ],
  })
}

export function drawArchitecture(): Picture {
  return { wide: drawWide(), narrow: drawNarrow() }
}
