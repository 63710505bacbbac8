import { badge, box, dot, line, NARROW, type Picture, panel, round, text, toSvg, WIDE } from './svg.ts'

const [MS, SECOND, MINUTE, HOUR, DAY] = [1, 1_000, 60_000, 3_600_000, 86_400_000] as const

/** One row of a chart: how long something that was revoked may still be accepted. */
interface Row {
  readonly name: string
  readonly about: string
  readonly value: string
  readonly note: string
  /** The typical time, or the shortest of a range; the bar is lighter from there on. */
  readonly fromMs?: number
  /** The bar ends here. */
  readonly untilMs: number
  /**
   * `limit`: not longer than this. `rejects`: everything is rejected from here on. `open`: it may
   * take longer. `at-once`: no time at all.
   */
  readonly end: 'limit' | 'rejects' | 'open' | 'at-once'
}

interface Group {
  readonly name: string
  readonly ours: boolean
  readonly rows: readonly Row[]
}

interface Chart {
  readonly title: string
  readonly description: string
  readonly head: string
  readonly ticks: readonly (readonly [ms: number, label: string])[]
  readonly lastMs: number
  readonly groups: readonly Group[]
}

/** Measured: from the request to the bytes at 1,000 guards on one machine, `bench/README.md`. */
export const MEASURED = { medianMs: 8.8, p99Ms: 29.1, guards: 1_000 } as const

const CONNECTED: Row = {
  name: 'Connected guard',
  about: 'measured, 1,000 guards',
  value: `${MEASURED.medianMs.toFixed(0)} ms`,
  note: `median; ${MEASURED.p99Ms.toFixed(0)} ms p99`,
  fromMs: MEASURED.medianMs,
  untilMs: MEASURED.p99Ms,
  end: 'limit',
}

const NODES: Row = {
  name: 'Other service nodes',
  about: 'enforced limit',
  value: '2 s',
  note: 'at most',
  untilMs: 2 * SECOND,
  end: 'limit',
}

const CUT_OFF: Row = {
  name: 'Guard that is cut off',
  about: 'default, configurable',
  value: '30 s',
  note: 'then rejects all',
  untilMs: 30 * SECOND,
  end: 'rejects',
}

const REVOCATION: Chart = {
  title: 'When a revocation takes effect',
  description:
    'A time line on a logarithmic scale, from the request that revokes. The node that answers denies before it answers, after about 3 milliseconds. Connected guards deny after 9 milliseconds at the median and 23 milliseconds at the 99th percentile, measured with 1,000 guards. Their acknowledgements arrive within a quarter of a second. Every other node of the service denies within 2 seconds, or rejects everything. A guard that is cut off rejects everything after 30 seconds by default. After 70 seconds, which is the limit of the site and 10 seconds for clocks, no guard accepts it any more, whether the service knows that guard or not.',
  head: 'Time since the request that revokes',
  ticks: [
    [MS, '1 ms'],
    [10 * MS, '10 ms'],
    [100 * MS, '0.1 s'],
    [SECOND, '1 s'],
    [10 * SECOND, '10 s'],
    [MINUTE, '1 min'],
  ],
  lastMs: 2 * MINUTE,
  groups: [
    {
      name: 'Denied from here on',
      ours: true,
      rows: [
        {
          ...{ name: 'Node that answers', about: 'before it answers 200' },
          ...{ value: '3 ms', note: 'the entry is durable', untilMs: 3.4, end: 'limit' },
        },
        CONNECTED,
        {
          ...{ name: 'Acknowledgements', about: 'they make the receipt' },
          ...{ value: '0.25 s', note: 'collected, then sent', untilMs: 250, end: 'limit' },
        },
        { ...NODES, about: 'or they reject everything' },
        { ...CUT_OFF, about: 'maxStalenessSeconds' },
        {
          ...{ name: 'Every guard, proven', about: 'denied_at_latest' },
          ...{ value: '70 s', note: '60 s + 10 s for clocks', untilMs: 70 * SECOND, end: 'limit' },
        },
      ],
    },
  ],
}

