/** A job that runs again and again, one run at a time. */
export interface PeriodicJob {
  /** Runs the job now, unless it is running. */
  run(): void
  /** Stops the job, and resolves when the last run has ended. */
  close(): Promise<void>
}

/**
 * Runs `job` every `ms` milliseconds, the first time after `ms`. `jitter` varies the interval by
 * that share, so that nodes do not run at the same time. A run that fails calls `onFailure`, and
 * the job goes on. It does not keep the process alive.
 */
export function everyMs(
  ms: number,
  job: () => Promise<unknown>,
  onFailure: (err: unknown) => void,
  jitter = 0,
): PeriodicJob {
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout
  let isClosed = false
  const run = () => {
    if (isClosed) return
    running ??= job()
      .then(() => undefined, onFailure)
      .finally(() => {
        running = undefined
      })
  }
  const plan = () => {
    timer = setTimeout(
      () => {
        plan()
        run()
      },
      ms * (1 + jitter * (2 * Math.random() - 1)),
    )
    timer.unref()
  }
  plan()
  return {
    run,
    async close() {
      isClosed = true
      clearTimeout(timer)
      await running
    },
  }
}
