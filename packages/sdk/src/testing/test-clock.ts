import { isPromise, sha256Hex } from '@countersign/core'
import type { GuardClock } from '../feed/clock.ts'

/** A clock that moves only when the test advances it. */
export interface TestClock extends GuardClock {
  readonly nowMs: number
  /** The number of pending timers. */
  readonly pending: number
  /**
   * Advances by this time and fires the timers that become due, in order. Resolves when the work
   * that they started is done.
   */
  advance(ms: number): Promise<void>
  /** Moves only the wall clock, ahead or back, as a wrong time server or an operator does. */
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

/** As they were when this was loaded: tests of an application may replace them by fake timers. */
const { setTimeout: later, setImmediate: soon = (callback: () => void) => later(callback, 0) } =
  globalThis as {
    setTimeout(callback: () => void, ms: number): unknown
    setImmediate?: (callback: () => void) => unknown
  }
const TURNS = 3
/** Where signatures are checked in other threads, a step may wait for one of them several times. */
const TURNS_IN_THREADS = 6
const LONG_INPUT = new Uint8Array(65_536)

/** Lets all work finish that needs no timer: promises, streams, and work of other threads. */
export async function rest(turns = TURNS): Promise<void> {
  const isThreaded = isPromise(sha256Hex(''))
  for (let i = 0; i < (isThreaded ? turns * TURNS_IN_THREADS : turns); i++) {
    // Work that was queued before this is done before this.
    if (isThreaded) await sha256Hex(LONG_INPUT)
    await new Promise<void>((resolve) => void soon(resolve))
  }
}
