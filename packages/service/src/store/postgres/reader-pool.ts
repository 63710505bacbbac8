import { StoreUnavailable } from '../errors.ts'
import { connect, type Query, queryWith, type Sql } from './connect.ts'
import { isDisconnection, toStoreError } from './faults.ts'

/** Longer than a statement may take: the server should be the first to give up. */
const ANSWER_MS_MAX = 6000

/**
 * Connections that many single statements share in a pipeline. When the server closes one of them,
 * or does not answer for too long, all are replaced: a connection that was cut at the wrong moment
 * would never recover.
 */
export class ReaderPool {
  readonly #url: string
  readonly #max: number
  #sql: Sql
  #answeredMs = 0

  constructor({ url, max }: { readonly url: string; readonly max: number }) {
    this.#url = url
    this.#max = max
    this.#sql = connect({ url, max })
  }

  /** Single statements only. Rejects with the errors of the port. */
  async read<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const sql = this.#sql
    const sinceMs = performance.now()
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        if (this.#answeredMs < sinceMs) this.#renew(sql)
        reject(new StoreUnavailable('the database took too long'))
      }, ANSWER_MS_MAX)
    })
    const working = work(queryWith(sql))
    working.catch(() => {}) // It may still fail after the time-out.
    try {
      const answer = await Promise.race([working, tooLong])
      this.#answeredMs = performance.now()
      return answer
    } catch (fault) {
      if (isDisconnection(fault)) this.#renew(sql)
      throw toStoreError(fault)
    } finally {
      clearTimeout(timer)
    }
  }

  #renew(sql: Sql): void {
    if (sql !== this.#sql) return
    this.#sql = connect({ url: this.#url, max: this.#max })
    sql.end({ timeout: 0 }).catch(() => {})
  }

  async end(): Promise<void> {
    await this.#sql.end({ timeout: 5 })
  }
}
