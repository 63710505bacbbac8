import { measurements } from '../../packages/service/src/front/measurements.ts'
import {
  arrow,
  box,
  heading,
  line,
  lines,
  NARROW,
  node,
  type Picture,
  panel,
  pill,
  seal,
  text,
  toSvg,
  WIDE,
} from './svg.ts'

const TITLE = 'Access and revocation'
const DESCRIPTION =
  'Two rows. Access, in green: your back office issues a credential to a user or agent, who presents it with a request. The guard inside your API accepts it in about two microseconds, without a network call, and the API answers 200. Revocation, in red: your back office revokes the user. Countersign commits entry 1042 and sends it to every guard. Three guards apply it, confirm after 7, 8 and 9 milliseconds, and deny the user with 401. The fourth guard is cut off. It rejects every request after 30 seconds, with 503. Your back office gets a receipt: 3 of 4 confirmed, and the time from which the fourth rejects everything.'

const TIME_TO_DECIDE = measurements.find(({ name }) => name === 'Time to decide')?.value
const DECIDES = `decides in ${Math.round(Number(TIME_TO_DECIDE))} µs`

const GUARDS = [
  { name: 'orders-api', after: '7 ms' },
  { name: 'mcp-server', after: '8 ms' },
  { name: 'gateway', after: '9 ms' },
] as const

const ACCESS = ['The guard decides inside your process, without a network call.']
const REVOCATION = ['Every guard applies it and confirms. A guard that is cut off stops by itself.']

function drawGuard(x: number, y: number, width: number, name: string): string {
  return [
    box(x, y, width, 52, { fill: 'red-soft', stroke: 'red' }),
    text(x + 12, y + 22, name, { size: 14, bold: true }),
    text(x + 12, y + 43, 'applied entry 1042', { color: 'quiet' }),
    pill(x + width - 72, y + 17, 64, '401', 'denied'),
  ].join('\n')
}

function drawCutOff(x: number, y: number, width: number): string {
  return [
    box(x, y, width, 52, { fill: 'amber-soft', stroke: 'amber', dashed: true }),
    text(x + 12, y + 22, 'warehouse', { size: 14, bold: true }),
    text(x + 12, y + 43, 'rejects all after 30 s', { color: 'quiet' }),
    pill(x + width - 72, y + 17, 64, '503', 'denied'),
  ].join('\n')
}

function drawApi(x: number, y: number, width: number): string {
  return [
    box(x, y, width, 104, { fill: 'sunken', stroke: 'edge' }),
    text(x + 14, y + 23, 'Your API', { color: 'quiet' }),
    box(x + 10, y + 34, width - 20, 60, { fill: 'green-soft', stroke: 'green' }),
    text(x + 22, y + 59, 'Guard', { size: 14, bold: true, color: 'green' }),
    text(x + 22, y + 80, DECIDES, { color: 'quiet' }),
    pill(x + width - 82, y + 54, 62, '200', 'accepted'),
  ].join('\n')
}

function drawReceipt(x: number, y: number, width: number): string {
  return [
    box(x, y, width, 92, { fill: 'green-soft', stroke: 'green', radius: 10 }),
    seal(x + 14, y + 22, 48),
    text(x + 76, y + 30, '3 of 4 confirmed in 9 ms', { size: 14, bold: true, color: 'green' }),
    lines(x + 76, y + 52, ['1 is cut off. It rejects every', 'request from 14:03:42 on.'], {
      color: 'quiet',
    }),
  ].join('\n')
}

