/** `npm run growth-chart`: draws docs/growth.svg from the figures in bench/growth/. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { GrowthRow } from '../bench/growth/growth.ts'
import { drawGrowth, type Panel, type Series } from './growth-picture.ts'

const root = join(import.meta.dirname, '..')
export const CHART = join(root, 'docs/growth.svg')

type Figure = (row: GrowthRow) => number | undefined

const MB = 1e6

const inMb = (bytes: number | undefined) => bytes && bytes / MB

/** The figures of one run, as `npm run bench -- --only growth --json <file>` writes them. */
function readRows(name: string): readonly GrowthRow[] {
  const text = readFileSync(join(root, 'bench/growth', name), 'utf8')
  return (JSON.parse(text) as { results: { growth: { rows: readonly GrowthRow[] } } }).results.growth.rows
}

function toSeries(name: string, look: Series['look'], rows: readonly GrowthRow[], figure: Figure): Series {
  const points = rows.flatMap((row) => {
    const value = figure(row)
    return value === undefined ? [] : [[row.revocations, value] as const]
  })
  return { name, look, points }
}

/** The chart of the documentation. */
export function createGrowthChart(): string {
  const now = readRows('figures.json')
  const before = readRows('figures-before.json')
  const panels: readonly Panel[] = [
    {
      title: 'Start-up: CPU seconds until ready',
      series: [
        toSeries('service', 'main', now, ({ start }) => start.cpuSeconds),
        toSeries('guard', 'second', now, ({ guard }) => guard.cpuSeconds),
        toSeries('service before', 'before', before, ({ start }) => start.cpuSeconds),
      ],
    },
    {
      title: 'Snapshot: MB for one verifier, compressed',
      series: [
        toSeries('whole log', 'main', now, ({ snapshot }) => snapshot.bytes / MB),
        toSeries('after a cut', 'second', now, ({ commands }) => inMb(commands?.cut?.snapshot.bytes)),
        toSeries('before', 'before', before, ({ snapshot }) => snapshot.bytes / MB),
      ],
    },
    {
      title: 'Disk: MB',
      series: [
        toSeries('whole log', 'main', now, ({ bytesWithCheckpoint }) => bytesWithCheckpoint / MB),
        toSeries('after a cut', 'second', now, ({ commands }) => inMb(commands?.cut?.bytes)),
        toSeries('before', 'before', before, ({ bytes }) => bytes / MB),
      ],
    },
    {
      title: 'Memory: MB',
      series: [
        toSeries('service', 'main', now, ({ start }) => start.rssMb),
        toSeries('data of a guard', 'second', now, ({ guard }) => guard.heldBytes / MB),
        toSeries('service before', 'before', before, ({ start }) => start.rssMb),
      ],
    },
  ]
  return drawGrowth(
    'What a store with a thousand to ten million revocations costs: start-up, snapshot, disk and memory.',
    panels,
  )
}

if (import.meta.main) writeFileSync(CHART, createGrowthChart())
