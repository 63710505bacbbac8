import { Problem } from './problem.ts'

export interface RunningLimits {
  /** Of the allowance, in the RateLimit headers. */
  readonly name: string
  readonly perKeyMax: number
  /** Of all keys together. */
  readonly perNodeMax: number
  /** For the caller that is rejected. */
  readonly detail: string
}

/** How many requests of a kind run on this node at a time. */
export class RunningQuota {
  readonly #limits: RunningLimits
  readonly #running = new Map<string, number>()
  #count = 0

  constructor(limits: RunningLimits) {
    this.#limits = limits
  }

  /** How many run now. */
  get size(): number {
    return this.#count
  }

  /** Throws a Problem `rate_limited` when the key or the node has as many as it may. */
  check(key: string): void {
    const { name, perKeyMax, perNodeMax, detail } = this.#limits
    const isKeyFull = (this.#running.get(key) ?? 0) >= perKeyMax
    if (!isKeyFull && this.#count < perNodeMax) return
    const policy = { name, quota: isKeyFull ? perKeyMax : perNodeMax, windowSeconds: 1 }
    throw new Problem('rate_limited', detail, { retryAfterSeconds: 1, policy })
  }

  /** Begins one; the returned function ends it. Throws as `check` does. */
  begin(key: string): () => void {
    this.check(key)
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1)
    this.#count++
    let isRunning = true
    return () => {
      if (isRunning) this.#end(key)
      isRunning = false
    }
  }

  #end(key: string): void {
    this.#count--
    const left = (this.#running.get(key) ?? 1) - 1
    if (left > 0) this.#running.set(key, left)
    else this.#running.delete(key)
  }
}
