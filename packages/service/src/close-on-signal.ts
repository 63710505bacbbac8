import type { Logger } from 'pino'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

const CLOSE_MS_MAX = 25_000

/**
 * Closes the service on SIGTERM or SIGINT and exits with 0. A second signal, or a close that takes
 * longer than CLOSE_MS_MAX, exits with 1. With `isWorker`, further signals are ignored: terminals
 * and supervisors signal the worker as well as its primary, and the primary forwards the signal.
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
