import type { Clocks } from '@countersign/core'

/** Where a guard gets time from. Tests bring their own. */
export interface GuardClock {
  /** Both clocks, read together. */
  read(): Clocks
  /**
   * Calls back once, that many milliseconds later, and keeps no process alive for it. The answer
   * calls it off.
   */
  after(ms: number, callback: () => void): () => void
}

/** The clocks of this process. */
export const systemClock: GuardClock = {
  read: () => ({ wallMs: Date.now(), monotonicMs: performance.now() }),
  after(ms, callback) {
    const timer: unknown = setTimeout(callback, ms)
    // Browsers have numbers for timers; Node's would keep the process waiting.
    ;(timer as { unref?: () => void }).unref?.()
    return () => clearTimeout(timer as number)
  },
}

/** A clock that stands still for as long as one piece of work goes on without waiting. */
export interface TurnClock extends GuardClock {
  turn<Result>(work: () => Result): Result
}

/**
 * Read once for a decision and not once for each question in it: reading clocks would be a quarter
 * of its time.
 */
export function createTurnClock(clock: GuardClock): TurnClock {
  let turn: Clocks | undefined
  return {
    read: () => turn ?? clock.read(),
    after: (ms, callback) => clock.after(ms, callback),
    turn(work) {
      turn = clock.read()
      try {
        return work()
      } finally {
        turn = undefined
      }
    },
  }
}
