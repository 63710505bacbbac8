import { StoreUnavailable } from '../errors.ts'
import { type ConnectOptions, connect, type Query, queryWith, type Sql } from './connect.ts'
import { isDisconnection, toStoreError } from './faults.ts'

/** Longer than a statement may take: the server should be the first to give up. */
const ANSWER_MS_MAX = 6000

export interface ReaderPoolOptions extends Pick<ConnectOptions, 'url' | 'max' | 'primaryOnly'> {
  /** For tests. */
  readonly answerMsMax?: number
}

/**
 * Connections that many single statements share in a pipeline. When the server closes one of them,
 * or does not answer for too long, all are replaced: a connection that was cut at the wrong moment
 * would never recover.
 */
export class ReaderPool {
  readonly #options: ConnectOptions
  readonly #answerMsMax: number
  #sql: Sql
  #answeredMs = 0

  constructor({ answerMsMax = ANSWER_MS_MAX, ...options }: ReaderPoolOptions) {
    this.#options = options
    this.#answerMsMax = answerMsMax
    this.#sql = connect(options)
  }

  /**
   * Single statements only, each with a time limit: `work` may read a whole table, page by page.
   * Rejects with the errors of the port.
   */
  async read<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const sql = this.#sql
    const query = queryWith(sql)
    try {
      return await work((text, values) => this.#withTimeout(sql, query(text, values)))
    } catch (fault) {
      if (isDisconnection(fault)) this.#renew(sql)
      throw toStoreError(fault)
    }
  }

  async #withTimeout<T>(sql: Sql, asking: Promise<T>): Promise<T> {
    const sinceMs = performance.now()
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        if (this.#answeredMs < sinceMs) this.#renew(sql)
        reject(new StoreUnavailable('the database took too long'))
      }, this.#answerMsMax)
    })
    asking.catch(() => {}) // It may still fail after the time-out.
    try {
      const answer = await Promise.race([asking, tooLong])
      this.#answeredMs = performance.now()
      return answer
    } finally {
      clearTimeout(timer)
    }
  }

  #renew(sql: Sql): void {
    if (sql !== this.#sql) return
    this.#sql = connect(this.#options)
    sql.end({ timeout: 0 }).catch(() => {})
  }

  async end(): Promise<void> {
    await this.#sql.end({ timeout: 5 })
  }
}
