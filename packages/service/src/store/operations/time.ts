import { number } from '../columns.ts'
import type { AuditContext, ConfirmedTime } from '../store.ts'
import { type Row, row, rows, type Transaction } from '../transaction.ts'
import { auditDone } from './audit.ts'

/**
 * The highest time that was ever told, this one included, unless the node that reports it has not
 * heard of the last reset.
 */
export function* confirmTime(atMs: number, resets: number): Transaction<ConfirmedTime> {
  const moved = yield* row(
    'UPDATE confirmed_time SET at = $1 WHERE one = 1 AND at < $1 AND resets = $2 RETURNING at, resets',
    Math.floor(atMs),
    resets,
  )
  return moved === undefined ? yield* confirmedTime() : toTime(moved)
}

export function* confirmedTime(): Transaction<ConfirmedTime> {
  const kept = yield* row('SELECT at, resets FROM confirmed_time WHERE one = 1')
  if (kept === undefined) throw new Error('the store has lost its time')
  return toTime(kept)
}

export function* resetTime(atMs: number, context: AuditContext): Transaction<{ readonly fromMs: number }> {
  // First the count, which blocks transactions that would move the time until this is over: what is
  // read with it is what is left behind.
  const left = yield* row('UPDATE confirmed_time SET resets = resets + 1 WHERE one = 1 RETURNING at')
  if (left === undefined) throw new Error('the store has lost its time')
  const fromMs = number(left, 'at')
  yield* rows('UPDATE confirmed_time SET at = $1 WHERE one = 1', Math.floor(atMs))
  const detail = { from: rfc3339(fromMs) }
  yield* auditDone({
    siteId: null,
    action: 'time.reset',
    target: rfc3339(atMs),
    outcome: 'done',
    detail,
    context,
  })
  return { fromMs }
}

function toTime(kept: Row): ConfirmedTime {
  return { atMs: number(kept, 'at'), resets: number(kept, 'resets') }
}

const rfc3339 = (ms: number) => new Date(ms).toISOString()
