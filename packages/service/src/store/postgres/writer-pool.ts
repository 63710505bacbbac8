import { StoreUnavailable } from '../errors.ts'
import type { Row, SqlValue } from '../transaction.ts'
import { ask, type ConnectOptions, connect, type Query, type Sql } from './connect.ts'
import { isRefusal, isRetryable, toStoreError } from './faults.ts'

/** Longer than a statement may take: the server itself should be the one to give up first. */
const ANSWER_MS_MAX = 6000
const TRIES = 4

/**
 * One connection for one transaction after another. Once lost it is never used again, least of all
 * for the rest of a transaction.
 */
class Session {
  readonly #sql: Sql
  /** What has not been answered yet. */
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
   * The driver would reconnect without a word, and send there what it still has: statements that
   * belong to the transaction that has just been lost, each standing for itself. It tells us before
   * it does, so that they can be taken from it.
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
      answer.catch(() => {}) // Looked at below; until then it is not awaited.
      sent.push(answer)
    }
    try {
      const result = await work({ query: this.query, send })
      // Right behind what was sent: a transaction that waits for the head of the log waits for one
      // way there and back, not for one a statement.
      const committed = this.query('COMMIT')
      committed.catch(() => {})
      await Promise.all(sent)
      const { command } = (await committed) as unknown as { readonly command?: string }
      // COMMIT of a transaction that has failed takes it back, and is no error.
      if (command !== 'COMMIT') throw new Error('the database did not commit')
      return result
    } catch (fault) {
      // What was asked after a statement that failed fails as well, and does not say why. The first
      // to fail does.
      for (const answer of sent) await answer
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

/** A transaction as those who work in it see it. */
export interface OpenTransaction {
  readonly query: Query
  /** Sends a statement and does not wait for it. When it fails the transaction does. */
  readonly send: (text: string, values: readonly SqlValue[]) => void
}

type Work<T> = (transaction: OpenTransaction) => Promise<T>

export interface WriterPoolOptions extends Pick<ConnectOptions, 'url' | 'statementMsMax' | 'lockMsMax'> {
  /** How many transactions at a time. */
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
 * Transactions, each on a connection of its own. The driver's own way (`begin`) throws where it
 * cannot be caught when a connection dies in a transaction, and can go on with that transaction on
 * another connection; here a lost connection ends the transaction.
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
   * All that `work` asks is one transaction. When it loses against another one, it is begun again.
   * `noTimeout`: takes as long as it takes. Rejects in the words of the port.
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
        // After a jam, the transactions behind it expire one after the other. Each would otherwise
        // open a connection and leave it soon after, until the database has none left.
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
    if (toStoreError(fault) instanceof StoreUnavailable && !isRefusal(fault)) return false
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
