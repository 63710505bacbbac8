import type { Logger } from 'pino'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

const CLOSE_MS_MAX = 25_000

/**
 * Runs until the process is told to stop, then closes and ends it: with 0 when all went well. A
 * second signal, or a close that takes too long, ends it at once. `isWorker`: a second signal says
 * nothing new, because terminals and supervisors tell a worker and its primary, which tells the
 * worker again; the primary has its own way of being done with it.
 */
export function closeOnSignal(
  service: { close(): Promise<void> },
  log: Logger,
  { isWorker = false } = {},
): void {
  let isStopping = false
  const stop = (signal: string) => {
    if (isStopping && isWorker) return
    if (isStopping) process.exit(1)
    isStopping = true
    log.info({ signal }, 'stopping')
    setTimeout(() => {
      log.error('could not finish in time')
      process.exit(1)
    }, CLOSE_MS_MAX).unref()
    service.close().then(
      () => {
        log.info('stopped')
        process.exit(0)
      },
      (err: unknown) => {
        log.error({ err }, 'could not stop cleanly')
        process.exit(1)
      },
    )
  }
  for (const signal of SIGNALS) process.on(signal, stop)
}
