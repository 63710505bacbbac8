import { StoreUnavailable } from '../errors.ts'
import type { Row, SqlValue } from '../transaction.ts'
import { ask, type ConnectOptions, connect, type Query, type Sql } from './connect.ts'
import { isAfterFailure, isRetryable, isStatementError, toStoreError } from './faults.ts'

/** Longer than a statement may take: the server should be the first to give up. */
const ANSWER_MS_MAX = 6000
const TRIES = 4

/**
 * One connection, which runs one transaction at a time. A lost connection is never used again,
 * least of all for the rest of a transaction.
 */
class Session {
  readonly #sql: Sql
  /** Statements without an answer yet. */
  readonly #asked = new Set<ReturnType<typeof ask>>()
  isLost = false

  constructor(options: WriterPoolOptions) {
    this.#sql = connect({
      ...options,
      max: 1,
      onClose: () => this.#lose(),
    })
  }

  /**
   * The driver reconnects silently and sends the statements that it has queued, each outside the
   * lost transaction. It calls this before, so that they can be cancelled.
   */
  #lose(): void {
    this.isLost = true
    for (const asked of this.#asked) asked.cancel()
  }

  readonly query: Query = async (text, values) => {
    if (this.isLost) throw lost()
    const asked = ask(this.#sql, text, values)
    this.#asked.add(asked)
    try {
      return (await asked) as unknown as readonly Row[]
    } catch (fault) {
      throw this.isLost ? lost(fault) : fault
    } finally {
      this.#asked.delete(asked)
    }
  }

  async transaction<T>(work: Work<T>): Promise<T> {
    await this.query('BEGIN')
    const sent: Promise<unknown>[] = []
    const send: OpenTransaction['send'] = (text, values) => {
      const answer = this.query(text, values)
      answer.catch(() => {}) // Awaited below.
      sent.push(answer)
    }
    try {
      const result = await work({ query: this.query, send })
      // Sent without waiting for the statements before it: transactions that wait for the head of
      // the log wait for one round trip, not for one per statement.
      const committed = this.query('COMMIT')
      committed.catch(() => {})
      await Promise.all(sent)
      const { command } = (await committed) as unknown as { readonly command?: string }
      // COMMIT of a failed transaction rolls back without an error.
      if (command !== 'COMMIT') throw new Error('the database did not commit')
      return result
    } catch (fault) {
      for (const answer of sent)
        await answer.catch((other: unknown) => {
          if (!isAfterFailure(other)) throw other
        })
      throw fault
    }
  }

  discard(): void {
    this.isLost = true
    this.#sql.end({ timeout: 0 }).catch(() => {})
  }

  async end(): Promise<void> {
    this.isLost = true
    await this.#sql.end({ timeout: 5 })
  }
}

function tookTooLong(): StoreUnavailable {
  return new StoreUnavailable('the database took too long')
}

function lost(cause?: unknown): StoreUnavailable {
  return new StoreUnavailable('the connection to the database was lost', { cause })
}

/** An open transaction. */
export interface OpenTransaction {
  readonly query: Query
  /** Sends a statement without waiting for it. If it fails, the transaction fails. */
  readonly send: (text: string, values: readonly SqlValue[]) => void
}

type Work<T> = (transaction: OpenTransaction) => Promise<T>

export interface WriterPoolOptions extends Pick<ConnectOptions, 'url' | 'statementMsMax' | 'lockMsMax'> {
  /** Maximum number of concurrent transactions. */
  readonly max: number
  /** How long a transaction may take, including the wait for a connection. */
  readonly answerMsMax?: number
}

interface Waiting {
  readonly deadlineMs: number
  readonly start: (session: Session) => void
  readonly reject: (fault: Error) => void
}

/**
 * Runs transactions, each on its own connection. The driver's own `begin` throws where it cannot be
 * caught when a connection dies, and may continue the transaction on another connection. Here a
 * lost connection ends the transaction.
 */
