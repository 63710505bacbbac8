import type Database from 'better-sqlite3'
import type { OnPage } from '../audit-log.ts'
import { failedAudit, type LogAudit } from '../log-corrupted.ts'
import type { StoredTable, StoredTables, StoredValue } from '../stored-tables.ts'
import { requireIntegrity } from './backup.ts'
import { auditSession, openReading } from './offline.ts'
import type { SqliteSession } from './session.ts'
import { explainOpenFault, notAStore, UnusableFile } from './unusable-file.ts'

/**
 * Audits a file and lets `work` read all of its tables. Rejects with a `LogCorrupted` when the log
 * is not intact, and then reads nothing.
 */
export async function readTables<T>(
  file: string,
  masterKey: Uint8Array,
  work: (tables: StoredTables, audit: LogAudit & { ok: true }) => Promise<T>,
  onPage?: OnPage,
): Promise<T> {
  const session = openBackup(file, masterKey)
  const { db } = session
  try {
    // Everything is read as it was at this moment, also from a store in use.
    db.exec('BEGIN')
    requireIntegrity(db)
    const audit = await auditSession(session, onPage)
    if (!audit.ok) throw failedAudit(audit)
    return await work({ schemaVersion: readVersion(db), tables: listTables(db) }, audit)
  } finally {
    db.close()
  }
}

const ADVICE =
  'Give the path of a file that countersign backup has written; what pg_dump has written is loaded with pg_restore'

function openBackup(file: string, masterKey: Uint8Array): SqliteSession {
  try {
    return openReading(file, masterKey)
  } catch (fault) {
    if (!(fault instanceof UnusableFile)) throw fault
    throw fault.cause === undefined ? notAStore(file, ADVICE) : explainOpenFault(fault.cause, file, ADVICE)
  }
}

function readVersion(db: Database.Database): number {
  return db.pragma('user_version', { simple: true }) as number
}

function listTables(db: Database.Database): readonly StoredTable[] {
  const names = db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`)
    .pluck()
    .all() as string[]
  return names.map((name) => ({
    name,
    columns: db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(name) as string[],
    rows: () => db.prepare(`SELECT * FROM ${name}`).iterate() as Iterable<Record<string, StoredValue>>,
  }))
}
