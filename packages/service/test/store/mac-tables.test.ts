import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { type MacTable, macTables, tablesWithoutMac } from '../../src/store/mac-tables.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'

const db = new Database(':memory:')
migrate(db)
const columns = db
  .prepare(
    `SELECT t.name AS "table", c.name AS "column", c.pk AS pk FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'`,
  )
  .all() as { table: string; column: string; pk: number }[]
db.close()
const tables = [...new Set(columns.map(({ table }) => table))]
const covered: Readonly<Record<string, MacTable>> = macTables

describe('rows that can grant (A271, A272)', () => {
  it('every table of the schema either carries MACs or states why its rows grant nothing', () => {
    const named = [...Object.keys(covered), ...Object.keys(tablesWithoutMac)]
    expect(named.filter((table, i) => named.indexOf(table) !== i)).toEqual([])
    // PostgreSQL keeps its schema version in a table.
    expect([...tables, 'schema_version'].sort()).toEqual(named.sort())
  })

  it.each(Object.keys(covered))('every column of %s is covered, or states why it grants nothing', (table) => {
    const { key, columns: inMac, uncovered } = covered[table] as MacTable
    const ofTable = columns.filter((each) => each.table === table)
    // A head is that of the epoch which the log is in. API keys and people are those that were left
    // after the access of one of them last ended.
    const ofOthers =
      { heads: ['epoch'], api_keys: ['keys_deleted'], people: ['keys_deleted'], passkeys: ['keys_deleted'] }[
        table
      ] ?? []
    expect([...inMac, ...Object.keys(uncovered), 'mac'].sort()).toEqual(
      [...ofTable.map(({ column }) => column), ...ofOthers].sort(),
    )
    const primary = ofTable.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    expect(key).toEqual(primary.map(({ column }) => column))
    for (const column of key) expect(inMac).toContain(column)
  })
})
