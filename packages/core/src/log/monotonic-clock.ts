import type { Clocks } from './freshness.ts'

/**
 * `jumped`: the wall clock is `aheadMs` further than the monotonic clock explains. The caller must
 * deny everything until this is resolved.
 */
export type ClockReading =
  | { readonly ms: number; readonly jumped?: never }
  | { readonly jumped: true; readonly aheadMs: number; readonly ms?: never }

export interface MonotonicClockOptions {
  /** The highest time in the store, including earlier runs. */
  readonly confirmedMs?: number
  readonly jumpMsMax?: number
}

export interface MonotonicClock {
  /** The current time, never less than a time returned or confirmed before. */
  now(clocks: Clocks): ClockReading
  /**
   * Raises the lower bound to a time that the store has recorded, that its own clock returned, or
   * that a proven heartbeat states. Never lowers it. Do not pass a wall clock reading: it would
   * confirm itself.
   */
  confirm(storeMs: number, monotonicMs: number): void
  /**
   * Accepts the wall clock, even if time goes back. Only for an operator who has checked the clock;
   * write the result to the audit log.
   */
  reset(clocks: Clocks): { readonly movedMs: number }
}

const JUMP_MS_MAX = 60_000

/**
 * Creates a clock that never runs back, so that expired credentials stay expired: despite clock
 * changes, and with `confirmedMs` also across restarts.
 *
 * It assumes that the monotonic clock is never too fast but may stop while the machine sleeps. It
 * accepts the first wall clock reading, because a long downtime and a wrong clock look the same.
 * After that, a wall clock more than 60 s ahead of the monotonic clock is a jump: the clock was
 * set, or the machine slept. Both need a confirmation from another clock, a restart or `reset`. If
 * the wall clock is set back, time stops until the wall clock or a confirmed time catches
 * up. Nothing expires in the meantime, as with any slow clock.
 */
export function createMonotonicClock({
  confirmedMs = Number.NEGATIVE_INFINITY,
  jumpMsMax = JUMP_MS_MAX,
}: MonotonicClockOptions = {}): MonotonicClock {
  if (Number.isNaN(confirmedMs) || !(jumpMsMax >= 0))
    throw new TypeError('confirmedMs and jumpMsMax must be numbers')
  let lowestMs = confirmedMs
  /**
   * A confirmed time and the monotonic clock at that moment. `now` does not move it, otherwise many
   * small jumps could add up to a large one.
   */
  let anchor: { readonly ms: number; readonly monotonicMs: number } | undefined

  const expectedMs = (monotonicMs: number) =>
    anchor === undefined
      ? Number.NEGATIVE_INFINITY
      : anchor.ms + Math.max(0, monotonicMs - anchor.monotonicMs)

  return {
    now({ wallMs, monotonicMs }) {
      requireNumbers(wallMs, monotonicMs)
      anchor ??= { ms: Math.max(wallMs, lowestMs), monotonicMs }
      const aheadMs = wallMs - expectedMs(monotonicMs)
      if (aheadMs > jumpMsMax) return { jumped: true, aheadMs }
      lowestMs = Math.max(lowestMs, wallMs)
      return { ms: lowestMs }
    },

    confirm(storeMs, monotonicMs) {
      requireNumbers(storeMs, monotonicMs)
      lowestMs = Math.max(lowestMs, storeMs)
      // Ignore times older than expected, which come from a slow network or clock. They must not
      // make the next wall clock reading look like a jump.
      if (storeMs > expectedMs(monotonicMs)) anchor = { ms: storeMs, monotonicMs }
    },

    reset({ wallMs, monotonicMs }) {
      requireNumbers(wallMs, monotonicMs)
      const movedMs = Number.isFinite(lowestMs) ? wallMs - lowestMs : 0
      lowestMs = wallMs
      anchor = { ms: wallMs, monotonicMs }
      return { movedMs }
    },
  }
}

function requireNumbers(oneMs: number, otherMs: number): void {
  if (!Number.isFinite(oneMs) || !Number.isFinite(otherMs))
    throw new TypeError('a clock must return a number')
}
