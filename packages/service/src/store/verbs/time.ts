import { number } from '../columns.ts'
import { type Program, row } from '../program.ts'

/** The highest time that was ever told, this one included. */
export function* confirmTime(atMs: number): Program<number> {
  const moved = yield* row('UPDATE confirmed_time SET at = $1 WHERE one = 1 AND at < $1 RETURNING at', Math.floor(atMs))
  const kept = moved ?? (yield* row('SELECT at FROM confirmed_time WHERE one = 1'))
  if (kept === undefined) throw new Error('the store has lost its time')
  return number(kept, 'at')
}
