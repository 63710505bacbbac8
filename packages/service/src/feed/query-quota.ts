import { limits } from '@countersign/core/contract'
import { Problem } from '../problem.ts'

/** How many queries about verifiers each API key may run at a time. */
export class QueryQuota {
  readonly #running = new Map<string, number>()

  /**
   * Runs a query for an API key. The query counts for `restMs()` longer than it runs. Throws a
   * Problem `rate_limited` when the key has as many queries as it may.
   */
  async run<Answer>(keyId: string, query: () => Promise<Answer>, restMs: () => number): Promise<Answer> {
    const running = this.#running.get(keyId) ?? 0
    const quota = limits.verifier_queries_per_key_max
    if (running >= quota)
      throw new Problem(
        'rate_limited',
        `This key has ${quota} queries about verifiers under way on this node. Send fewer at a time.`,
        { retryAfterSeconds: 1, policy: { name: 'verifier_queries', quota, windowSeconds: 1 } },
      )
    this.#running.set(keyId, running + 1)
    try {
      return await query()
    } finally {
      const ms = restMs()
      if (ms < 1) this.#end(keyId)
      else setTimeout(() => this.#end(keyId), ms).unref()
    }
  }

  #end(keyId: string): void {
    const left = (this.#running.get(keyId) ?? 1) - 1
    if (left > 0) this.#running.set(keyId, left)
    else this.#running.delete(keyId)
  }
}
