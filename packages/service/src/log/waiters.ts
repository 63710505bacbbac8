import { Problem } from '../problem.ts'

interface Waiter {
  isReached(): boolean
  /** What it waits for will not come. */
  isHopeless(): boolean
  end(fault?: Problem): void
}

const WAITERS_MAX = 10_000

/** Callers that wait for the views of this node to apply more of the log. */
export class Waiters {
  readonly #waitMsMax: number
  readonly #waiters = new Set<Waiter>()

  constructor(waitMsMax: number) {
    this.#waitMsMax = waitMsMax
  }

  /**
   * Resolves when `check` finds `isReached` true. Rejects with a Problem when it finds `isHopeless`
   * true, when `endAll` is called, after `waitMsMax`, and when too many callers wait already.
   */
  wait(isReached: () => boolean, isHopeless: () => boolean): Promise<void> {
    if (this.#waiters.size >= WAITERS_MAX) return Promise.reject(tooFarProblem())
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        isReached,
        isHopeless,
        end: (fault) => {
          clearTimeout(timer)
          this.#waiters.delete(waiter)
          if (fault === undefined) resolve()
          else reject(fault)
        },
      }
      const timer = setTimeout(() => waiter.end(tooFarProblem()), this.#waitMsMax)
      this.#waiters.add(waiter)
    })
  }

  check(): void {
    for (const waiter of this.#waiters) {
      if (waiter.isReached()) waiter.end()
      else if (waiter.isHopeless()) waiter.end(tooFarProblem())
    }
  }

  endAll(): void {
    for (const waiter of this.#waiters) waiter.end(tooFarProblem())
  }
}

export function tooFarProblem(): Problem {
  return new Problem(
    'revocation_view_stale',
    'This node has not read that far in the revocation log yet. Try again in a moment.',
    { retryAfterSeconds: 1 },
  )
}
