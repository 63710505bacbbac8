import type { Logger } from 'pino'
import type { Store } from './store.ts'

const EVERY_MS = 60_000

interface PurgeDeps {
  readonly store: Pick<Store, 'purgeExpired'>
  readonly clock: { nowMs(): number }
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Removes what has ended, about once a minute. Nothing rests on it but the size of the store, so a
 * failure is logged and tried again.
 */
export function startPurging(
  { store, clock, log }: PurgeDeps,
  everyMs: number = EVERY_MS,
): { close(): Promise<void> } {
  let running: Promise<void> | undefined
  const purgeExpired = async () => {
    try {
      await store.purgeExpired(clock.nowMs())
    } catch (err) {
      log.warn({ err }, 'what has ended could not be removed')
    }
  }
  const timer = setInterval(() => {
    running ??= purgeExpired().finally(() => {
      running = undefined
    })
  }, everyMs)
  timer.unref()
  return {
    async close() {
      clearInterval(timer)
      await running
    },
  }
}
