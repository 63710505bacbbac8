import type { Clocks } from '@countersign/core'

/** The source of time of a guard. Tests pass their own. */
export interface GuardClock {
  /** Both clocks, read together. */
  read(): Clocks
  /**
   * Calls back once, that many milliseconds later, without keeping the process alive. Returns a
   * function that cancels the call.
   */
  after(ms: number, callback: () => void): () => void
}

/** The clocks of this process. */
export const systemClock: GuardClock = {
  read: () => ({ wallMs: Date.now(), monotonicMs: performance.now() }),
  after(ms, callback) {
    const timer: unknown = setTimeout(callback, ms)
    // Timers are numbers in browsers; in Node they would keep the process alive.
    ;(timer as { unref?: () => void }).unref?.()
    return () => clearTimeout(timer as number)
  },
}

/** A clock that can stop while a function runs. */
export interface FreezableClock extends GuardClock {
  /** Freezes the clock until `work` returns; an async function until its first wait. */
  whileFrozen<Result>(work: () => Result): Result
  /** How long ago `whileFrozen` was last called. */
  msSinceFrozen(): number
}

/**
 * Reads the clocks once for each decision instead of once for each check. Reading them took a
 * quarter of the time of a warm decision (docs/decisions/0037-what-a-guard-costs.md).
 */
export function createFreezableClock(clock: GuardClock): FreezableClock {
  let frozen: Clocks | undefined
  let frozenAtMs = 0
  return {
    read: () => frozen ?? clock.read(),
    after: (ms, callback) => clock.after(ms, callback),
    whileFrozen(work) {
      frozen = clock.read()
      frozenAtMs = frozen.monotonicMs
      try {
        return work()
      } finally {
        frozen = undefined
      }
    },
    msSinceFrozen: () => clock.read().monotonicMs - frozenAtMs,
  }
}
