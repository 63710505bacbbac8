import type Database from 'better-sqlite3'
import { migrations as ours } from '../migrations/all.ts'
import { type Migration, pendingMigrations } from '../migrations/migration.ts'

/**
 * Brings the file to the newest schema, all of it or nothing. Throws a SchemaTooNew for one that a
 * newer release has written.
 */
export function migrate(db: Database.Database, migrations: readonly Migration[] = ours): void {
  db.transaction(() => {
    for (const { version, common, sqlite } of pendingMigrations(migrations, schemaVersion(db))) {
      for (const statement of [...common, ...sqlite]) db.exec(statement)
      db.pragma(`user_version = ${version}`)
    }
  }).immediate()
}

/** 0 for a file that never was a store. */
export function schemaVersion(db: Database.Database): number {
  return db.pragma('user_version', { simple: true }) as number
}