export class WriterPool {
  readonly #options: WriterPoolOptions
  readonly #all = new Set<Session>()
  readonly #idle: Session[] = []
  readonly #waiting = new Set<Waiting>()
  readonly #answerMsMax: number
  #isOver = false

  constructor(options: WriterPoolOptions) {
    this.#options = options
    this.#answerMsMax = options.answerMsMax ?? ANSWER_MS_MAX
  }

  /**
   * Runs `work` in one transaction, and repeats it when it loses against another one. `noTimeout`:
   * it may take any time. Rejects with the errors of the port.
   */
  async transaction<T>(work: Work<T>, { noTimeout = false } = {}): Promise<T> {
    for (let left = TRIES - 1; ; left--) {
      try {
        return await this.#once(work, noTimeout)
      } catch (fault) {
        if (left > 0 && isRetryable(fault)) continue
        throw toStoreError(fault)
      }
    }
  }

  #once<T>(work: Work<T>, noTimeout: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let session: Session | undefined
      let timer: NodeJS.Timeout | undefined
      const waiting: Waiting = {
        deadlineMs: noTimeout ? Number.POSITIVE_INFINITY : performance.now() + this.#answerMsMax,
        start: (free) => {
          session = free
          this.#use(free, work)
            .then(resolve, reject)
            .finally(() => clearTimeout(timer))
        },
        reject: (fault) => {
          clearTimeout(timer)
          reject(fault)
        },
      }
      if (!noTimeout) {
        timer = setTimeout(() => {
          this.#waiting.delete(waiting)
          reject(tookTooLong())
          if (session !== undefined) this.#discard(session)
        }, this.#answerMsMax)
      }
      this.#waiting.add(waiting)
      this.#next()
    })
  }

  #next(): void {
    for (const waiting of this.#waiting) {
      if (this.#isOver) {
        this.#waiting.delete(waiting)
        waiting.reject(new StoreUnavailable('the store is closed'))
        continue
      }
      let session = this.#findIdle()
      if (session === undefined) {
        if (this.#all.size >= this.#options.max) return
        // After a jam, the waiting transactions expire one after the other. Each would otherwise
        // open a connection and discard it soon after, until the database has none left.
        if (waiting.deadlineMs - performance.now() < this.#answerMsMax / 6) {
          this.#waiting.delete(waiting)
          waiting.reject(tookTooLong())
          continue
        }
        session = new Session(this.#options)
        this.#all.add(session)
      }
      this.#waiting.delete(waiting)
      waiting.start(session)
    }
  }

  #findIdle(): Session | undefined {
    for (let session = this.#idle.pop(); session !== undefined; session = this.#idle.pop()) {
      if (!session.isLost) return session
      this.#all.delete(session)
      session.discard()
    }
    return undefined
  }

  async #use<T>(session: Session, work: Work<T>): Promise<T> {
    try {
      const result = await session.transaction(work)
      this.#release(session)
      return result
    } catch (fault) {
      if (session.isLost || !(await this.#hasRolledBack(session, fault))) this.#discard(session)
      else this.#release(session)
      throw fault
    }
  }

  async #hasRolledBack(session: Session, fault: unknown): Promise<boolean> {
    if (toStoreError(fault) instanceof StoreUnavailable && !isStatementError(fault)) return false
    try {
      await session.query('ROLLBACK')
      return !session.isLost
    } catch {
      return false
    }
  }

  #release(session: Session): void {
    if (session.isLost || this.#isOver) this.#discard(session)
    else this.#idle.push(session)
    this.#next()
  }

  #discard(session: Session): void {
    if (!this.#all.delete(session)) return
    session.discard()
    this.#next()
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.#next()
    const sessions = [...this.#all]
    this.#all.clear()
    this.#idle.length = 0
    await Promise.all(sessions.map((session) => session.end()))
  }
}
