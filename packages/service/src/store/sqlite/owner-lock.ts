import { closeSync, existsSync, openSync, readSync, truncateSync } from 'node:fs'
import Database from 'better-sqlite3'
import { createPrivateFile } from './file.ts'

/** Held while a store is open. */
export interface OwnerLock {
  release(): void
}

/** `user_version` in the header of a SQLite file, four bytes from the left. */
const PID_OFFSET = 60

/**
 * Files that this process owns. Opening the lock file again would release it: POSIX drops all locks
 * of a process on a file when it closes any descriptor of that file.
 */
const held = new Set<string>()

/**
 * Makes this process the only owner of a file. The lock is one of the operating system on
 * `<file>.lock`, so it ends with its process, even one that was killed, and repeated process ids in
 * containers do not matter. Throws when another process owns the file, and says which.
 */
export function lockOwner(file: string): OwnerLock {
  const path = `${file}.lock`
  if (held.has(path)) throw new Error(`${file} is open in this process already`)
  if (!existsSync(path)) tryCreate(path)
  const db = openLock(path)
  if (db === undefined)
    throw new Error(`${file} belongs to another process (${pidIn(path)}), which is running: stop it first`)
  held.add(path)
  return {
    release() {
      held.delete(path)
      db.close()
    },
  }
}

/** Undefined when another process has it. */
function openLock(path: string, isSecondTry = false): Database.Database | undefined {
  const db = new Database(path, { timeout: 0 })
  try {
    db.pragma('journal_mode = MEMORY') // The content of the lock file need not be durable.
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('BEGIN EXCLUSIVE')
    db.pragma(`user_version = ${process.pid}`)
    db.exec('COMMIT')
    return db
  } catch (fault) {
    db.close()
    const code = fault instanceof Database.SqliteError ? fault.code : ''
    if (code.startsWith('SQLITE_BUSY')) return undefined
    // Damaged by a power cut. A process that reads it has the lock.
    if (isSecondTry || !/^SQLITE_(?:NOTADB|CORRUPT)/.test(code)) throw fault
    truncateSync(path)
    return openLock(path, true)
  }
}

function tryCreate(path: string): void {
  try {
    createPrivateFile(path)
  } catch (fault) {
    if (!existsSync(path)) throw fault
  }
}

function pidIn(path: string): string {
  const bytes = Buffer.alloc(4)
  const descriptor = openSync(path, 'r')
  try {
    return readSync(descriptor, bytes, 0, 4, PID_OFFSET) === 4
      ? `process ${bytes.readInt32BE()}`
      : 'process unknown'
  } finally {
    closeSync(descriptor)
  }
}
