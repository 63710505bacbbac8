import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type Database from 'better-sqlite3'
import type { OnPage } from '../audit-log.ts'
import { resolveEpoch } from '../epoch.ts'
import { failedAudit } from '../log-corrupted.ts'
import type { LostChanges } from '../lost-changes.ts'
import { bindOperations } from '../operations/all.ts'
import { adoptLink } from '../operations/epoch.ts'
import { isStore, openForReading, openForWriting } from './connection.ts'
import { createPrivateFile, prepareStoreDirectory, syncDirectory, syncFile } from './file.ts'
import { applyRevocations } from './lost-changes.ts'
import { migrate } from './migrate.ts'
import { auditSession, openCheckedSession, runOffline } from './offline.ts'
import { lockOwner } from './owner-lock.ts'
import { readReplaced } from './replaced-store.ts'
import { LIVE } from './sqlite-store.ts'
import { explainOpenFault, findCode, isForbidden, notAStore, UnusableFile } from './unusable-file.ts'

/**
 * The lineage of a backup. The service does not open such a file; only `restore` and `new-epoch`
 * begin a new epoch from it.
 */
export const COPY = 'copy'

export interface Backup {
  readonly position: number
  readonly sites: number
}

/**
 * Copies the store, in use or not, to a new file that only its owner can read. Rejects when the
 * file exists, and with a `LogCorrupted` when the log in the copy is not intact; the copy is then
 * removed.
 */
export async function backupSqlite(
  file: string,
  target: string,
  masterKey: Uint8Array,
  onPage?: OnPage,
): Promise<Backup> {
  const path = resolve(target)
  if (existsSync(path))
    throw new Error(`there is a file ${path}, and a backup overwrites nothing: choose another name`)
  createBackupFile(path)
  try {
    const source = openForReading(resolve(file))
    try {
      // The connection stays read-only; the copy is written beside it.
      source.pragma('query_only = OFF')
      source.prepare('VACUUM INTO ?').run(path)
    } finally {
      source.close()
    }
    const db = openForWriting(path)
    try {
      const copy = openCheckedSession(db, masterKey)
      copy.rows('UPDATE log SET lineage = $1', COPY)
      const audit = await auditSession(copy, onPage)
      if (!audit.ok) throw failedAudit(audit)
      return { position: audit.position, sites: audit.sites }
    } finally {
      closeAndSync(db, path)
    }
  } catch (fault) {
    rmSync(path, { force: true })
    throw fault
  }
}

function createBackupFile(path: string): void {
  try {
    createPrivateFile(path)
  } catch (fault) {
    const directory = dirname(path)
    if (findCode(fault) === 'ENOENT')
      throw new Error(`The directory ${directory} does not exist. Create it first.`, { cause: fault })
    if (findCode(fault) === 'ENOTDIR')
      throw new Error(`${directory} is not a directory. Choose another path.`, { cause: fault })
    if (isForbidden(fault))
      throw new Error(
        `This user cannot create a file in ${directory}. Give this user write access to it, or choose another directory.`,
        { cause: fault },
      )
    throw fault
  }
}

export interface Restored extends Backup {
  /** Undefined when nothing was changed, as with `dryRun`. */
  readonly epoch: string | undefined
  /** The path of the replaced file. */
  readonly before: string | undefined
  /**
   * What the replaced store revokes and the backup does not; a text says why it could not be read.
   * Undefined when there was no store.
   */
  readonly lost: LostChanges | string | undefined
}

export interface RestoreOrder {
  readonly masterKey: Uint8Array
  readonly nowMs: number
  /** Revoke in the restored store what the replaced store had revoked. */
  readonly keepRevocations?: boolean
  /** Only report what would happen. */
  readonly dryRun?: boolean
  readonly onPage?: OnPage | undefined
}

/**
 * Replaces the store with a copy, in a new epoch, after an audit. Rejects while a service has the
 * store open, and with a `LogCorrupted` when the log of the copy is not intact; then nothing has
 * changed. Keeps the replaced file beside it.
 */
