import type { Store } from './store.ts'

const TURN_MS = 86_400_000
/** Nothing is removed in the first turn, and in the first one after so long. */
const JUMP_MS_MAX = 30 * TURN_MS

/**
 * Takes the daily turn of a job that removes what cannot be put back. False when another node has
 * taken it, and when the clock may be far ahead: it must be so for another day before anything is
 * removed by it.
 */
export async function takeRemovalTurn(
  store: Pick<Store, 'takeTurn'>,
  job: string,
  nowMs: number,
): Promise<boolean> {
  const sinceMs = await store.takeTurn(job, Math.floor(nowMs), TURN_MS)
  return sinceMs !== undefined && sinceMs >= 0 && sinceMs <= JUMP_MS_MAX
}
