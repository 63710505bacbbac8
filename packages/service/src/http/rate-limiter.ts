import type { RateLimits } from '../config.ts'
import { Problem } from '../problem.ts'
import { addressGroup } from './client-address.ts'

type LimitName = keyof RateLimits

/**
 * Counts requests per caller, on this node only. For each limit a bounded number of callers is
 * kept; the ones idle for longest are dropped first.
 */
export interface RateLimiter {
  /** Counts one request, or throws `rate_limited` when the allowance is used up. */
  consume(name: LimitName, caller: string, nowMs: number): void
  /**
   * Throws `rate_limited` when the allowance is used up, and counts nothing. `isExempt` is asked
   * only then.
   */
  check(name: LimitName, caller: string, nowMs: number, isExempt?: () => boolean): void
  /**
   * Counts without a check: for failures, which are known only afterwards. `times` is the cost,
   * 1 by default.
   */
  record(name: LimitName, caller: string, nowMs: number, times?: number): void
}

/** A sliding window, made from the counts of the current and the previous fixed window. */
interface Window {
  startedAtMs: number
  current: number
  previous: number
}

const CALLERS_MAX = 50_000

/** `nowMs` comes from a monotonic clock. */
export function createRateLimiter(limits: RateLimits, callersMax: number = CALLERS_MAX): RateLimiter {
  const names = Object.keys(limits) as LimitName[]
  const windowsByName = Object.fromEntries(names.map((name) => [name, new Map<string, Window>()])) as Record<
    LimitName,
    Map<string, Window>
  >

  const currentWindow = (name: LimitName, caller: string, nowMs: number): Window => {
    const { per, window_seconds: seconds } = limits[name]
    const windows = windowsByName[name]
    const id = per === 'address' ? addressGroup(caller) : caller
    const spanMs = seconds * 1000
    const found = windows.get(id)
    if (found !== undefined && nowMs - found.startedAtMs < spanMs) return found
    const startedAtMs = nowMs - (nowMs % spanMs)
    const isNext = found !== undefined && startedAtMs - found.startedAtMs <= spanMs
    const window = { startedAtMs, current: 0, previous: isNext ? found.current : 0 }
    // Inserted at the end: the first entry of the map is always the one idle for longest.
    windows.delete(id)
    const idlest = windows.size >= callersMax ? windows.keys().next().value : undefined
    if (idlest !== undefined) windows.delete(idlest)
    windows.set(id, window)
    return window
  }

  const isOver = (name: LimitName, window: Window, nowMs: number): boolean => {
    const { requests, window_seconds: seconds } = limits[name]
    return (
      window.previous * (1 - (nowMs - window.startedAtMs) / (seconds * 1000)) + window.current >= requests
    )
  }
  const rateLimited = (name: LimitName, window: Window, nowMs: number): Problem => {
    const { requests, window_seconds: seconds } = limits[name]
    const pastSeconds = (nowMs - window.startedAtMs) / 1000
    return new Problem('rate_limited', undefined, {
      retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds(window, requests, seconds) - pastSeconds)),
      policy: { name, quota: requests, windowSeconds: seconds },
    })
  }

  return {
    consume(name, caller, nowMs) {
      const window = currentWindow(name, caller, nowMs)
      if (isOver(name, window, nowMs)) throw rateLimited(name, window, nowMs)
      window.current++
    },
    check(name, caller, nowMs, isExempt) {
      const window = currentWindow(name, caller, nowMs)
      if (isOver(name, window, nowMs) && !(isExempt?.() ?? false)) throw rateLimited(name, window, nowMs)
    },
    record(name, caller, nowMs, times = 1) {
      currentWindow(name, caller, nowMs).current += times
    },
  }
}

/**
 * The seconds from the start of the window until one more request is allowed: when the weight of
 * the previous window has fallen far enough.
 */
function waitSeconds({ current, previous }: Window, requests: number, seconds: number): number {
  const room = requests - current - 1
  if (room >= 0) return seconds * (1 - room / previous)
  return seconds + seconds * Math.max(0, 1 - (requests - 1) / current)
}
