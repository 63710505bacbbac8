/** A job that runs again and again, one run at a time. */
export interface PeriodicJob {
  /** Runs the job now, unless it is running. */
  run(): void
  /** Runs the job no more, and resolves when the last run has ended. */
  close(): Promise<void>
}

/**
 * Runs `job` every `ms` milliseconds, the first time after `ms`. A failure goes to `onFailure` and
 * does not end it. It does not keep the process alive.
 */
export function everyMs(
  ms: number,
  job: () => Promise<unknown>,
  onFailure: (err: unknown) => void,
): PeriodicJob {
  let running: Promise<void> | undefined
  let isClosed = false
  const run = () => {
    if (isClosed) return
    running ??= job()
      .then(() => undefined, onFailure)
      .finally(() => {
        running = undefined
      })
  }
  const timer = setInterval(run, ms)
  timer.unref()
  return {
    run,
    async close() {
      isClosed = true
      clearInterval(timer)
      await running
    },
  }
}
