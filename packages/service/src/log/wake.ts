/**
 * Wakes sleepers when something may have happened. It counts the calls, so that a reader does not
 * miss a call between its last read and its sleep.
 */
export interface Wake {
  /** How often `wake` was called. Read it before you read the store, and pass it to `sleep`. */
  readonly count: number
  wake(): void
  /**
   * Ends immediately if `wake` was called since `count` was read; otherwise at the next call, after
   * `ms`, or when the signal fires. Never rejects.
   */
  sleep(count: number, ms: number, signal: AbortSignal): Promise<void>
}

export function createWake(): Wake {
  let count = 0
  const sleepers = new Set<() => void>()
  return {
    get count() {
      return count
    },
    wake() {
      count++
      for (const rouse of sleepers) rouse()
    },
    sleep(seen, ms, signal) {
      if (seen !== count || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const rouse = () => {
          clearTimeout(timer)
          sleepers.delete(rouse)
          signal.removeEventListener('abort', rouse)
          resolve()
        }
        const timer = setTimeout(rouse, ms)
        sleepers.add(rouse)
        signal.addEventListener('abort', rouse)
      })
    },
  }
}