function drawWide(): string {
  const y = 180
  const guards = [y + 74, y + 132, y + 190] as const
  const [guardTop, , guardEnd] = guards
  const cutOff = y + 258
  return toSvg({
    ...{ width: WIDE, height: y + 332, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, WIDE, 168),
      heading(20, 32, 'Access', ACCESS, 'green'),
      node(20, 76, 156, 72, { name: 'Your back office', about: ['issues a credential'] }),
      arrow('M182 112H252', 'green'),
      text(216, 102, 'credential', { size: 12, color: 'quiet', anchor: 'middle' }),
      node(260, 76, 146, 72, { name: 'User or agent', about: ['holds it'] }),
      arrow('M412 112H502', 'green'),
      text(456, 102, 'request', { size: 12, color: 'quiet', anchor: 'middle' }),
      drawApi(510, 48, 190),
      panel(y, WIDE, 332),
      heading(20, y + 32, 'Revocation', REVOCATION, 'red'),
      node(20, y + 84, 156, 72, { name: 'Your back office', about: ['revokes a user'] }),
      arrow(`M182 ${y + 120}H252`, 'red'),
      text(216, y + 110, 'revoke', { size: 12, color: 'quiet', anchor: 'middle' }),
      text(216, y + 138, '0 ms', { bold: true, color: 'red', anchor: 'middle' }),
      node(260, y + 84, 146, 72, { name: 'Countersign', about: ['adds entry 1042'] }),
      line(`M412 ${y + 120}H424M424 ${guardTop + 26}V${guardEnd + 26}`, { color: 'red' }),
      line(`M424 ${guardEnd + 30}V${cutOff + 26}H434`, { color: 'amber', dashed: true }),
      ...GUARDS.flatMap(({ name, after }, i) => {
        const top = guards[i] ?? 0
        return [
          arrow(`M424 ${top + 26}H503`, 'red'),
          pill(430, top + 26, 66, after, 'confirmed'),
          drawGuard(510, top, 190, name),
        ]
      }),
      pill(434, cutOff + 26, 66, 'cut off', 'warning'),
      drawCutOff(510, cutOff, 190),
      arrow(`M333 ${y + 164}V${y + 208}`, 'green', true),
      text(323, y + 190, 'confirmations', { size: 12, color: 'quiet', anchor: 'end' }),
      arrow(`M98 ${y + 214}V${y + 166}`, 'green', true),
      text(108, y + 190, 'receipt', { size: 12, color: 'quiet' }),
      drawReceipt(20, y + 218, 386),
    ],
  })
}

function drawNarrow(): string {
  const y = 378
  const top = y + 204
  return toSvg({
    ...{ width: NARROW, height: y + 570, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, NARROW, 366),
      heading(
        16,
        32,
        'Access',
        ['The guard decides inside your', 'process, without a network call.'],
        'green',
      ),
      node(16, 86, 308, 52, { name: 'Your back office', about: ['issues a credential'], anchor: 'start' }),
      arrow('M44 142V166', 'green'),
      text(58, 158, 'credential', { size: 12, color: 'quiet' }),
      node(16, 170, 308, 52, { name: 'User or agent', about: ['holds it'], anchor: 'start' }),
      arrow('M44 226V242', 'green'),
      text(58, 239, 'request', { size: 12, color: 'quiet' }),
      drawApi(16, 246, 308),
      panel(y, NARROW, 570),
      heading(
        16,
        y + 32,
        'Revocation',
        ['Every guard applies it and confirms.', 'One that is cut off stops by itself.'],
        'red',
      ),
      node(16, y + 86, 308, 52, { name: 'Your back office', about: ['revokes a user'], anchor: 'start' }),
      arrow(`M44 ${y + 142}V${y + 158}`, 'red'),
      text(58, y + 155, 'revoke', { size: 12, color: 'quiet' }),
      text(110, y + 155, '0 ms', { size: 12, bold: true, color: 'red' }),
      node(16, y + 162, 308, 34, { name: 'Countersign adds entry 1042', anchor: 'start' }),
      line(`M30 ${y + 198}V${top + 12 + 2 * 58 + 26}`, { color: 'red' }),
      line(`M30 ${top + 12 + 2 * 58 + 30}V${top + 194 + 26}H38`, { color: 'amber', dashed: true }),
      ...GUARDS.flatMap(({ name, after }, i) => [
        arrow(`M30 ${top + 12 + i * 58 + 26}H113`, 'red'),
        pill(36, top + 12 + i * 58 + 26, 68, after, 'confirmed'),
        drawGuard(120, top + 12 + i * 58, 204, name),
      ]),
      pill(38, top + 194 + 26, 70, 'cut off', 'warning'),
      drawCutOff(120, top + 194, 204),
      drawReceipt(16, top + 258, 308),
    ],
  })
}

export function drawFlow(): Picture {
  return { wide: drawWide(), narrow: drawNarrow() }
}
