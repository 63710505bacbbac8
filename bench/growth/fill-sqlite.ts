import type { SiteId } from '@countersign/core'
import type Database from 'better-sqlite3'
import { openForWriting } from '../../packages/service/src/store/sqlite/connection.ts'
import { openCheckedSession } from '../../packages/service/src/store/sqlite/offline.ts'
import type { SqlValue } from '../../packages/service/src/store/transaction.ts'
import { readEnd, toEnd, writeEnd } from './log-end.ts'
import { type Blocks, COLUMNS, type FilledTable } from './rows.ts'

/** A cache of 2 GB: rows are inserted at random places of large indexes. */
const CACHE_KIB = 2 * 1024 * 1024

/**
 * Writes all blocks in one transaction, and without syncing: a file that is left behind by a crash
 * is of no use.
 */
export function fillSqlite(
  file: string,
  masterKey: Uint8Array,
  sites: readonly SiteId[],
  blocks: Blocks,
): void {
  const db = openForWriting(file)
  try {
    // Otherwise every page is written twice, first to a journal as large as the store.
    db.pragma('journal_mode = MEMORY')
    db.pragma('synchronous = OFF')
    db.pragma('foreign_keys = OFF')
    db.pragma(`cache_size = -${CACHE_KIB}`)
    const session = openCheckedSession(db, masterKey)
    const inserts = prepareInserts(db)
    db.exec('BEGIN IMMEDIATE')
    const before = session.run(readEnd(sites))
    const end = toEnd(before)
    for (const _ of blocks(end, (table, values) => inserts[table].add(values)));
    for (const insert of Object.values(inserts)) insert.flush()
    session.run(writeEnd(before, end))
    db.exec('COMMIT')
    db.pragma('journal_mode = WAL')
  } finally {
    db.close()
  }
}

/** Rows of one statement: each call of the driver has its price. */
const ROWS = 40

interface Insert {
  add(values: readonly SqlValue[]): void
  flush(): void
}

function prepareInserts(db: Database.Database): Readonly<Record<FilledTable, Insert>> {
  const inserts = Object.entries(COLUMNS).map(([table, columns]) => [
    table,
    prepareInsert(db, table, columns),
  ])
  return Object.fromEntries(inserts) as Record<FilledTable, Insert>
}

function prepareInsert(db: Database.Database, table: string, columns: readonly string[]): Insert {
  const row = `(${columns.map(() => '?').join(', ')})`
  const prepare = (count: number) =>
    db.prepare(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array.from({ length: count }, () => row).join(', ')}`,
    )
  const many = prepare(ROWS)
  const one = prepare(1)
  let waiting: SqlValue[] = []
  return {
    add(values) {
      waiting.push(...values)
      if (waiting.length < ROWS * columns.length) return
      many.run(waiting)
      waiting = []
    },
    flush() {
      for (let i = 0; i < waiting.length; i += columns.length) one.run(waiting.slice(i, i + columns.length))
      waiting = []
    },
  }
}
