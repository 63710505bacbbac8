import type { Logger } from 'pino'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

const CLOSE_MS_MAX = 25_000

/**
 * Exits with 0 on SIGTERM or SIGINT, while a start has nothing to close yet: it is like a crash,
 * after which the next start needs no repair. As process 1 of a container, a process without this
 * would ignore the signals. Call what it returns when the start has ended.
 */
export function exitOnSignal(): () => void {
  const exit = () => process.exit(0)
  for (const signal of SIGNALS) process.on(signal, exit)
  return () => {
    for (const signal of SIGNALS) process.off(signal, exit)
  }
}

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
