import { formatTime } from '@countersign/core'
import type Database from 'better-sqlite3'
import { number, text } from '../columns.ts'
import { type AppendedRow, COMMITTED_MAX, toAppendedRow } from '../committed-part.ts'
import { extendLog } from '../extend-log.ts'
import type { RowIntegrity } from '../row-integrity.ts'
import type {
  Appended,
  MacValue,
  NewEntry,
  Row,
  SqlValue,
  Step,
  StepAnswer,
  Transaction,
} from '../transaction.ts'

/**
 * A connection with its prepared statements. Runs transactions without waiting; the caller begins
 * and commits.
 */
export class SqliteSession {
  readonly db: Database.Database
  readonly #statements = new Map<string, Prepared>()
  readonly #integrity: RowIntegrity | undefined
  /**
   * What was appended, committed or not, until the caller empties it: at most one row more than a
   * `CommittedPart` may have.
   */
  readonly appended: AppendedRow[] = []

  /** Without `integrity`, runs only transactions that neither check nor write a row with a MAC. */
  constructor(db: Database.Database, integrity?: RowIntegrity) {
    this.db = db
    this.#integrity = integrity
  }

  /** When it throws, the caller rolls back. */
  run<T>(transaction: Transaction<T>): T {
    let step = transaction.next(undefined)
    while (step.done !== true) step = transaction.next(this.#answer(step.value))
    return step.value
  }

  rows(sql: string, ...values: readonly SqlValue[]): readonly Row[] {
    const { statement, bound } = this.#bind(sql, values)
    if (statement.reader) return statement.all(bound) as readonly Row[]
    statement.run(bound)
    return []
  }

  #change(sql: string, values: readonly SqlValue[]): number {
    const { statement, bound } = this.#bind(sql, values)
    return statement.run(bound).changes
  }

  #bind(sql: string, values: readonly SqlValue[]) {
    let prepared = this.#statements.get(sql)
    if (prepared === undefined) {
      prepared = prepare(this.db, sql)
      this.#statements.set(sql, prepared)
    }
    const { statement, order, count } = prepared
    // Otherwise SQLite would use NULL.
    if (values.length < count) throw new TypeError(`a value of ${count} is missing: ${sql}`)
    return { statement, bound: order.map((at) => values[at]) }
  }

  #answer(step: Step): StepAnswer {
    switch (step.kind) {
      case 'sql':
        return this.rows(step.sql, ...step.values)
      case 'exec':
        this.rows(step.sql, ...step.values)
        return undefined
      case 'change':
        return this.#change(step.sql, step.values)
      case 'append':
        return this.append(step.entry)
      case 'lock':
        return undefined // There is only one writer.
      case 'mac':
        return this.#mac(step.table, step.values)
      case 'forged':
        this.#integrity?.onForged(step.row)
        return undefined
      case 'together':
        return step.steps.map((each) => this.#answer(each))
    }
  }

  #mac(table: string, values: readonly MacValue[]): string {
    if (this.#integrity === undefined) throw new TypeError('the store was opened without its MAC key')
    return this.#integrity.macs.create(table, values)
  }

  append({ siteId, kind, bodyJson, atMs }: NewEntry): Appended {
    const [log] = this.rows('SELECT * FROM log WHERE one = 1')
    const [head] = this.rows('SELECT seq, hash, mac FROM heads WHERE site_id = $1', siteId)
    if (log === undefined || head === undefined) throw new Error('there is no such site')
    if (this.#integrity === undefined) throw new TypeError('the store was opened without its MAC key')
    const epoch = text(log, 'epoch')
    const at = formatTime(atMs)
    const before = {
      position: number(log, 'position'),
      digest: text(log, 'digest'),
      keysDeleted: number(log, 'keys_deleted'),
      logMac: log.mac,
      seq: number(head, 'seq'),
      hash: text(head, 'hash'),
      headMac: head.mac,
    }
    const entry = { epoch, siteId, kind, bodyJson, at }
    const after = extendLog(this.#integrity, entry, before)
    const { seq, position, hash, digest, headMac, logMac } = after
    this.rows(
      `INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      epoch,
      position,
      siteId,
      seq,
      kind,
      bodyJson,
      at,
      before.hash,
      hash,
    )
    this.rows('UPDATE heads SET seq = $2, hash = $3, mac = $4 WHERE site_id = $1', siteId, seq, hash, headMac)
    this.rows('UPDATE log SET position = $1, digest = $2, mac = $3 WHERE one = 1', position, digest, logMac)
    if (this.appended.length <= COMMITTED_MAX) this.appended.push(toAppendedRow(entry, before, after))
    return { epoch, seq, position, hash }
  }
}

/** A statement whose values are given by their order, and the index of each of them. */
interface Prepared {
  readonly statement: Database.Statement
  readonly order: readonly number[]
  /** How many values it needs. */
  readonly count: number
}

/**
 * Writes `$1` as `?`: values with names take two to six microseconds more for each statement.
 *
 * SQLite lets the value of a bare `LIMIT ?` have a part in the plan, so it would compile the
 * statement again each time it is run: 190 of 1,570 µs of the main thread for one revocation. As an
 * expression the value has no part in it.
 */
function prepare(db: Database.Database, sql: string): Prepared {
  const order: number[] = []
  const text = sql.replaceAll(/(\bLIMIT )?\$(\d+)/g, (_, limit: string | undefined, number: string) => {
    order.push(Number(number) - 1)
    return limit === undefined ? '?' : `${limit}+?`
  })
  return { statement: db.prepare(text), order, count: Math.max(-1, ...order) + 1 }
}
