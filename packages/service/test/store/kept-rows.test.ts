import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { settingNames } from '../../src/config/setting-names.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'

const text = readFileSync(join(import.meta.dirname, '../../../../docs/operating.md'), 'utf8')
const [, section = ''] = /^## What is kept, and for how long\n(.*?)^## /ms.exec(text) ?? []
const rows = section.split('\n').flatMap((line) => {
  const [tables = '', kept = '', why = '', settings = ''] = line.split('|').slice(1, -1)
  const names = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  return line.startsWith('| `') ? [{ tables: names(tables), kept, why, settings: names(settings) }] : []
})

const db = new Database(':memory:')
migrate(db)
const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all() as string[]
db.close()

test('operating.md says of every table of the schema how long its rows are kept, once', () => {
  expect(tables.length).toBeGreaterThan(20)
  // PostgreSQL keeps its schema version in a table.
  expect(rows.flatMap((row) => row.tables).sort()).toEqual([...tables, 'schema_version'].sort())
})

test('every line says how long and why, and names settings that there are', () => {
  for (const { tables, kept, why, settings } of rows) {
    expect(kept.trim(), tables.join()).not.toBe('')
    expect(why.trim(), tables.join()).not.toBe('')
    for (const setting of settings) expect(settingNames).toContain(setting)
  }
})
