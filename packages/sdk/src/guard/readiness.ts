import type { GuardClock } from '../feed/clock.ts'
import { GuardNotReady } from './not-ready.ts'
import type { GuardState } from './state.ts'

export interface ReadinessOptions {
  readonly siteId: string
  readonly clock: GuardClock
  readonly readState: () => GuardState
  /** Default: the console shows problems and carried revocations. */
  readonly onStateChange: ((state: GuardState) => void) | undefined
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** Node runs a longer timer at once. So long a wait needs no end. */
const TIMER_MS_MAX = 2 ** 31 - 1
/** How long the first requests after a start wait for revocation data before they are denied. */
const FIRST_WAIT_MS = 5_000

/** Lets callers wait until the guard is ready, and reports every change of its state. */
export class Readiness {
  readonly #options: ReadinessOptions
  readonly #waiters = new Set<Waiter>()
  #firstWait: Promise<void> | undefined
  #closedBecause: Error | undefined
  #reported = ''
  #reportedCarried = 0
  #isHostReported = false

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** What a request has to wait for right after the start; undefined later. */
  get firstWait(): Promise<void> | undefined {
    return this.#firstWait
  }

  /** Call it when the guard starts to follow the log. */
  beginFirstWait(): void {
    this.#firstWait = new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(FIRST_WAIT_MS, resolve)
      this.wait().then(cancel, cancel).then(resolve)
    }).then(() => {
      this.#firstWait = undefined
    })
  }

  /** Resolves when the guard is ready. Rejects with a `GuardNotReady` after `timeoutMs`. */
  async wait(timeoutMs?: number): Promise<void> {
    const { siteId, clock, readState } = this.#options
    if (this.#closedBecause !== undefined) throw this.#closedBecause
    if (readState().ready) return
    let cancel = () => {}
    await new Promise<void>((resolve, reject) => {
      const waiter = { resolve, reject }
      this.#waiters.add(waiter)
      if (timeoutMs === undefined || timeoutMs > TIMER_MS_MAX) return
      cancel = clock.after(timeoutMs, () => {
        this.#waiters.delete(waiter)
        reject(new GuardNotReady(siteId, timeoutMs, readState().problem))
      })
    }).finally(() => cancel())
  }

  /** Call it after every change that may affect the state. */
  update(): void {
    const { onStateChange, readState } = this.#options
    const state = readState()
    if (state.ready) {
      for (const { resolve } of this.#waiters) resolve()
      this.#waiters.clear()
    }
    const { ready, connection, problem, epoch, carriedRevocations = 0 } = state
    const now = `${ready} ${connection} ${carriedRevocations} ${problem?.code}`
    if (now === this.#reported) return
    const isNewProblem = problem !== undefined && !this.#reported.endsWith(` ${problem.code}`)
    const isNewCarried = carriedRevocations > 0 && carriedRevocations !== this.#reportedCarried
    this.#reported = now
    this.#reportedCarried = carriedRevocations
    if (onStateChange !== undefined) {
      try {
        onStateChange(state)
      } catch (error) {
        // An error of the application's listener must not look like one of the log.
        console.error(error)
      }
      return
    }
    if (isNewProblem) this.#warn(`${problem.code}: ${problem.detail}`)
    if (isNewCarried)
      this.#warn(
        `epoch ${epoch} of the log lacks ${carriedRevocations} revocations that this guard has proof of; they stay in effect here. Revoke them again on the service.`,
      )
  }

  /**
   * Warns once: only the operator can fix the host, and callers must not be able to fill the log.
   */
  reportHost(detail: string): void {
    if (this.#isHostReported || this.#options.onStateChange !== undefined) return
    this.#isHostReported = true
    this.#warn(`a holder proof was rejected: ${detail}`)
  }

  close(reason: Error): void {
    this.#closedBecause = reason
    for (const { reject } of this.#waiters) reject(reason)
    this.#waiters.clear()
  }

  #warn(text: string): void {
    console.warn(`countersign guard of ${this.#options.siteId}: ${text}`)
  }
}
