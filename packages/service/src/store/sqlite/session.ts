import { formatTime, parseTime } from '@countersign/core'
import type Database from 'better-sqlite3'
import { number, text } from '../columns.ts'
import type { Appended, NewEntry, Program, Row, SqlValue, Step, StepAnswer } from '../program.ts'
import { sealOf } from '../seal.ts'

/** A connection with its prepared statements. Runs programs without ever waiting; the transaction around them is the caller's. */
export class SqliteSession {
  readonly db: Database.Database
  readonly #statements = new Map<string, Database.Statement>()
  /** How many entries have been added through this session, whether or not they were kept. */
  appended = 0

  constructor(db: Database.Database) {
    this.db = db
  }

  /** A program that throws is left where it stands; undoing what it wrote is for whoever holds the transaction. */
  run<T>(program: Program<T>): T {
    let step = program.next(undefined)
    while (step.done !== true) step = program.next(this.#answer(step.value))
    return step.value
  }

  rows(sql: string, ...values: readonly SqlValue[]): readonly Row[] {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    const bound: Record<number, SqlValue> = {}
    for (let i = 0; i < values.length; i++) bound[i + 1] = values[i] as SqlValue
    if (statement.reader) return statement.all(bound) as readonly Row[]
    statement.run(bound)
    return []
  }

  #answer(step: Step): StepAnswer {
    switch (step.kind) {
      case 'sql':
        return this.rows(step.sql, ...step.values)
      case 'write':
        this.rows(step.sql, ...step.values)
        return undefined
      case 'append':
        return this.append(step.entry)
      case 'lock':
        return undefined // There is one writer, so everybody else is held already.
      case 'copy':
        this.#copy(step.from)
        return undefined
    }
  }

  #copy(from: string): void {
    const page = 'SELECT position, site_id, kind, body, at FROM entries WHERE epoch = $1 AND position > $2 ORDER BY position LIMIT 1000'
    for (let entries = this.rows(page, from, 0); entries.length > 0; ) {
      for (const row of entries) {
        const atMs = parseTime(row.at) as number
        this.append({ siteId: text(row, 'site_id'), kind: text(row, 'kind'), bodyJson: text(row, 'body'), atMs })
      }
      entries = this.rows(page, from, number(entries.at(-1) as Row, 'position'))
    }
  }

  append({ siteId, kind, bodyJson, atMs }: NewEntry): Appended {
    const log = this.rows('SELECT epoch, position FROM log WHERE one = 1')[0]
    const head = this.rows('SELECT seq, hash FROM heads WHERE site_id = $1', siteId)[0]
    if (log === undefined || head === undefined) throw new Error('there is no such site')
    const epoch = text(log, 'epoch')
    const position = number(log, 'position') + 1
    const seq = number(head, 'seq') + 1
    const prevHash = text(head, 'hash')
    const at = formatTime(atMs)
    const hash = sealOf({ epoch, seq, siteId, kind, bodyJson, at, prevHash })
    this.rows(
      `INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      epoch,
      position,
      siteId,
      seq,
      kind,
      bodyJson,
      at,
      prevHash,
      hash,
    )
    this.rows('UPDATE heads SET seq = $2, hash = $3 WHERE site_id = $1', siteId, seq, hash)
    this.rows('UPDATE log SET position = $1 WHERE one = 1', position)
    this.appended++
    return { epoch, seq, position, hash }
  }
}
