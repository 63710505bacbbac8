import { isSameMac } from '../../../sealing/row-macs.ts'
import { RowForged } from '../../errors.ts'
import { type MacTable, type MacTableName, macTables } from '../../mac-tables.ts'
import type { Page } from '../../page.ts'
import {
  countChanged,
  createMac,
  exec,
  type Row,
  reportForged,
  type SqlValue,
  type Transaction,
} from '../../transaction.ts'

/** The MAC that a row should have. */
export function* createRowMac(name: MacTableName, found: Row): Transaction<string> {
  const { columns }: MacTable = macTables[name]
  return yield* createMac(
    name,
    columns.map((column) => {
      const value = found[column]
      if (value === undefined) throw new Error(`the column ${column} of ${name} was not read`)
      if (value instanceof Uint8Array) throw new TypeError(`no MAC covers the bytes in ${column} of ${name}`)
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
 * A page of rows that the service wrote. Skips forged rows, without making the page look like the
 * last one.
 */
export function* intactPage(
  name: MacTableName,
  { after, limit }: Page,
  loadPage: (after: string, limit: number) => Transaction<readonly Row[]>,
  toName: (row: Row) => string,
): Transaction<readonly Row[]> {
  const good: Row[] = []
  for (let from = after ?? ''; ; ) {
    const wanted = limit - good.length
    const found = yield* loadPage(from, wanted)
    for (const each of found) if (yield* isIntact(name, each)) good.push(each)
    const last = found.at(-1)
    if (last === undefined || found.length < wanted || good.length === limit) return good
    from = toName(last)
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
  return (yield* countChanged(`${sql} ON CONFLICT DO NOTHING`, ...values)) > 0
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
 * Changes a row that was read, with its MAC. The caller has checked the row and blocks other
 * writers.
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
