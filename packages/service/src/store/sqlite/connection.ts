import Database from 'better-sqlite3'
import { StoreUnavailable } from '../errors.ts'
import { explainOpenFault, findCode, notAStore } from './unusable-file.ts'

const BUSY_MS = 5000
/** FULL. With NORMAL, a power cut can lose an acknowledged commit. */
const SYNCHRONOUS_FULL = 2

/**
 * Opens the file for writing. Throws unless every setting for durability is in effect, and an
 * `UnusableFile` for a file that is not a database.
 */
export function openForWriting(file: string): Database.Database {
  return open(file, { timeout: BUSY_MS, fileMustExist: true }, (db) => {
    // First, because the journal mode sets a default for `synchronous` that is too low.
    expect(db, 'journal_mode', 'wal', 'journal_mode = WAL')
    db.pragma('synchronous = FULL')
    db.pragma('foreign_keys = ON')
    // The writer makes checkpoints between two groups, where it sees their failures.
    db.pragma('wal_autocheckpoint = 0')
  })
}

/** Opens the file for reading only. Throws like `openForWriting`. */
export function openForReading(file: string): Database.Database {
  return open(file, { readonly: true, timeout: BUSY_MS, fileMustExist: true }, (db) => {
    db.pragma('synchronous = FULL')
    db.pragma('foreign_keys = ON')
    db.pragma('query_only = ON')
    expect(db, 'query_only', 1)
    // Every store has this mode. The database of another program need not have it.
    if (db.pragma('journal_mode', { simple: true }) !== 'wal' && !isStore(db)) throw notAStore(file)
    expect(db, 'journal_mode', 'wal')
  })
}

/** Whether the database has the schema of a store, of any version. */
export function isStore(db: Database.Database): boolean {
  const tables = db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('log', 'entries', 'heads')`)
    .all()
  return tables.length === 3 && db.pragma('user_version', { simple: true }) !== 0
}

function open(
  file: string,
  options: Database.Options,
  set: (db: Database.Database) => void,
): Database.Database {
  let db: Database.Database | undefined
  try {
    db = new Database(file, options)
    set(db)
    return checked(db)
  } catch (fault) {
    db?.close()
    throw explainOpenFault(fault, file)
  }
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
