import type { Clocks } from '@countersign/core'

/** Clocks are never read at the same moment, and NTP moves the wall clock in small steps. */
const SLEEP_MS_MIN = 1000

/**
 * Clocks of a machine that may sleep, such as a laptop, or be paused, such as a virtual machine.
 * The monotonic clock stops meanwhile; here it goes on by what the wall clock was ahead afterwards,
 * so it is no jump. That also believes a wall clock that was set ahead: not for production.
 */
export function countSleep(readClocks: () => Clocks): () => Clocks {
  let asleepMs = 0
  let last = readClocks()
  return () => {
    const { wallMs, monotonicMs } = readClocks()
    const sleptMs = wallMs - last.wallMs - (monotonicMs - last.monotonicMs)
    if (sleptMs >= SLEEP_MS_MIN) asleepMs += sleptMs
    last = { wallMs, monotonicMs }
    return { wallMs, monotonicMs: monotonicMs + asleepMs }
  }
}
