import type { RateLimits } from '../config.ts'
import { Problem } from '../problem.ts'
import { addressGroup } from './client-address.ts'

type LimitName = keyof RateLimits

/**
 * Counts what callers do, on this node alone. Of each limit never more than so many callers are
 * remembered; the ones quiet for longest go first.
 */
export interface Paces {
  /** Counts one; throws `rate_limited` instead when the allowance is used up. */
  spend(name: LimitName, who: string, nowMs: number): void
  /**
   * Throws `rate_limited` when the allowance is used up, and counts nothing. `isExempt` is asked
   * only then.
   */
  check(name: LimitName, who: string, nowMs: number, isExempt?: () => boolean): void
  /**
   * Counts whatever the allowance: for failures, which are known only afterwards. `times`: what it
   * has cost, one unless it is given.
   */
  count(name: LimitName, who: string, nowMs: number, times?: number): void
}

/** A sliding window, from the counts of this and the last fixed one. */
interface Window {
  startedAtMs: number
  current: number
  previous: number
}

const CALLERS_MAX = 50_000

/** `nowMs` comes from a clock that never runs back. */
export function createPaces(limits: RateLimits, callersMax: number = CALLERS_MAX): Paces {
  const names = Object.keys(limits) as LimitName[]
  const windowsOf = Object.fromEntries(names.map((name) => [name, new Map<string, Window>()])) as Record<
    LimitName,
    Map<string, Window>
  >

  const windowOf = (name: LimitName, who: string, nowMs: number): Window => {
    const { per, window_seconds: seconds } = limits[name]
    const windows = windowsOf[name]
    const id = per === 'address' ? addressGroup(who) : who
    const spanMs = seconds * 1000
    const found = windows.get(id)
    if (found !== undefined && nowMs - found.startedAtMs < spanMs) return found
    const startedAtMs = nowMs - (nowMs % spanMs)
    const isNext = found !== undefined && startedAtMs - found.startedAtMs <= spanMs
    const window = { startedAtMs, current: 0, previous: isNext ? found.current : 0 }
    // Set again at the end: the first of the map is always the one that has been quiet for longest.
    windows.delete(id)
    const quietest = windows.size >= callersMax ? windows.keys().next().value : undefined
    if (quietest !== undefined) windows.delete(quietest)
    windows.set(id, window)
    return window
  }

  const isOver = (name: LimitName, window: Window, nowMs: number): boolean => {
    const { requests, window_seconds: seconds } = limits[name]
    return (
      window.previous * (1 - (nowMs - window.startedAtMs) / (seconds * 1000)) + window.current >= requests
    )
  }
  const refusal = (name: LimitName, window: Window, nowMs: number): Problem => {
    const { requests, window_seconds: seconds } = limits[name]
    const pastSeconds = (nowMs - window.startedAtMs) / 1000
    return new Problem('rate_limited', undefined, {
      retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds(window, requests, seconds) - pastSeconds)),
      policy: { name, quota: requests, windowSeconds: seconds },
    })
  }

  return {
    spend(name, who, nowMs) {
      const window = windowOf(name, who, nowMs)
      if (isOver(name, window, nowMs)) throw refusal(name, window, nowMs)
      window.current++
    },
    check(name, who, nowMs, isExempt) {
      const window = windowOf(name, who, nowMs)
      if (isOver(name, window, nowMs) && !(isExempt?.() ?? false)) throw refusal(name, window, nowMs)
    },
    count(name, who, nowMs, times = 1) {
      windowOf(name, who, nowMs).current += times
    },
  }
}

/**
 * How long after the start of the window there is room for one more: where the weight of the window
 * before has fallen far enough.
 */
function waitSeconds({ current, previous }: Window, requests: number, seconds: number): number {
  const room = requests - current - 1
  if (room >= 0) return seconds * (1 - room / previous)
  return seconds + seconds * Math.max(0, 1 - (requests - 1) / current)
}
