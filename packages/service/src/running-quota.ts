import { Problem } from './problem.ts'

interface CountLimits {
  readonly perKeyMax: number
  /** Of all keys together. */
  readonly perNodeMax: number
}

export interface RunningLimits extends CountLimits {
  /** Of the allowance, in the RateLimit headers. */
  readonly name: string
  /** For the caller that is rejected. */
  readonly detail: string
}

/** Counts what runs on this node at a time, by key. */
export class RunningCount {
  readonly #limits: CountLimits
  readonly #running = new Map<string, number>()
  #count = 0

  constructor(limits: CountLimits) {
    this.#limits = limits
  }

  /** How many run now. */
  get size(): number {
    return this.#count
  }

  /** The limit that the key or the node has reached. Undefined while there is room for one more. */
  findReached(key: string): number | undefined {
    const { perKeyMax, perNodeMax } = this.#limits
    if ((this.#running.get(key) ?? 0) >= perKeyMax) return perKeyMax
    return this.#count >= perNodeMax ? perNodeMax : undefined
  }

  /** Begins one; the returned function ends it. Undefined when a limit is reached. */
  tryBegin(key: string): (() => void) | undefined {
    if (this.findReached(key) !== undefined) return undefined
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

/** How many requests of a kind run on this node at a time. */
export class RunningQuota extends RunningCount {
  readonly #rejection: Pick<RunningLimits, 'name' | 'detail'>

  constructor(limits: RunningLimits) {
    super(limits)
    this.#rejection = limits
  }

  /** Throws a Problem `rate_limited` when the key or the node has as many as it may. */
  check(key: string): void {
    const quota = this.findReached(key)
    if (quota === undefined) return
    const { name, detail } = this.#rejection
    const policy = { name, quota, windowSeconds: 1 }
    throw new Problem('rate_limited', detail, { retryAfterSeconds: 1, policy })
  }

  /** Begins one; the returned function ends it. Throws as `check` does. */
  begin(key: string): () => void {
    this.check(key)
    return this.tryBegin(key) as () => void
  }
}
