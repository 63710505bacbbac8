import type Database from 'better-sqlite3'
import { createRowMacs } from '../../sealing/row-macs.ts'
import { createSealer, type Sealer } from '../../sealing/sealer.ts'
import { type Audit, auditOffline, auditWhole, type OnPage } from '../audit-log.ts'
import type { LogAudit } from '../log-corrupted.ts'
import {
  bindOperations,
  createTransaction,
  isReadOperation,
  type PortOperations,
  type RunOperation,
} from '../operations/all.ts'
import { openMacKey, readMacKey } from '../operations/shared/mac-key.ts'
import { openForReading } from './connection.ts'
import { SqliteSession } from './session.ts'

/** Runs operations on one connection, in this thread: for files that no service has open. */
export function runOffline(session: SqliteSession): RunOperation {
  return async (name, args) => {
    const run = () => session.run(createTransaction(name, args))
    return isReadOperation(name) ? run() : session.db.transaction(run).immediate()
  }
}

/** Opens the MAC key of a file, or creates that of an empty one. */
export function openMacKeyInFile(db: Database.Database, sealer: Sealer): string {
  return db.transaction(() => new SqliteSession(db).run(openMacKey(sealer))).immediate()
}

/**
 * A session that writes and checks rows with MACs. Forged rows are not reported: the caller finds
 * them in the results.
 */
export function openCheckedSession(db: Database.Database, masterKey: Uint8Array): SqliteSession {
  return new SqliteSession(db, {
    macs: createRowMacs(openMacKeyInFile(db, createSealer(masterKey))),
    onForged: () => {},
  })
}

/** Reads the whole log of a file, in use or not, and reports where it first fails. */
export async function auditFile(file: string, masterKey: Uint8Array, onPage?: OnPage): Promise<LogAudit> {
  const session = openReading(file, masterKey)
  try {
    return await auditSession(session, onPage, auditWhole)
  } finally {
    session.db.close()
  }
}

/** Lets `work` read a file, in use or not; without the master key, only rows without a MAC. */
export async function readFromFile<T>(
  file: string,
  masterKey: Uint8Array | undefined,
  work: (operations: PortOperations) => Promise<T>,
): Promise<T> {
  const session = openReading(file, masterKey)
  try {
    return await work(bindOperations(runOffline(session), () => ''))
  } finally {
    session.db.close()
  }
}

/** A read-only session; without the master key, only for rows without a MAC. */
export function openReading(file: string, masterKey: Uint8Array | undefined): SqliteSession {
  const db = openForReading(file)
  try {
    const plain = new SqliteSession(db)
    if (masterKey === undefined) return plain
    const macs = createRowMacs(plain.run(readMacKey(createSealer(masterKey))))
    return new SqliteSession(db, { macs, onForged: () => {} })
  } catch (fault) {
    db.close()
    throw fault
  }
}

export function auditSession(session: SqliteSession, onPage?: OnPage, audit?: Audit): Promise<LogAudit> {
  return auditOffline(runOffline(session), onPage, audit)
}
