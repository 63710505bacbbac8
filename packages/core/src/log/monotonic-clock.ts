import type { Clocks } from './freshness.ts'

/**
 * `jumped`: the wall clock is `aheadMs` further than the monotonic clock can explain. Nothing may
 * be decided until that is cleared up.
 */
export type ClockReading =
  | { readonly ms: number; readonly jumped?: never }
  | { readonly jumped: true; readonly aheadMs: number; readonly ms?: never }

export interface MonotonicClockOptions {
  /** The highest time that the store has on record, from earlier runs too. */
  readonly confirmedMs?: number
  readonly jumpMsMax?: number
}

export interface MonotonicClock {
  /** The time to decide by: never less than any time given or confirmed before. */
  now(clocks: Clocks): ClockReading
  /**
   * Moves the mark up to a time that the store has on record or has read from its own clock (or
   * that a proven heartbeat gives), never back. Give only what `now` returned or what came from
   * such another clock; a wall clock by itself confirms nothing.
   */
  confirm(storeMs: number, monotonicMs: number): void
  /**
   * Believes the wall clock, even if that means going back. For an operator who has looked, and to
   * be audited with the answer.
   */
  reset(clocks: Clocks): { readonly movedMs: number }
}

const JUMP_MS_MAX = 60_000

/**
 * A clock that never runs back, so that what was expired stays expired: across clock changes by
 * itself, across restarts with `confirmedMs`.
 *
 * Assumed: the monotonic clock does not run faster than time, but may stand still while the machine
 * sleeps. The wall clock at the start of a process is believed, since nothing can tell a long
 * downtime from a wrong clock. From then on a lead of the wall clock of more than 60 s over what
 * the monotonic clock allows is a jump: a clock set wrong, or a machine that slept. The two look
 * alike from inside, so both wait for a confirmation from elsewhere, a restart or `reset`. A clock
 * set back makes time stand still, not go back, until the wall clock or a confirmed time has caught
 * up; meanwhile nothing new expires, as with any clock that is slow.
 */
export function createMonotonicClock({
  confirmedMs = Number.NEGATIVE_INFINITY,
  jumpMsMax = JUMP_MS_MAX,
}: MonotonicClockOptions = {}): MonotonicClock {
  if (Number.isNaN(confirmedMs) || !(jumpMsMax >= 0))
    throw new TypeError('confirmedMs and jumpMsMax must be numbers')
  let markMs = confirmedMs
  /**
   * A time known to be right and the monotonic clock at that moment. Not moved by `now`, or many
   * small jumps would make a large one.
   */
  let anchor: { readonly ms: number; readonly monotonicMs: number } | undefined

  const expectedMs = (monotonicMs: number) =>
    anchor === undefined
      ? Number.NEGATIVE_INFINITY
      : anchor.ms + Math.max(0, monotonicMs - anchor.monotonicMs)

  return {
    now({ wallMs, monotonicMs }) {
      requireNumbers(wallMs, monotonicMs)
      anchor ??= { ms: Math.max(wallMs, markMs), monotonicMs }
      const aheadMs = wallMs - expectedMs(monotonicMs)
      if (aheadMs > jumpMsMax) return { jumped: true, aheadMs }
      markMs = Math.max(markMs, wallMs)
      return { ms: markMs }
    },

    confirm(storeMs, monotonicMs) {
      requireNumbers(storeMs, monotonicMs)
      markMs = Math.max(markMs, storeMs)
      // A time behind what we expect, late from the network or from a slow clock, is no reason to
      // call the wall clock's next step a jump.
      if (storeMs > expectedMs(monotonicMs)) anchor = { ms: storeMs, monotonicMs }
    },

    reset({ wallMs, monotonicMs }) {
      requireNumbers(wallMs, monotonicMs)
      const movedMs = Number.isFinite(markMs) ? wallMs - markMs : 0
      markMs = wallMs
      anchor = { ms: wallMs, monotonicMs }
      return { movedMs }
    },
  }
}

function requireNumbers(oneMs: number, otherMs: number): void {
  if (!Number.isFinite(oneMs) || !Number.isFinite(otherMs)) throw new TypeError('a clock must give a number')
}