const COMPARISON: Chart = {
  title: 'How long revoked access is still accepted',
  description:
    'A chart on a logarithmic scale from 1 millisecond to 10 days. Countersign: a connected guard denies after 9 milliseconds at the median and 23 milliseconds at the 99th percentile; other nodes of the service within 2 seconds; a guard that is cut off rejects everything after 30 seconds by default. Other approaches: introspection at every request denies at once, with one call for each request. An API Gateway authorizer with its default cache: 5 minutes. A JWT with a lifetime of 5 minutes: 5 minutes. Microsoft continuous access evaluation: up to 15 minutes. A JWT of an Okta organization server: 1 hour. A JWT of Auth0 with default settings: 24 hours. An OCSP response: valid for 8 hours to 10 days. A certificate revocation list: published within 24 hours, fetched later. A W3C status list: until the next fetch, for which the standard sets no limit.',
  head: 'Revoked access is still accepted for',
  ticks: [
    [MS, '1 ms'],
    [SECOND, '1 s'],
    [MINUTE, '1 min'],
    [HOUR, '1 h'],
    [DAY, '1 day'],
  ],
  lastMs: 10 * DAY,
  groups: [
    { name: 'Countersign', ours: true, rows: [CONNECTED, NODES, CUT_OFF] },
    {
      name: 'Other approaches',
      ours: false,
      rows: [
        {
          ...{ name: 'Introspection, no cache', about: 'RFC 7662, a call each time' },
          ...{ value: 'at once', note: 'at the next request', untilMs: MS, end: 'at-once' },
        },
        {
          ...{ name: 'Cached authorizer', about: 'AWS API Gateway, default' },
          ...{ value: '5 min', note: 'at most', untilMs: 5 * MINUTE, end: 'limit' },
        },
        {
          ...{ name: 'JWT of 5 minutes', about: 'RFC 7519, your setting' },
          ...{ value: '5 min', note: 'until it expires', untilMs: 5 * MINUTE, end: 'limit' },
        },
        {
          ...{ name: 'CAEP events', about: 'Microsoft Entra, stated' },
          ...{ value: '15 min', note: 'at most; often less', untilMs: 15 * MINUTE, end: 'limit' },
        },
        {
          ...{ name: 'JWT of 1 hour', about: 'Okta org server, fixed' },
          ...{ value: '1 h', note: 'until it expires', untilMs: HOUR, end: 'limit' },
        },
        {
          ...{ name: 'JWT of 1 day', about: 'Auth0, default' },
          ...{ value: '24 h', note: 'until it expires', untilMs: DAY, end: 'limit' },
        },
        {
          ...{ name: 'OCSP response', about: 'Baseline Requirements' },
          ...{ value: '8 h to 10 days', note: 'its validity' },
          ...{ fromMs: 8 * HOUR, untilMs: 10 * DAY, end: 'limit' },
        },
        {
          ...{ name: 'Revocation list', about: 'Baseline Requirements' },
          ...{ value: '24 h', note: 'plus the next fetch', untilMs: DAY, end: 'open' },
        },
        {
          ...{ name: 'W3C status list', about: 'the next fetch' },
          ...{ value: 'no limit', note: 'in the standard', untilMs: MS, end: 'open' },
        },
      ],
    },
  ],
}

/** Draws bars between `left` and `right`, on a logarithmic scale from 1 ms to `lastMs`. */
function createScale(lastMs: number, left: number, right: number): (ms: number) => number {
  return (ms) => round(left + (Math.log10(ms) / Math.log10(lastMs)) * (right - left))
}

function drawBar(row: Row, y: number, ours: boolean, toX: (ms: number) => number, right: number): string {
  const [full, soft, edge] = ours
    ? (['green', 'green-soft', 'green'] as const)
    : (['edge', 'line', 'edge'] as const)
  const [start, middle, end] = [toX(MS), toX(row.fromMs ?? row.untilMs), toX(row.untilMs)]
  if (row.end === 'at-once') return dot(start + 5, y, 5, full)
  return [
    end > middle
      ? box(middle - 4, y - 4.5, end - middle + 4, 9, { fill: soft, stroke: edge, radius: 3 })
      : '',
    middle > start ? box(start, y - 5, middle - start, 10, { fill: full, radius: 3 }) : '',
    row.fromMs !== undefined && ours ? dot(middle, y, 7, full) : '',
    row.end === 'limit' ? line(`M${end} ${y - 9}V${y + 9}`, { color: 'ink', width: 2.5 }) : '',
    row.end === 'rejects' ? badge('cross', end, y) : '',
    row.end === 'open'
      ? line(`M${end + (middle > start ? 4 : 0)} ${y}H${right}`, { color: 'edge', width: 3, dashed: true })
      : '',
  ].join('')
}

