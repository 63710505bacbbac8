import { sha256Hex } from '@countersign/core'
import type { GuardClock } from '../feed/clock.ts'

/** A clock that stands still until it is told to go on. */
export interface TestClock extends GuardClock {
  readonly nowMs: number
  /** How many callbacks are due some time. */
  readonly pending: number
  /**
   * Goes on by so much, with everything that is due on the way, in order. Returns when what that
   * set off has come to rest.
   */
  advance(ms: number): Promise<void>
  /**
   * Sets the wall clock ahead, or back, and nothing else: what a wrong time server or an operator
   * does.
   */
  jump(ms: number): void
}

interface Timer {
  readonly atMs: number
  readonly callback: () => void
}

export function createTestClock(startMs = Date.now()): TestClock {
  const timers = new Set<Timer>()
  let monotonicMs = 0
  let offsetMs = Math.floor(startMs)

  const nextWithin = (endMs: number): Timer | undefined => {
    let next: Timer | undefined
    for (const timer of timers)
      if (timer.atMs <= endMs && (next === undefined || timer.atMs < next.atMs)) next = timer
    return next
  }

  return {
    get nowMs() {
      return offsetMs + monotonicMs
    },
    get pending() {
      return timers.size
    },
    read: () => ({ wallMs: offsetMs + monotonicMs, monotonicMs }),
    after(ms, callback) {
      const timer = { atMs: monotonicMs + Math.max(0, ms), callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    async advance(ms) {
      const endMs = monotonicMs + ms
      await rest()
      for (let timer = nextWithin(endMs); timer !== undefined; timer = nextWithin(endMs)) {
        timers.delete(timer)
        monotonicMs = Math.max(monotonicMs, timer.atMs)
        timer.callback()
        await rest()
      }
      monotonicMs = endMs
      await rest()
    },
    jump(ms) {
      offsetMs += ms
    },
  }
}

const TURNS = 3
/** Where signatures are checked in other threads, a step may wait for one of them several times. */
const TURNS_IN_THREADS = 6
const SOMETHING_LONG = new Uint8Array(65_536)

/**
 * Lets everything run that needs no clock: promises, streams, and what is handed to other threads.
 */
export async function rest(turns = TURNS): Promise<void> {
  const { setImmediate: soon = (callback: () => void) => setTimeout(callback, 0) } = globalThis as {
    setImmediate?: (callback: () => void) => unknown
  }
  const isThreaded = sha256Hex('') instanceof Promise
  for (let i = 0; i < (isThreaded ? turns * TURNS_IN_THREADS : turns); i++) {
    // Whatever was handed over before this is done before this.
    if (isThreaded) await sha256Hex(SOMETHING_LONG)
    await new Promise<void>((resolve) => void soon(resolve))
  }
}
