/**
 * Tells sleepers that something may have happened. It counts, so that a reader that looked before
 * the last call does not miss it.
 */
export interface Wake {
  /**
   * How often it was called. Read it before you look; give it to `sleep` when there was nothing to
   * see.
   */
  readonly count: number
  wake(): void
  /**
   * Ends at once if it was called since `count` was read; otherwise at the next call, after `ms`,
   * or when the signal fires. Never rejects.
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
