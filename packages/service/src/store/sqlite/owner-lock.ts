import { closeSync, existsSync, openSync, readSync, truncateSync } from 'node:fs'
import Database from 'better-sqlite3'
import { createPrivateFile } from './file.ts'

/** Held as long as a store is open. */
export interface OwnerLock {
  release(): void
}

/** `user_version` in the header of a SQLite file, four bytes from the left. */
const PID_OFFSET = 60

/**
 * Of this process. Reading the lock file of our own store would let go of it: POSIX drops a
 * process's locks with any of its descriptors.
 */
const held = new Set<string>()

/**
 * Makes this process the only owner of a file. The lock is the system's, on `<file>.lock`, so it
 * cannot outlive its process, not even one that was killed, and process numbers that repeat in
 * other containers do not matter. Throws when another process owns the file, and says which.
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
    db.pragma('journal_mode = MEMORY') // Nothing in here has to survive anything.
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('BEGIN EXCLUSIVE')
    db.pragma(`user_version = ${process.pid}`)
    db.exec('COMMIT')
    return db
  } catch (fault) {
    db.close()
    const code = fault instanceof Database.SqliteError ? fault.code : ''
    if (code.startsWith('SQLITE_BUSY')) return undefined
    // Torn by a power cut. A process that gets as far as reading it is alone with it.
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
