import { limits } from '@countersign/core/contract'
import { Problem } from '../problem.ts'

/** Of all keys together. */
const PER_NODE_MAX = 8
const PER_KEY_MAX = limits.audit_exports_per_key_max

/** How many exports of the audit run on this node at a time. */
export class ExportQuota {
  readonly #running = new Map<string, number>()
  #count = 0

  /** How many exports run now. */
  get size(): number {
    return this.#count
  }

  /**
   * Begins an export of an API key; the returned function ends it. Throws a Problem `rate_limited`
   * when the key or the node has as many as it may.
   */
  begin(keyId: string): () => void {
    const running = this.#running.get(keyId) ?? 0
    if (running >= PER_KEY_MAX || this.#count >= PER_NODE_MAX)
      throw new Problem(
        'rate_limited',
        'Too many exports of the audit are running on this node. Wait until one has ended.',
        {
          retryAfterSeconds: 1,
          policy: {
            name: 'audit_exports',
            quota: running >= PER_KEY_MAX ? PER_KEY_MAX : PER_NODE_MAX,
            windowSeconds: 1,
          },
        },
      )
    this.#running.set(keyId, running + 1)
    this.#count++
    let isRunning = true
    return () => {
      if (isRunning) this.#end(keyId)
      isRunning = false
    }
  }

  #end(keyId: string): void {
    this.#count--
    const left = (this.#running.get(keyId) ?? 1) - 1
    if (left > 0) this.#running.set(keyId, left)
    else this.#running.delete(keyId)
  }
}
