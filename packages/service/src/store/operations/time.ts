import { number } from '../columns.ts'
import { type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { recordAudit } from './shared/record-audit.ts'

/** A time on record, and how often an operator has set it by hand. */
export interface ConfirmedTime {
  readonly atMs: number
  readonly resets: number
}

/**
 * Moves the confirmed time to `atMs` if that is later and the node knows of the last reset, and
 * returns it.
 */
export function* confirmTime(atMs: number, resets: number): Transaction<ConfirmedTime> {
  const moved = yield* row(
    'UPDATE confirmed_time SET at = $1 WHERE one = 1 AND at < $1 AND resets = $2 RETURNING at, resets',
    Math.floor(atMs),
    resets,
  )
  return moved === undefined ? yield* confirmedTime() : toTime(moved)
}

/** The highest time that this store has confirmed since the last reset. */
export const confirmedTime = read(function* (): Transaction<ConfirmedTime> {
  const kept = yield* row('SELECT at, resets FROM confirmed_time WHERE one = 1')
  if (kept === undefined) throw new Error('the store has no confirmed time')
  return toTime(kept)
})

/**
 * Sets the confirmed time, also to an earlier one, and returns what it was. For an operator who has
 * checked the clocks.
 */
export function* resetTime(atMs: number, context: AuditContext): Transaction<{ readonly fromMs: number }> {
  // Counting first blocks transactions that would move the time, so `at` is the final value.
  const left = yield* row('UPDATE confirmed_time SET resets = resets + 1 WHERE one = 1 RETURNING at')
  if (left === undefined) throw new Error('the store has no confirmed time')
  const fromMs = number(left, 'at')
  yield* rows('UPDATE confirmed_time SET at = $1 WHERE one = 1', Math.floor(atMs))
  const detail = { from: rfc3339(fromMs) }
  yield* recordAudit({
    siteId: null,
    action: 'time.reset',
    target: rfc3339(atMs),
    detail,
    context,
  })
  return { fromMs }
}

function toTime(kept: Row): ConfirmedTime {
  return { atMs: number(kept, 'at'), resets: number(kept, 'resets') }
}

const rfc3339 = (ms: number) => new Date(ms).toISOString()
