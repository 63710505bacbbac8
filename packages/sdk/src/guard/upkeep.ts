import type { GuardClock } from '../feed/clock.ts'
import type { AccessMonitor } from './access-monitor.ts'
import type { BearerTokens } from './bearer-tokens.ts'
import type { GuardData } from './guard-data.ts'
import type { Readiness } from './readiness.ts'

export interface UpkeepOptions {
  readonly clock: GuardClock
  readonly data: GuardData
  readonly tokens: BearerTokens
  readonly monitor: AccessMonitor
  readonly readiness: Readiness
}

const TIMER_MS_MAX = 3_600_000

/** Applies what has changed to what the guard remembers, to running requests and to its state. */
export class Upkeep {
  readonly #options: UpkeepOptions
  #epoch = ''
  #isClosed = false
  #cancelTimer = () => {}

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  /**
   * Call it after every change that may affect a decision, and when time alone may have changed
   * one.
   */
  update(): void {
    const { data, tokens, monitor, readiness } = this.#options
    data.signatures.clearHeaders()
    if (data.site.head.epoch !== this.#epoch) {
      this.#epoch = data.site.head.epoch
      tokens.forget()
    }
    monitor.check()
    this.setTimer()
    readiness.update()
  }

  /** Calls `update` when the data becomes stale or the next watched access expires. */
  setTimer(): void {
    const { clock, data, monitor } = this.#options
    this.#cancelTimer()
    if (this.#isClosed) return
    const untilStaleMs = data.freshMsMax - data.ageMs + 1
    const untilExpiryMs = monitor.nextExpiryMs - (data.nowMs() ?? Infinity)
    const ms = Math.min(...[untilStaleMs, untilExpiryMs].filter((left) => left > 0), TIMER_MS_MAX)
    // Whole milliseconds: a fraction too small to advance the clock would fire again without end.
    this.#cancelTimer = clock.after(Math.max(1, Math.floor(ms)), () => this.update())
  }

  close(): void {
    this.#isClosed = true
    this.#cancelTimer()
  }
}
