import Database from 'better-sqlite3'
import { StoreUnavailable } from '../errors.ts'

const BUSY_MS = 5000
/** FULL. With NORMAL, a power cut can lose an acknowledged commit. */
const SYNCHRONOUS_FULL = 2

/** Opens the file for writing. Throws unless every setting for durability is in effect. */
export function openForWriting(file: string): Database.Database {
  const db = new Database(file, { timeout: BUSY_MS, fileMustExist: true })
  // First, because the journal mode sets a default for `synchronous` that is too low.
  expect(db, 'journal_mode', 'wal', 'journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  // The writer makes checkpoints between two groups, where it sees their failures.
  db.pragma('wal_autocheckpoint = 0')
  return checked(db)
}

/** Opens the file for reading only. */
export function openForReading(file: string): Database.Database {
  const db = new Database(file, { readonly: true, timeout: BUSY_MS, fileMustExist: true })
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma('query_only = ON')
  expect(db, 'query_only', 1)
  expect(db, 'journal_mode', 'wal')
  return checked(db)
}

function checked(db: Database.Database): Database.Database {
  expect(db, 'synchronous', SYNCHRONOUS_FULL)
  expect(db, 'foreign_keys', 1)
  expect(db, 'busy_timeout', BUSY_MS)
  return db
}

function expect(db: Database.Database, pragma: string, value: string | number, statement = pragma): void {
  const found = db.pragma(statement, { simple: true })
  if (found === value) return
  db.close()
  throw new Error(
    `SQLite did not accept ${pragma} = ${value} (it has ${String(found)}), so commits would not be durable. Use a local disk and the bundled SQLite.`,
  )
}

const UNAVAILABLE =
  /^SQLITE_(?:FULL|IOERR|BUSY|LOCKED|CANTOPEN|NOMEM|READONLY|PROTOCOL|INTERRUPT|CORRUPT|NOTADB)/
/** After these errors the content of the file is unknown. */
const FATAL = /^SQLITE_(?:IOERR|CORRUPT|NOTADB)/

export function isFatal(fault: unknown): boolean {
  return FATAL.test(findCode(fault))
}

/** Whether the store failed, rather than the statement. */
export function isUnavailable(fault: unknown): boolean {
  return UNAVAILABLE.test(findCode(fault))
}

export function asUnavailable(fault: unknown): unknown {
  return isUnavailable(fault)
    ? new StoreUnavailable(`the store failed: ${findCode(fault)}`, { cause: fault })
    : fault
}

function findCode(fault: unknown): string {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined
  return typeof code === 'string' ? code : ''
}
