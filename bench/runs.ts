import { median } from './measure.ts'
import { formatNumber } from './table.ts'
import type { Verdict } from './verdict.ts'

/** A file that `npm run bench` has written. */
export interface Run {
  readonly machine: { readonly loadAtStart: number; readonly loadAtEnd: number }
  readonly verdicts: readonly Verdict[]
}

/**
 * A Markdown table of every promise: the median of the runs, the lowest and the highest value, and
 * in how many of the runs it was kept. A promise that not every run has measured says so.
 */
export function summarizeRuns(runs: readonly Run[]): string {
  const promises = new Set(runs.flatMap(({ verdicts }) => verdicts.map(({ promise }) => promise)))
  const lines = [...promises].map((promise) => {
    const found = runs.flatMap(({ verdicts }) => verdicts.filter((verdict) => verdict.promise === promise))
    const values = found.map(({ value }) => value)
    const spread = `${formatNumber(Math.min(...values))} to ${formatNumber(Math.max(...values))}`
    const kept = found.filter((verdict) => verdict.kept).length
    const met = kept === found.length ? 'yes' : kept === 0 ? 'no' : `${kept} of ${found.length}`
    const missing = found.length < runs.length ? ` (${found.length} runs)` : ''
    return `| ${promise} | ${formatNumber(median(values))} | ${spread}${missing} | ${met} |`
  })
  return ['| Target | Median | Between | Met? |', '|---|---|---|---|', ...lines].join('\n')
}
