import type { PropagationStats } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { formatCount, say, sayList } from '../say.ts'
import { formatDuration } from '../time.ts'
import { createLogScale, formatDecade, isPhone, listDecades, round } from './scale.ts'

const HEIGHT = 132
const TOP = 22
const BASE = TOP + 96
/** Four buckets for each doubling: the lower bound of a bucket is this share of its upper one. */
const STEP = 2 ** 0.25
const FROM_MS = 0.8

interface Bar {
  readonly fromMs: number
  readonly toMs: number
  readonly count: number
}

/** Bars are at least this wide, so that they stay visible. */
const BARS_MAX = 44

/** The bars of the buckets. Two neighbouring buckets are one bar if there are too many. */
function toBars(buckets: PropagationStats['buckets'], spanMs: number): readonly Bar[] {
  const isJoined = Math.log(spanMs) / Math.log(STEP) > BARS_MAX
  const step = isJoined ? STEP * STEP : STEP
  const bars = new Map<number, Bar>()
  for (const { up_to_ms, count } of buckets) {
    const bucket = up_to_ms <= 1 ? 0 : Math.ceil(Math.log2(up_to_ms) * 4)
    const i = isJoined ? Math.ceil(bucket / 2) : bucket
    bars.set(i, { fromMs: step ** (i - 1), toMs: step ** i, count: (bars.get(i)?.count ?? 0) + count })
  }
  return [...bars.values()]
}

/** How long verifiers took to apply entries, on a logarithmic scale. */
export function Histogram({ stats }: { readonly stats: PropagationStats }): JSX.Element {
  const { buckets, p50_ms, p99_ms, max_ms, samples } = stats
  // As wide as it is shown, so that its words are not made smaller.
  const width = isPhone() ? 290 : 460
  const last = Math.max(max_ms ?? 0, buckets.at(-1)?.up_to_ms ?? 0)
  const first = Math.max(FROM_MS, (buckets[0]?.up_to_ms ?? 1) / 4)
  const toMs = Math.max(last * 1.4, first * 40)
  const toX = createLogScale(first, toMs, width - 36)
  const bars = toBars(buckets, toMs / first)
  const most = Math.max(1, ...bars.map(({ count }) => count))
  const toHeight = (count: number) => round(Math.max(2, (count / most) * (BASE - TOP - 8)))
  const marks = [
    [say('p50'), p50_ms],
    [say('p99'), p99_ms],
    [say('slowest'), max_ms],
  ] as const
  return (
    <svg class="chart" viewBox={`0 0 ${width} ${HEIGHT + 12}`} role="img" aria-label={describeStats(stats)}>
      {gridLines(most).map((count) => (
        <g key={count}>
          <line class="grid" x1="0" x2={width - 30} y1={BASE - toHeight(count)} y2={BASE - toHeight(count)} />
          <text x={width} y={BASE - toHeight(count) + 4} text-anchor="end">
            {formatCount(count)}
          </text>
        </g>
      ))}
      <line class="grid" x1="0" x2={width - 30} y1={BASE} y2={BASE} />
      {bars.map(({ fromMs, toMs: end, count }) => {
        const x = toX(fromMs)
        return (
          <rect
            key={end}
            class="fill-green"
            x={x + 0.5}
            y={BASE - toHeight(count)}
            width={Math.max(2, round(toX(end) - x - 1))}
            height={toHeight(count)}
            rx="1.5"
          />
        )
      })}
      {samples > 0 &&
        placeMarks(marks, toX, width).map(({ word, x, y, anchor }) => (
          <g key={word}>
            <line class="mark-line" x1={x} x2={x} y1={y + 4} y2={BASE} />
            <text class="strong" x={x} y={y} text-anchor={anchor}>
              {word}
            </text>
          </g>
        ))}
      {listDecades(first, toMs).map((ms) => (
        <text key={ms} x={toX(ms)} y={HEIGHT + 4} text-anchor="middle">
          {formatDecade(ms)}
        </text>
      ))}
    </svg>
  )
}

/** Marks that are close to each other are joined into one word. */
function placeMarks(
  marks: readonly (readonly [word: string, ms: number | null])[],
  toX: (ms: number) => number,
  width: number,
): readonly { word: string; x: number; y: number; anchor: 'start' | 'middle' | 'end' }[] {
  const placed: { word: string; x: number; y: number; anchor: 'start' | 'middle' | 'end' }[] = []
  for (const [word, ms] of marks) {
    if (ms === null) continue
    const x = toX(ms)
    const before = placed.at(-1)
    if (before !== undefined && x - before.x < 44) {
      before.word = sayList([before.word, word])
      before.x = x
    } else placed.push({ word, x, y: 12, anchor: 'middle' })
  }
  for (const mark of placed) mark.anchor = mark.x > width - 90 ? 'end' : mark.x < 40 ? 'start' : 'middle'
  return placed
}

/** Two round numbers for the grid. */
function gridLines(most: number): readonly number[] {
  if (most < 3) return [most]
  const step = 10 ** Math.floor(Math.log10(most / 2))
  const half = Math.max(1, Math.floor(most / 2 / step) * step)
  return [half, half * 2]
}

function describeStats({ samples, p50_ms, p99_ms, max_ms }: PropagationStats): string {
  if (samples === 0) return say('No verifier has applied an entry in this time.')
  const show = (ms: number | null) => (ms === null ? say('unknown') : formatDuration(ms))
  return say(
    'Histogram of {samples} times: half within {half}, 99 of 100 within {most}, the slowest after {slowest}.',
    { samples, half: show(p50_ms), most: show(p99_ms), slowest: show(max_ms) },
  )
}