const ROW = { wide: 46, narrow: 66 } as const

function drawWide({ title, description, head, ticks, lastMs, groups }: Chart): string {
  const [left, right] = [232, 556]
  const toX = createScale(lastMs, left, right)
  const parts: string[] = []
  let y = 68
  for (const { name, ours, rows } of groups) {
    if (groups.length > 1) {
      parts.push(text(20, y + 20, name, { size: 16, bold: true, color: ours ? 'green' : 'ink' }))
      y += 34
    }
    for (const row of rows) {
      parts.push(
        text(20, y + 18, row.name, { size: 14, bold: true }),
        text(20, y + 35, row.about, { size: 12, color: 'quiet' }),
        drawBar(row, y + 22, ours, toX, right),
        text(574, y + 18, row.value, { size: 14, bold: true }),
        text(574, y + 35, row.note, { size: 12, color: 'quiet' }),
      )
      y += ROW.wide
    }
    y += 10
  }
  const grid = ticks.map(
    ([ms, label]) =>
      line(`M${toX(ms)} 60V${y - 4}`, { color: 'line', width: 1 }) +
      text(toX(ms), 52, label, { size: 12, color: 'quiet', anchor: 'middle' }),
  )
  return toSvg({
    ...{ width: WIDE, height: y + 8, title, description },
    parts: [panel(0, WIDE, y + 8), text(20, 30, head, { color: 'quiet' }), ...grid, ...parts],
  })
}

function drawNarrow({ title, description, head, ticks, lastMs, groups }: Chart): string {
  const [left, right] = [16, 324]
  const toX = createScale(lastMs, left, right)
  const parts: string[] = []
  let y = 58
  for (const { name, ours, rows } of groups) {
    if (groups.length > 1) {
      parts.push(
        text(16, y + 20, name, { size: 16, bold: true, color: ours ? 'green' : 'ink', halo: 'panel' }),
      )
      y += 30
    }
    for (const row of rows) {
      parts.push(
        text(16, y + 16, row.name, { size: 14, bold: true, halo: 'panel' }),
        text(324, y + 16, row.value, { size: 14, bold: true, anchor: 'end', halo: 'panel' }),
        drawBar(row, y + 32, ours, toX, right),
        text(16, y + 54, row.about, { size: 12, color: 'quiet', halo: 'panel' }),
        text(324, y + 54, row.note, { size: 12, color: 'quiet', anchor: 'end', halo: 'panel' }),
      )
      y += ROW.narrow
    }
    y += 8
  }
  const shown = ticks.length > 5 ? ticks.filter((_, i) => i !== 1 && i !== 4) : ticks
  const grid = shown.map(([ms, label], i) => {
    const anchor = i === 0 ? 'start' : 'middle'
    return (
      line(`M${toX(ms)} 52V${y}`, { color: 'line', width: 1 }) +
      text(toX(ms), 46, label, { size: 12, color: 'quiet', anchor })
    )
  })
  return toSvg({
    ...{ width: NARROW, height: y + 10, title, description },
    parts: [panel(0, NARROW, y + 10), text(16, 26, head, { size: 12, color: 'quiet' }), ...grid, ...parts],
  })
}

/** The promises of a revocation, for the guide about revocation. */
export function drawRevocationTimes(): Picture {
  return { wide: drawWide(REVOCATION), narrow: drawNarrow(REVOCATION) }
}

/** The same figures beside those of other approaches; `docs/comparison.md` has their sources. */
export function drawComparison(): Picture {
  return { wide: drawWide(COMPARISON), narrow: drawNarrow(COMPARISON) }
}
