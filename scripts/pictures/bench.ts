import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JwtResult } from '../../bench/jwt.ts'
import type { Measured } from '../../bench/measure.ts'
import { formatNumber } from '../../bench/table.ts'
import type { Verdict } from '../../bench/verdict.ts'
import type { VerifyResult } from '../../bench/verify.ts'
import { dot, heading, line, NARROW, type Picture, panel, round, text, toSvg, WIDE } from './svg.ts'

/**
 * What `npm run bench -- --only verify,jwt,view,service,sdk --json bench/figures.json` writes.
 */
export interface Figures {
  readonly startedAt: string
  readonly machine: {
    readonly node: string
    readonly arch: string
    readonly cores: number
    readonly loadAtStart: number
  }
  readonly results: {
    readonly verify: Omit<VerifyResult, 'verdicts'>
    readonly jwt: Omit<JwtResult, 'verdicts'>
  }
  readonly verdicts: readonly Verdict[]
}

export function readFigures(): Figures {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../bench/figures.json'), 'utf8')) as Figures
}

interface Dot {
  readonly name: string
  readonly ours: boolean
  readonly value: number
  /** The value at quiet moments, joined to the dot by a line. */
  readonly quiet: number
  readonly target?: number
  readonly label: string
}

interface Group {
  readonly name: string
  readonly dots: readonly Dot[]
}

interface Plot {
  readonly title: string
  readonly about: readonly string[]
  readonly aboutNarrow: readonly string[]
  readonly groups: readonly Group[]
  readonly ticks: readonly (readonly [value: number, label: string])[]
  readonly legend: readonly string[]
}

/** In which conditions it was measured, from the file itself. */
function describeRun({ startedAt, machine, results }: Figures): string {
  const raw = results.verify.rows.find(({ name }) => name === 'raw crypto.verify')
  const spread = raw === undefined ? '' : ` Spread of the unit: ${Math.round(raw.spread * 100)}\u00a0%.`
  return `Measured on ${startedAt.slice(0, 10)}: ${machine.cores} ${machine.arch} cores, load ${machine.loadAtStart.toFixed(1)}, Node ${machine.node.slice(1)}.${spread}`
}

function describeGroups(groups: readonly Group[]): string {
  return groups
    .map(({ name, dots }) => `${name}: ${dots.map((each) => `${each.name} ${each.label}`).join('; ')}.`)
    .join(' ')
}

function toDot({ name, ratio, quietRatio }: Measured, shown: string, target?: number): Dot {
  const label = `${formatNumber(ratio)} ×`
  return {
    ...{ name: shown, ours: name.includes('ours'), value: ratio, quiet: quietRatio, label },
    ...(target !== undefined && { target }),
  }
}

/** The limit of a promise such as `cold ≤ 1.25 × raw`. */
function findLimit(verdicts: readonly Verdict[], start: string): number | undefined {
  const promise = verdicts.find((verdict) => verdict.promise.startsWith(start))?.promise
  const limit = /[≤≥] ([\d.]+)/.exec(promise ?? '')?.[1]
  return limit === undefined ? undefined : Number(limit)
}

function createVerifyPlot({ results, verdicts }: Figures): Plot {
  const rows = [...results.verify.rows]
  const pick = (name: string, shown: string, target?: number): Dot[] =>
    rows.filter((row) => row.name === name).map((row) => toDot(row, shown, target))
  return {
    title: 'What one verification costs',
    about: ['In units of one bare Ed25519 verification. Left is faster.'],
    aboutNarrow: ['In units of one bare Ed25519', 'verification. Left is faster.'],
    groups: [
      {
        name: 'First time: header to decision',
        dots: [
          ...pick('ours, cold', 'Countersign', findLimit(verdicts, 'cold ≤ 1.25')),
          ...pick('fast-jwt', 'fast-jwt'),
          ...pick('jose', 'jose'),
          ...pick('@digitalbazaar/vc, eddsa-jcs-2022', 'digitalbazaar/vc, jcs'),
          ...pick('@digitalbazaar/vc, eddsa-rdfc-2022', 'digitalbazaar/vc, rdfc'),
          ...pick('did-jwt-vc', 'did-jwt-vc'),
        ],
      },
      {
        name: 'Again: signature cached',
        dots: [
          ...pick('ours, warm, 1 header', 'Countersign, 1 header'),
          ...pick('ours, warm, 1,000 headers', 'Countersign, 1,000', findLimit(verdicts, 'warm ≤ 0.025')),
          ...pick('ours, warm, 50,000 headers', 'Countersign, 50,000'),
          ...pick('fast-jwt, cached, 1 token', 'fast-jwt, 1 token'),
          ...pick('fast-jwt, cached, 1,000 tokens', 'fast-jwt, 1,000'),
        ],
      },
    ],
    ticks: [
      [0.01, '0.01'],
      [0.1, '0.1'],
      [1, '1'],
      [10, '10'],
    ],
    legend: ['Countersign', 'others', 'our target'],
  }
}

