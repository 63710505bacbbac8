import type { Logger } from 'pino'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import type { Store } from './store.ts'

const EVERY_MS = 60_000

interface PurgeDeps {
  readonly store: Pick<Store, 'purgeExpired'>
  readonly clock: { nowMs(): number }
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Removes expired rows about once a minute. Only the size of the store depends on it, so a failure
 * is logged and retried.
 */
export function startPurging({ store, clock, log }: PurgeDeps, ms: number = EVERY_MS): PeriodicJob {
  return everyMs(
    ms,
    async () => {
      while (await store.purgeExpired(clock.nowMs()));
    },
    (err) => log.warn({ err }, 'could not purge expired rows; trying again'),
  )
}
