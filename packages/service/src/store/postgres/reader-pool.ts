import { StoreUnavailable } from '../errors.ts'
import { connect, type Query, queryWith, type Sql } from './connect.ts'
import { isDisconnection, toStoreError } from './faults.ts'

/** More than a statement may take: the server itself should be the one to give up first. */
const ANSWER_MS_MAX = 6000

/**
 * Connections that many single statements share, one behind the other. When the server has hung up
 * on one of them, or has not said a word for too long, all are left behind and new ones are made:
 * one that was cut off at the wrong moment would never come back by itself.
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

  /** Single statements only. Rejects in the words of the port. */
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
    working.catch(() => {}) // It may still fail when its result is no longer awaited.
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
