import type Database from 'better-sqlite3'
import { createRowMacs } from '../../sealing/row-macs.ts'
import { createSealer, type Sealer } from '../../sealing/sealer.ts'
import { type Audit, auditLog, auditWhole, LOG_MISSING, type OnPage } from '../audit-log.ts'
import type { LogAudit } from '../log-corrupted.ts'
import {
  createStoreVerbs,
  type RunVerb,
  readingVerbs,
  type StoreVerbs,
  writingVerbs,
} from '../operations/all.ts'
import { openMacKey, readMacKey } from '../operations/macs.ts'
import type { Transaction } from '../transaction.ts'
import { openForReading } from './connection.ts'
import { SqliteSession } from './session.ts'

/** Runs verbs on one connection, in this thread: for files that no service has open. */
export function runOffline(session: SqliteSession): RunVerb {
  return (async (name: string, ...args: readonly unknown[]) => {
    const verb = { ...readingVerbs, ...writingVerbs }[name as 'site'] as unknown as (
      ...args: readonly unknown[]
    ) => Transaction<unknown>
    const isReading = Object.hasOwn(readingVerbs, name)
    return isReading
      ? session.run(verb(...args))
      : session.db.transaction(() => session.run(verb(...args))).immediate()
  }) as RunVerb
}

/** Opens the MAC key of a file, or creates that of an empty one. */
export function openMacKeyInFile(db: Database.Database, sealer: Sealer): string {
  return db.transaction(() => new SqliteSession(db).run(openMacKey(sealer))).immediate()
}

/**
 * A session that writes and checks rows with MACs. What is forged is for the caller to find in the
 * answers.
 */
export function openSealedSession(db: Database.Database, masterKey: Uint8Array): SqliteSession {
  return new SqliteSession(db, {
    macs: createRowMacs(openMacKeyInFile(db, createSealer(masterKey))),
    onForged: () => {},
  })
}

/** Reads the whole log of a file, in use or not, and says where it first fails. */
export async function auditFile(file: string, masterKey: Uint8Array, onPage?: OnPage): Promise<LogAudit> {
  const session = openReading(file, masterKey)
  try {
    return await auditSession(session, onPage, auditWhole)
  } finally {
    session.db.close()
  }
}

/** Lets `work` read a file, in use or not; without the master key only what carries no MAC. */
export async function readFromFile<T>(
  file: string,
  masterKey: Uint8Array | undefined,
  work: (verbs: StoreVerbs) => Promise<T>,
): Promise<T> {
  const session = openReading(file, masterKey)
  try {
    return await work(createStoreVerbs(runOffline(session), () => ''))
  } finally {
    session.db.close()
  }
}

/** A session that only reads; without the master key only what carries no MAC. */
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

export async function auditSession(
  session: SqliteSession,
  onPage?: OnPage,
  audit: Audit = auditLog,
): Promise<LogAudit> {
  const run = runOffline(session)
  const state = await run('logState')
  if (state === undefined)
    return (await run('tableWithRows')) === undefined ? { ok: true, position: 0, sites: 0 } : LOG_MISSING
  return audit({ ...createStoreVerbs(run, () => state.epoch), epoch: state.epoch }, onPage)
}
