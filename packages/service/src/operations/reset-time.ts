import { parseTime } from '@countersign/core'
import type { Config } from '../config.ts'
import { readStore, requireStore } from '../store/maintenance.ts'
import { InvalidInput } from './invalid-input.ts'
import { type StoreSettings, withStore } from './with-store.ts'

/**
 * If the given time differs more than this from the clock of this machine, one of the two is wrong,
 * and running nodes would treat the change as a jump of the clock.
 */
const DIFFERENCE_MS_MAX = 60_000

/** The time on record: the highest time that a node has acted by. Writes nothing. */
export async function readRecordedTime(store: Config['store']): Promise<number> {
  const { atMs } = await readStore(store, ({ confirmedTime }) => confirmedTime())
  return atMs
}

/** Sets the time on record, with an audit row in the same transaction. Returns the time before. */
export async function resetTime(settings: StoreSettings, nowMs: number): Promise<number> {
  await requireStore(settings.store)
  const context = { actor: 'operator', atMs: nowMs }
  const { fromMs } = await withStore(settings, (at) => at.store.resetTime(nowMs, context))
  return fromMs
}

/** Parses the time that an operator gives for the present. Throws `InvalidInput` for another. */
export function requirePresent(text: string, clockMs: number): number {
  const ms = parseTime(text)
  if (ms === undefined)
    throw new InvalidInput(`${JSON.stringify(text)} is not a time such as ${toRfc3339(clockMs)}`)
  if (Math.abs(ms - clockMs) <= DIFFERENCE_MS_MAX) return ms
  throw new InvalidInput(
    `${text} is ${describeDifference(ms - clockMs)} the clock of this machine, ${toRfc3339(clockMs)}. The time on record can only be set to the present: correct this clock, or give the right time.`,
  )
}

/** `3 h ahead of`, `2 d behind`, `equal to` */
export function describeDifference(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000)
  if (seconds === 0) return 'equal to'
  const units: readonly (readonly [number, string])[] = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ]
  const [size, unit] = units.find(([each]) => seconds >= 2 * each) ?? ([1, 's'] as const)
  return `${Math.floor(seconds / size)} ${unit} ${ms > 0 ? 'ahead of' : 'behind'}`
}

const toRfc3339 = (ms: number) => new Date(ms).toISOString()
