import { number } from '../columns.ts'
import { migrations as ours } from '../migrations/all.ts'
import { type Migration, pendingMigrations } from '../migrations/migration.ts'
import type { Query } from './connect.ts'

/** An arbitrary number, the same on all nodes. */
const MIGRATION_LOCK = 4_021_970_341

/**
 * Migrates the database to the newest schema, inside a transaction of the caller. When several
 * nodes start at the same time, one migrates and the others wait. Throws a `SchemaTooNew` for a
 * database that a newer release has written.
 */
export async function migrate(query: Query, migrations: readonly Migration[] = ours): Promise<void> {
  await query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`)
  await query(
    'CREATE TABLE IF NOT EXISTS schema_version (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL)',
  )
  for (const { version, common, postgres } of pendingMigrations(migrations, await schemaVersion(query))) {
    for (const statement of common) await query(bytewise(statement))
    for (const statement of postgres) await query(statement)
    await query(
      `INSERT INTO schema_version (one, version) VALUES (1, ${version}) ON CONFLICT (one) DO UPDATE SET version = excluded.version`,
    )
  }
}

/** 0 for an empty database with the table of versions. */
export async function schemaVersion(query: Query): Promise<number> {
  const [row] = await query('SELECT version FROM schema_version')
  return row === undefined ? 0 : number(row, 'version')
}

/** Text sorts by bytes, as in SQLite, whatever the locale of the database. */
function bytewise(statement: string): string {
  return statement.replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"')
}
