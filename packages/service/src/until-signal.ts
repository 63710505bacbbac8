import type { Logger } from 'pino'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Runs until the process is told to stop, then closes and ends it: with 0 when all went well. A second signal, or a close that takes too long,
 * ends it at once.
 */
export function closeOnSignal(service: { close(): Promise<void> }, log: Logger, closeMsMax = 25_000): void {
  let isStopping = false
  const stop = (signal: string) => {
    if (isStopping) process.exit(1)
    isStopping = true
    log.info({ signal }, 'stopping')
    setTimeout(() => {
      log.error('could not finish in time')
      process.exit(1)
    }, closeMsMax).unref()
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