export async function restoreSqlite(copy: string, file: string, order: RestoreOrder): Promise<Restored> {
  const path = resolve(file)
  prepareStoreDirectory(path)
  const lock = lockOwner(path)
  const restoring = `${path}.restoring`
  try {
    removeFile(restoring)
    createPrivateFile(restoring)
    copyFileSync(resolve(copy), restoring)
    chmodSync(restoring, 0o600)
    const db = openCopy(restoring, resolve(copy))
    let prepared: Omit<Restored, 'before'>
    try {
      prepared = await prepareCopy(db, path, order)
    } catch (fault) {
      db.close()
      throw fault
    }
    closeAndSync(db, restoring)
    if (prepared.epoch === undefined) return { ...prepared, before: undefined }
    const before = moveAside(path, prepared.epoch)
    renameSync(restoring, path)
    syncDirectory(dirname(path))
    return { ...prepared, before }
  } finally {
    removeFile(restoring)
    lock.release()
  }
}

/**
 * Opens what was copied from `source`. Throws an `UnusableFile` for anything but a store: the
 * schema of a store would be created in an empty file, and that store would accept revoked
 * credentials.
 */
function openCopy(path: string, source: string): Database.Database {
  const advice = 'Give the path of a file that countersign backup has written'
  let db: Database.Database
  try {
    db = openForWriting(path)
  } catch (fault) {
    if (!(fault instanceof UnusableFile)) throw fault
    throw explainOpenFault(fault.cause, source, advice)
  }
  if (isStore(db)) return db
  db.close()
  throw notAStore(source, advice)
}

/** Begins the new epoch in the copy, before it is put in place. */
async function prepareCopy(
  db: Database.Database,
  path: string,
  order: RestoreOrder,
): Promise<Omit<Restored, 'before'>> {
  const { masterKey, nowMs, keepRevocations = false, dryRun = false, onPage } = order
  requireIntegrity(db)
  migrate(db)
  const session = openCheckedSession(db, masterKey)
  const replaced = await readReplaced(path, masterKey, session)
  const { lost } = replaced
  if (keepRevocations && typeof lost === 'string')
    throw new Error(
      `the store that would be replaced cannot be read, so its revocations cannot be kept: ${lost}`,
    )
  const run = runOffline(session)
  let epoch: string | undefined
  if (!dryRun) {
    for (const link of replaced.links) session.run(adoptLink(link))
    session.rows('UPDATE log SET lineage = $1', COPY)
    epoch = await resolveEpoch(run, async () => LIVE, nowMs, replaced.heads)
    if (keepRevocations && typeof lost === 'object')
      await applyRevocations(
        bindOperations(run, () => ''),
        lost,
        { actor: 'operator', atMs: nowMs },
      )
  }
  const audit = await auditSession(session, onPage)
  if (!audit.ok) throw failedAudit(audit)
  return { epoch, lost, position: audit.position, sites: audit.sites }
}

function removeFile(path: string): void {
  for (const each of ['', '-wal', '-shm']) rmSync(path + each, { force: true })
}

/** Throws when SQLite finds a damaged page. */
export function requireIntegrity(db: Database.Database): void {
  const found = db.pragma('integrity_check(1)', { simple: true })
  if (found !== 'ok') throw new Error(`the copy is damaged: ${String(found)}`)
}

/** Leaves one complete file, synced to disk. */
function closeAndSync(db: Database.Database, path: string): void {
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  syncFile(path)
  syncDirectory(dirname(path))
}

/** Moves the write-ahead log as well: SQLite would apply one that stayed behind to the new file. */
function moveAside(path: string, epoch: string): string | undefined {
  if (!existsSync(path)) return undefined
  const before = `${path}.before-${epoch}`
  for (const each of ['-wal', '-shm', '']) {
    if (existsSync(path + each)) renameSync(path + each, before + each)
  }
  return before
}
