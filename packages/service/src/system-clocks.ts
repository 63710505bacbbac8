import type { Clocks } from '@countersign/core'

/** What both clocks of the machine say. */
export function systemClocks(): Clocks {
  return { wallMs: Date.now(), monotonicMs: performance.now() }
}
