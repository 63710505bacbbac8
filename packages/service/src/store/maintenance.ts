import { accessSync, constants, existsSync, statSync } from 'node:fs'
import type { Config } from '../config.ts'
import type { OnPage } from './audit-log.ts'
import type { LogAudit } from './log-corrupted.ts'
import { migrations } from './migrations/all.ts'
import type { Reseal } from './operations/shared/master-key.ts'
import { loadTables, requireEmptyDatabase } from './postgres/load-tables.ts'
import {
  auditDatabase,
  beginDatabaseEpoch,
  checkDatabase,
  readFromDatabase,
  resealDatabase,
} from './postgres/offline.ts'
import {
  type Backup,
  backupSqlite,
  type Restored,
  type RestoreOrder,
  restoreSqlite,
} from './sqlite/backup.ts'
import { checkFile } from './sqlite/check-file.ts'
import { beginFileEpoch } from './sqlite/new-epoch.ts'
import { auditFile, readFromFile } from './sqlite/offline.ts'
import { readTables } from './sqlite/read-tables.ts'
import { resealFile } from './sqlite/reseal.ts'
import { notAStore, UnusableFile } from './sqlite/unusable-file.ts'
import type { Store } from './store.ts'

export { SchemaTooNew } from './migrations/migration.ts'
export { findUnsecuredHost } from './postgres/tls.ts'
export { UnusableFile } from './sqlite/unusable-file.ts'

type StoreConfig = Config['store']

/**
 * Reads the whole log of a store, in use or not, and reports where it first fails. Writes nothing.
 * Rejects when there is no log.
 */
export function auditStore(store: StoreConfig, masterKey: Uint8Array, onPage?: OnPage): Promise<LogAudit> {
  return readEither(
    store,
    ({ file }) => auditFile(file, masterKey, onPage),
    ({ url }) => auditDatabase(url, masterKey, onPage),
  )
}

/** What commands may read of a store. */
export type ReadStore = Pick<Store, 'apiKeys' | 'auditRows' | 'confirmedTime' | 'lastAuditArchive'>

/**
 * Lets `work` read a store, in use or not. Writes nothing, not even a schema. Rejects when there is
 * no store. API keys carry a MAC, so reading them needs the master key.
 */
export function readStore<T>(
  store: StoreConfig,
  work: (store: ReadStore) => Promise<T>,
  masterKey?: Uint8Array,
): Promise<T> {
  return readEither(
    store,
    ({ file }) => readFromFile(file, masterKey, work),
    ({ url }) => readFromDatabase(url, masterKey, work),
  )
}

/** Versions of a schema: the one of a store, and the newest one that this release knows. */
export interface SchemaVersions {
  readonly found: number
  readonly known: number
}

/**
 * Rejects, with a message for the operator, when a start could not use a store, in use or not: it
 * cannot be reached or written, its settings could lose committed data, or a newer release has
 * written it. Writes nothing.
 */
export async function checkStore(store: StoreConfig): Promise<SchemaVersions> {
  const found = await readEither(
    store,
    // Opening the embedded store reads its settings back.
    ({ file }) => checkFile(file),
    ({ url }) => checkDatabase(url),
  )
  return { found, known: migrations.at(-1)?.version ?? 0 }
}

/** Rejects when the master key does not open a store, in use or not. Writes nothing. */
export async function checkMasterKey(store: StoreConfig, masterKey: Uint8Array): Promise<void> {
  await readStore(store, async () => {}, masterKey)
}

/** Rejects, with a message for the operator, when there is nothing to read. */
async function readEither<T>(
  store: StoreConfig,
  sqlite: (store: StoreConfig & { kind: 'sqlite' }) => Promise<T>,
  postgres: (store: StoreConfig & { kind: 'postgres' }) => Promise<T>,
): Promise<T> {
  try {
    if (store.kind === 'postgres') return await postgres(store)
    requireFile(store.file)
    return await sqlite(store)
  } catch (fault) {
    if (isWithoutTables(fault))
      throw new Error('there is no log in it: the service has never been started on it', { cause: fault })
    throw fault
  }
}

/**
 * Copies the embedded store, in use or not, to a new file. Rejects for PostgreSQL, which has its
 * own tools.
 */
export async function backupStore(
  store: StoreConfig,
  target: string,
  masterKey: Uint8Array,
  onPage?: OnPage,
): Promise<Backup> {
  if (store.kind === 'postgres') throw new Error('PostgreSQL is copied with pg_dump, see docs/operating.md')
  await requireStore(store)
  return backupSqlite(store.file, target, masterKey, onPage)
}

/**
 * Replaces the embedded store with a copy, in a new epoch, or loads the copy into an empty database
 * of PostgreSQL.
 */
export async function restoreStore(store: StoreConfig, copy: string, order: RestoreOrder): Promise<Restored> {
  requireFile(copy)
  if (store.kind === 'sqlite') return restoreSqlite(copy, store.file, order)
  const { masterKey, nowMs, keepRevocations, dryRun, onPage } = order
  if (keepRevocations)
    throw new Error('An empty database has no revocations to keep. Leave --keep-revocations out.')
  return readTables(
    copy,
    masterKey,
    async (tables, { position, sites }) => {
      if (dryRun) await requireEmptyDatabase(store.url)
      const loaded = dryRun ? undefined : await loadTables(store.url, masterKey, tables, nowMs)
      return { epoch: loaded?.epoch, position, sites, before: undefined, lost: undefined }
    },
    onPage,
  )
}

/**
 * Begins a new epoch of the log after an audit: for a store that was set back in a way that it
 * cannot detect, such as a snapshot of its disk. Rejects with a `LogCorrupted` when the log is not
 * intact.
 */
export async function beginNewEpoch(
  store: StoreConfig,
  masterKey: Uint8Array,
  nowMs: number,
): Promise<{ readonly epoch: string; readonly position: number }> {
  if (store.kind === 'postgres') return beginDatabaseEpoch(store.url, masterKey, nowMs)
  await requireStore(store)
  return beginFileEpoch(store.file, masterKey, nowMs)
}

/**
 * Seals everything again under the new key, all or nothing, and returns the number of texts.
 * Rejects when a text does not open, and while a service has the embedded store open.
 */
export async function resealStore(store: StoreConfig, change: Reseal): Promise<number> {
  if (store.kind === 'postgres') return resealDatabase(store.url, change)
  await requireStore(store)
  return resealFile(store.file, change)
}

/** Rejects when there is no embedded store: for commands that must not create one. */
export async function requireStore(store: StoreConfig): Promise<void> {
  if (store.kind === 'sqlite' && !existsSync(store.file))
    throw new Error(
      `there is no store ${store.file}; --data-dir or COUNTERSIGN_DATABASE_URL name another one`,
    )
}

function requireFile(file: string): void {
  let isDirectory: boolean
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found !== undefined) accessSync(file, constants.R_OK)
    isDirectory = found?.isDirectory() ?? false
  } catch (fault) {
    throw new UnusableFile(
      `${file} cannot be read.`,
      'Give this user access to it and its directory, or run this as the user of the service',
      { cause: fault },
    )
  }
  if (isDirectory) throw notAStore(file)
  if (!existsSync(file)) throw new Error(`there is no file ${file}`)
}

function isWithoutTables(fault: unknown): boolean {
  if (!(fault instanceof Error)) return false
  return /^no such table/.test(fault.message) || ('code' in fault && fault.code === '42P01')
}