/** How a promise is written where there is little space. */
const SHORTER: readonly (readonly [pattern: RegExp, shorter: string])[] = [
  [/ as fast as fast-jwt's cache/, ' fast-jwt’s cache'],
  [/remembered | per revocation/, ''],
  [/, every commit synced|, CPU$|, p50| beyond the sync| on the server| on loopback/g, ''],
  [/^protected route, (\w+)/, '$1 route'],
  [/ of bare fastify/, ' × Fastify'],
  [/^revoke on (\w+), one connection/, 'one revocation, $1,'],
  [/^start-up with/, 'start with'],
  [/^a revocation reaches 1 client/, 'one revocation, at 1 client,'],
  [/^(\d+) clients \w+ of a revocation, p99/, 'p99 at $1 clients'],
  [/ plain sockets/, ' sockets'],
  [/^a route of (\w+) behind the guard (.*) of the bare one/, 'guard of $1 $2 × bare'],
]

/** How far a value is from its target: below 1 is better than promised. */
function toDistance({ promise, value, quietValue = value }: Verdict): Dot | undefined {
  const [, relation, limit] = /([≤≥]) ([\d.]+)/.exec(promise) ?? []
  if (limit === undefined) return undefined
  const distance = (measured: number) =>
    relation === '≤' ? measured / Number(limit) : Number(limit) / measured
  return {
    name: SHORTER.reduce((name, [pattern, shorter]) => name.replace(pattern, shorter), promise),
    ours: true,
    ...{ value: distance(value), quiet: distance(quietValue), label: formatNumber(value), target: 1 },
  }
}

/** Promises by the beginning of their text. */
type PromiseGroups = readonly (readonly [name: string, pattern: RegExp])[]

const OF_VERIFICATION: PromiseGroups = [
  ['Credentials', /^(?:cold|warm|≤)/],
  ['Access tokens of OAuth issuers', /^(?:RS256|ES256|EdDSA) /],
  ['Revocation view', /^(?:view|a million entries)/],
]

const OF_THE_SERVICE: PromiseGroups = [
  ['Routes of the service', /^(?:protected route|introspection)/],
  ['Writes and starts', /^(?:exchange|revoke|start-up)/],
  ['Clients of the feed', /^(?:a revocation reaches|\d+ clients)/],
  ['Guards', /^(?:a route|a guard|a million revocations)/],
]

function createTargetPlot({ verdicts }: Figures, of: PromiseGroups, title: string): Plot {
  const groups = of.map(([name, pattern]) => ({
    name,
    dots: verdicts
      .filter(({ promise }) => pattern.test(promise))
      .flatMap((verdict) => toDistance(verdict) ?? []),
  }))
  const hasSmall = groups.some(({ dots }) => dots.some(({ value }) => value < 0.2))
  return {
    title,
    about: ['Left of the line: better than the target. Right of it: not met.'],
    aboutNarrow: ['Left of the line: better than the', 'target. Right of it: not met.'],
    groups,
    ticks: [...(hasSmall ? [[0.1, 'a tenth'] as const] : []), [0.5, 'half'], [1, 'target'], [2, 'double']],
    legend: ['met', 'not met', 'target'],
  }
}

function drawPlot(plot: Plot, figures: Figures, isWide: boolean, isTargets: boolean): string {
  const width = isWide ? WIDE : NARROW
  const margin = isWide ? 20 : 16
  const [left, right] = isWide ? [270, 630] : [margin + 8, width - margin - 60]
  const values = plot.groups.flatMap(({ dots }) =>
    dots.flatMap(({ value, quiet, target }) => [value, quiet, target ?? value]),
  )
  const ends = [...values, ...plot.ticks.map(([value]) => value)].map(Math.log10)
  const [min, max] = [Math.min(...ends), Math.max(...ends)]
  const toX = (value: number) => round(left + ((Math.log10(value) - min) / (max - min)) * (right - left))
  const about = isWide ? plot.about : plot.aboutNarrow
  const top = 66 + about.length * 18
  const parts: string[] = []
  let y = top + 14
  for (const { name, dots } of plot.groups) {
    parts.push(text(margin, y + 20, name, { size: 14, bold: true, halo: 'panel' }))
    y += 32
    for (const each of dots) {
      const middle = isWide ? y + 13 : y + 28
      const [x, quiet] = [toX(each.value), toX(each.quiet)]
      const color = !isTargets ? 'green' : each.value <= 1 ? 'green' : 'amber'
      parts.push(
        text(margin, y + (isWide ? 17 : 14), each.name, {
          size: 12,
          halo: 'panel',
          bold: each.ours && !isTargets,
        }),
        line(`M${left} ${middle}H${right}`, { color: 'line', width: 1 }),
        Math.abs(x - quiet) < 1
          ? ''
          : line(`M${quiet} ${middle}H${x}`, { color: each.ours ? color : 'edge', width: 2 }),
        each.target === undefined || isTargets
          ? ''
          : line(`M${toX(each.target)} ${middle - 9}V${middle + 9}`, { color: 'ink', width: 2.5 }),
        each.ours ? dot(x, middle, 6, color) : dot(x, middle, 5, 'panel', 'edge'),
        text(width - margin, middle + 4.5, each.label, { size: 12, bold: each.ours, anchor: 'end' }),
      )
      y += isWide ? 26 : 42
    }
    y += 10
  }
  const grid = plot.ticks.map(([value, label]) => {
    const isTarget = isTargets && value === 1
    return (
      line(`M${toX(value)} ${top + 4}V${y - 4}`, {
        color: isTarget ? 'ink' : 'line',
        width: isTarget ? 2 : 1,
      }) + text(toX(value), top - 4, label, { size: 12, color: 'quiet', anchor: 'middle' })
    )
  })
  const run = describeRun(figures)
  const notes = isWide ? [run] : wrapWords(run, 44)
  const [first = '', second = '', third = ''] = plot.legend
  const legend = [
    dot(margin + 6, y + 12, 6, 'green'),
    text(margin + 18, y + 16, first, { size: 12, color: 'quiet' }),
    isTargets ? dot(margin + 120, y + 12, 6, 'amber') : dot(margin + 120, y + 12, 5, 'panel', 'edge'),
    text(margin + 132, y + 16, second, { size: 12, color: 'quiet' }),
    line(`M${margin + 206} ${y + 3}V${y + 21}`, { color: 'ink', width: 2.5 }),
    text(margin + 216, y + 16, third, { size: 12, color: 'quiet' }),
  ]
  const height = y + 38 + notes.length * 17 + 8
  return toSvg({
    ...{ width, height, title: plot.title },
    description: `${plot.about.join(' ')} ${describeGroups(plot.groups)} ${run}`,
    parts: [
      panel(0, width, height),
      heading(margin, 32, plot.title, about, 'ink'),
      ...grid,
      ...parts,
      ...legend,
      ...notes.map((note, i) => text(margin, y + 44 + i * 17, note, { size: 12, color: 'quiet' })),
    ],
  })
}

function wrapWords(sentence: string, columns: number): readonly string[] {
  const rows: string[] = []
  for (const word of sentence.split(' ')) {
    const last = rows.at(-1)
    if (last !== undefined && last.length + word.length < columns) rows[rows.length - 1] = `${last} ${word}`
    else rows.push(word)
  }
  return rows
}

export function drawBenchVerify(figures: Figures): Picture {
  const plot = createVerifyPlot(figures)
  return { wide: drawPlot(plot, figures, true, false), narrow: drawPlot(plot, figures, false, false) }
}

export function drawBenchTargets(figures: Figures): Picture {
  return drawTargets(figures, OF_VERIFICATION, 'Targets of verification')
}

export function drawBenchService(figures: Figures): Picture {
  return drawTargets(figures, OF_THE_SERVICE, 'Targets of service and guards')
}

function drawTargets(figures: Figures, of: PromiseGroups, title: string): Picture {
  const plot = createTargetPlot(figures, of, title)
  return { wide: drawPlot(plot, figures, true, true), narrow: drawPlot(plot, figures, false, true) }
}
