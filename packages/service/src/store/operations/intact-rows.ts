import { type MacTable, type MacTableName, macTables } from '../mac-tables.ts'
import { read, rows, type SqlValue, type Transaction } from '../transaction.ts'
import { requireIntact } from './shared/mac-rows.ts'

/**
 * Tables whose rows carry a MAC, other than the log row and the heads, which are checked whenever
 * they are read.
 */
export type CheckedTable = Exclude<MacTableName, 'log' | 'heads'>

const CHECK_PAGE = 500

/** For the MACs of API keys, people and passkeys. */
const KEYS_DELETED = '(SELECT keys_deleted FROM log WHERE one = 1) AS keys_deleted'

/**
 * Reads whole tables, and throws a `RowForged` for the first row that the service did not write.
 */
export const requireIntactRows = read(function* (tables: readonly CheckedTable[]): Transaction<void> {
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
})
