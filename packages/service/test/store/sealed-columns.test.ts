import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { sealedColumns } from '../../src/store/sealed-columns.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'

test('every column of the schema that is sealed is sealed again when the master key is changed', () => {
  const db = new Database(':memory:')
  migrate(db)
  const columns = db
    .prepare(
      `SELECT t.name AS "table", c.name AS "column", c.pk AS pk FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'`,
    )
    .all() as { table: string; column: string; pk: number }[]
  const found = columns
    .filter(({ column }) => /(?:^|_)(?:sealed|secrets?)(?:_|$)/.test(column))
    .map(({ table, column }) => {
      const key = columns.filter((each) => each.table === table && each.pk > 0).sort((a, b) => a.pk - b.pk)
      return { table, column, key: key.map((each) => each.column) }
    })
  const byName = (a: { table: string; column: string }, b: { table: string; column: string }) =>
    `${a.table} ${a.column}` < `${b.table} ${b.column}` ? -1 : 1
  expect(sealedColumns.map(({ table, column, key }) => ({ table, column, key })).sort(byName)).toEqual(
    found.sort(byName),
  )
  expect(found.length).toBeGreaterThan(2)
  db.close()
})
