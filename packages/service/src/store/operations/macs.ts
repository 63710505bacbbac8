import { createMacKey, isSameMac } from '../../sealing/row-macs.ts'
import type { Sealer } from '../../sealing/sealer.ts'
import { text } from '../columns.ts'
import { type MacTable, type MacTableName, macTables } from '../mac-tables.ts'
import { type CheckedTable, type Page, RowForged } from '../store.ts'
import {
  createMac,
  exec,
  lock,
  type Row,
  reportForged,
  row,
  rows,
  type SqlValue,
  type Transaction,
} from '../transaction.ts'

/** The name of the secret that holds the MAC key. */
const MAC_KEY = 'mac-key'

/**
 * The MAC key of the store, opened with the master key. It is created only in a store that has no
 * row which can grant: deleting it must not make the service accept rows without a MAC. Throws in
 * every other store that has none, and a `SealBroken` under another master key.
 */
export function* openMacKey(sealer: Sealer): Transaction<string> {
  yield* lock(MAC_KEY)
  const kept = yield* findMacKey(sealer)
  if (kept !== undefined) return kept
  for (const table of Object.keys(macTables)) {
    if ((yield* row(`SELECT 1 AS one FROM ${table} LIMIT 1`)) !== undefined) throw new MacKeyMissing(table)
  }
  const key = createMacKey()
  yield* rows('INSERT INTO secrets (name, sealed) VALUES ($1, $2)', MAC_KEY, sealer.seal(MAC_KEY, key))
  return key
}

/** The same, for those who only read: throws when there is none. */
export function* readMacKey(sealer: Sealer): Transaction<string> {
  const kept = yield* findMacKey(sealer)
  if (kept === undefined) throw new MacKeyMissing('it')
  return kept
}

function* findMacKey(sealer: Sealer): Transaction<string | undefined> {
  const kept = yield* row('SELECT sealed FROM secrets WHERE name = $1', MAC_KEY)
  return kept && sealer.open(MAC_KEY, text(kept, 'sealed'))
}

class MacKeyMissing extends Error {
  override readonly name = 'MacKeyMissing'

  constructor(table: string) {
    super(
      `The store has rows in ${table}, but no MAC key: the secret ${MAC_KEY} was removed, or an earlier version created the store. Restore a backup, or start with an empty store.`,
    )
  }
}

/** The MAC that a row should have. */
export function* createRowMac(name: MacTableName, found: Row): Transaction<string> {
  const { columns }: MacTable = macTables[name]
  return yield* createMac(
    name,
    columns.map((column) => {
      const value = found[column]
      if (value === undefined) throw new Error(`the column ${column} of ${name} was not read`)
      return value
    }),
  )
}

/**
 * Whether the service wrote this row. One that it did not write is reported. The row must have
 * every covered column and `mac`.
 */
export function* isIntact(name: MacTableName, found: Row): Transaction<boolean> {
  if (isSameMac(found.mac, yield* createRowMac(name, found))) return true
  yield* reportForged({ table: name, key: toKey(name, found) })
  return false
}

/** The row, or nothing when the service did not write it. */
export function* intact(name: MacTableName, found: Row | undefined): Transaction<Row | undefined> {
  return found !== undefined && (yield* isIntact(name, found)) ? found : undefined
}

/** Throws a `RowForged` for a row that the service did not write. */
export function* requireIntact(name: MacTableName, found: Row): Transaction<Row> {
  if (yield* isIntact(name, found)) return found
  throw new RowForged(name, toKey(name, found))
}

/**
 * A page of rows that the service wrote. Others are passed over, and do not make the page look like
 * the last one.
 */
export function* intactPage(
  name: MacTableName,
  { after, limit }: Page,
  read: (after: string, limit: number) => Transaction<readonly Row[]>,
  nameOf: (row: Row) => string,
): Transaction<readonly Row[]> {
  const good: Row[] = []
  for (let from = after ?? ''; ; ) {
    const wanted = limit - good.length
    const found = yield* read(from, wanted)
    for (const each of found) if (yield* isIntact(name, each)) good.push(each)
    const last = found.at(-1)
    if (last === undefined || found.length < wanted || good.length === limit) return good
    from = nameOf(last)
  }
}

/** Writes a new row with its MAC. Columns that are not given must be null or have a default. */
export function* insertRow(name: MacTableName, given: Row): Transaction<void> {
  const { sql, values } = yield* insertion(name, given)
  yield* exec(sql, ...values)
}

/** The same unless there is such a row already; then this is false. */
export function* insertNewRow(name: MacTableName, given: Row): Transaction<boolean> {
  const { sql, values } = yield* insertion(name, given)
  return (yield* row(`${sql} ON CONFLICT DO NOTHING RETURNING 1 AS one`, ...values)) !== undefined
}

function* insertion(
  name: MacTableName,
  given: Row,
): Transaction<{ readonly sql: string; readonly values: readonly SqlValue[] }> {
  const { columns }: MacTable = macTables[name]
  const full: Row = { ...Object.fromEntries(columns.map((column) => [column, null])), ...given }
  const all: Row = { ...given, mac: yield* createRowMac(name, full) }
  const names = Object.keys(all)
  const sql = `INSERT INTO ${name} (${names.join(', ')}) VALUES (${names.map((_, i) => `$${i + 1}`).join(', ')})`
  return { sql, values: Object.values(all) }
}

/**
 * Changes a row that was read, and its MAC with it. The caller has checked the row and holds off
 * other writers.
 */
export function* updateRow(name: MacTableName, before: Row, changes: Row): Transaction<void> {
  const { key }: MacTable = macTables[name]
  const all: Row = { ...changes, mac: yield* createRowMac(name, { ...before, ...changes }) }
  const sets = Object.keys(all).map((column, i) => `${column} = $${key.length + i + 1}`)
  const isThis = key.map((column, i) => `${column} = $${i + 1}`)
  const keys = key.map((column) => before[column] as SqlValue)
  yield* exec(
    `UPDATE ${name} SET ${sets.join(', ')} WHERE ${isThis.join(' AND ')}`,
    ...keys,
    ...Object.values(all),
  )
}

function toKey(name: MacTableName, found: Row): string {
  const { key }: MacTable = macTables[name]
  return key.map((column) => String(found[column])).join(' ')
}

const CHECK_PAGE = 500
/** For the MACs of API keys. */
const KEYS_DELETED = '(SELECT keys_deleted FROM log WHERE one = 1) AS keys_deleted'

/**
 * Reads whole tables, and throws a `RowForged` for the first row that the service did not write.
 * Heads and the log are checked where they are read.
 */
export function* requireIntactRows(tables: readonly CheckedTable[]): Transaction<void> {
  for (const name of tables) {
    const { key }: MacTable = macTables[name]
    const keys = key.join(', ')
    for (let last: readonly SqlValue[] = []; ; ) {
      const after =
        last.length === 0 ? '' : `WHERE (${keys}) > (${last.map((_, i) => `$${i + 1}`).join(', ')})`
      const page = yield* rows(
        `SELECT t.*, ${KEYS_DELETED} FROM ${name} t ${after} ORDER BY ${keys} LIMIT ${CHECK_PAGE}`,
        ...last,
      )
      for (const found of page) yield* requireIntact(name, found)
      if (page.length < CHECK_PAGE) break
      last = key.map((column) => page.at(-1)?.[column] as SqlValue)
    }
  }
}
