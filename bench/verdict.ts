import { formatNumber } from './table.ts'

/**
 * One of our promises beside what came out in this run. Reported and never asserted: a time is no
 * test.
 */
export interface Verdict {
  readonly promise: string
  /** By `value`; at quiet moments it may have been otherwise. */
  readonly kept: boolean
  readonly value: number
  readonly quietValue?: number
  /** The lowest and the highest value, where several processes were compared. */
  readonly range?: readonly [number, number]
}

export function atMost(promise: string, limit: number, value: number, quietValue?: number): Verdict {
  return { promise, kept: value <= limit, value, ...(quietValue === undefined ? {} : { quietValue }) }
}

export function atLeast(promise: string, limit: number, value: number, quietValue?: number): Verdict {
  return { promise, kept: value >= limit, value, ...(quietValue === undefined ? {} : { quietValue }) }
}

export function formatVerdict({ promise, kept, value, quietValue, range }: Verdict): string {
  const quiet = quietValue === undefined ? '' : `; ${formatNumber(quietValue)} when quiet`
  const between = range === undefined ? '' : `; ${range.map(formatNumber).join(' to ')} between processes`
  return `${promise}: ${kept ? 'yes' : 'NO'} (${formatNumber(value)}${quiet}${between})`
}
