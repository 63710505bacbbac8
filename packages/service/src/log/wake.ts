/**
 * Wakes sleepers when something may have happened. It counts the calls, so that a reader does not
 * miss a call between its last read and its sleep.
 */
export interface Wake {
  /**
   * How often `wake` was called without a position. Read it before you read the store, and pass it
   * to `sleep`.
   */
  readonly count: number
  /**
   * The same for those who sleep with a position: what was announced before this call, the read
   * will show.
   */
  beginRead(): number
  /** With the position of an appended entry, it wakes only those who have not read that far. */
  wake(position?: number): void
  /**
   * Ends immediately if `wake` was called since `count` was read; otherwise at the next call, after
   * `ms`, or when the signal fires. `position` is what the sleeper has read up to. Never rejects.
   */
  sleep(count: number, ms: number, signal: AbortSignal, position?: number): Promise<void>
}

export function createWake(): Wake {
  let count = 0
  /** The highest: any role of the database can send a lower one. */
  let appended = 0
  const sleepers = new Map<() => void, number>()
  return {
    get count() {
      return count
    },
    beginRead() {
      // Also of a restored log that ends before a position that was announced earlier.
      appended = 0
      return count
    },
    wake(position) {
      if (position === undefined) count++
      else appended = Math.max(appended, position)
      for (const [rouse, readTo] of sleepers) if (position === undefined || position > readTo) rouse()
    },
    sleep(seen, ms, signal, position = Infinity) {
      if (appended > position || seen !== count || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const rouse = () => {
          clearTimeout(timer)
          sleepers.delete(rouse)
          signal.removeEventListener('abort', rouse)
          resolve()
        }
        const timer = setTimeout(rouse, ms)
        sleepers.set(rouse, position)
        signal.addEventListener('abort', rouse)
      })
    },
  }
}
