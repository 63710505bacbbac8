import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  type FilePaths,
  readFilePaths,
  readMasterKeyConfig,
  readStoreConfig,
} from '../config/partial-config.ts'
import type { SettingSources } from '../config/settings.ts'
import { type Config, readConfig } from '../config.ts'
import { OtherMasterKey } from '../sealing/sealer.ts'
import {
  checkMasterKey,
  checkStore,
  findUnsecuredHost,
  readStore,
  SchemaTooNew,
  type SchemaVersions,
  UnusableFile,
} from '../store/maintenance.ts'

/** One result of a check on this machine. */
export interface InstallationFinding {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'problem'
  readonly detail: string
  /** What to do about it. */
  readonly fix?: string
}

const FREE_BYTES_MIN = 256 * 1024 * 1024
const AHEAD_MS_MAX = 60_000
/** Looking for the old store comes first: an empty one would accept revoked credentials. */
const NO_FILE =
  'If there was a store, look for its disk or volume, or restore a backup: countersign restore. New installation: countersign init'
const NO_SCHEMA =
  'If there was a store, check that COUNTERSIGN_DATABASE_URL names its database, or restore a backup with pg_restore. New installation: countersign init'
/** Magic numbers of Linux: NFS, SMB, CIFS and what runs in user space, such as sshfs. */
const REMOTE_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546])

/**
 * Checks the settings, the files and the store of this machine, whether or not a service is
 * running. Changes nothing and never rejects.
 */
export async function checkInstallation(sources: SettingSources): Promise<readonly InstallationFinding[]> {
  const found: InstallationFinding[] = []
  const store = attempt(() => readStoreConfig(sources))
  const paths = attempt(() => readFilePaths(sources))
  const config = attempt(() => readConfig(isDevelopment(paths) ? 'development' : 'production', sources))
  if (config instanceof Error)
    found.push(
      problem(
        'settings',
        config.message,
        'Correct them in the file, the variables or the flags: docs/operating.md lists all',
      ),
    )
  else found.push({ check: 'settings', level: 'ok', detail: `${config.mode}, ${findAddress(config)}` })
  if (!(paths instanceof Error))
    found.push(...fileFindings(sources, paths, store instanceof Error ? undefined : store))
  // The check of the settings reports a key that cannot be read.
  const masterKey = attempt(() => readMasterKeyConfig(sources))
  if (!(store instanceof Error))
    found.push(
      ...tlsFindings(store),
      ...(await storeFindings(store, masterKey instanceof Error ? undefined : masterKey)),
    )
  return found
}

function attempt<T>(read: () => T): T | Error {
  try {
    return read()
  } catch (fault) {
    return fault instanceof Error ? fault : new Error(String(fault))
  }
}

const problem = (check: string, detail: string, fix: string): InstallationFinding => ({
  check,
  level: 'problem',
  detail,
  fix,
})

/** Reading development settings creates a missing master key, so the file must exist already. */
function isDevelopment(paths: FilePaths | Error): boolean {
  if (paths instanceof Error) return false
  return existsSync(join(paths.dataDir, 'dev.json')) && existsSync(join(paths.dataDir, 'master.key'))
}

/**
 * The address of the service. A development start can get its port from a flag, so the file that it
 * writes says more than the settings.
 */
function findAddress({ mode, baseUrl, dataDir }: Config): string {
  if (mode === 'production') return baseUrl
  const dev = attempt(() => JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8')).base_url)
  return typeof dev === 'string' ? dev : baseUrl
}

/** Files that other users could read or replace. */
function fileFindings(
  { env }: SettingSources,
  { dataDir: directory, masterKeyFile, secretConfigFile }: FilePaths,
  store: Config['store'] | undefined,
): readonly InstallationFinding[] {
  if (process.platform === 'win32') return []
  if (attempt(() => statSync(join(directory, 'master.key'), { throwIfNoEntry: false })) instanceof Error)
    return [
      problem(
        'files',
        `this user cannot read the files in ${directory}`,
        'Give this user access to this directory, or run this command as the user of the service',
      ),
    ]
  const names = ['dev.json', 'dev-issuer.json', 'credential.header', 'visitor.header', 'site-key.header']
  const database = store?.kind === 'sqlite' ? ['', '-wal', '-shm'].map((ending) => store.file + ending) : []
  const secrets = [
    masterKeyFile,
    secretConfigFile,
    env.COUNTERSIGN_DATABASE_URL_FILE,
    env.COUNTERSIGN_CONSOLE_OIDC_CLIENT_SECRET_FILE,
    join(directory, 'master.key'),
  ]
  const weak = [
    ...[...names.map((name) => join(directory, name)), ...database].flatMap((file) => weakness(file, 0o077)),
    // Secrets mounted into containers are readable by a group.
    ...secrets.flatMap((file) => (file === undefined ? [] : weakness(file, 0o037))),
    ...(database[0] === undefined ? [] : weakness(dirname(database[0]), 0o022)),
  ]
  if (weak.length > 0) return weak
  return [{ check: 'files', level: 'ok', detail: 'no other user can read or replace them' }]
}

function weakness(file: string, others: number): readonly InstallationFinding[] {
  const found = attempt(() => statSync(file, { throwIfNoEntry: false }))
  if (found instanceof Error)
    return [
      problem('files', `${file} cannot be checked (${found.message})`, 'Run this as the user of the service'),
    ]
  const mode = (found?.mode ?? 0) & 0o777
  if ((mode & others) === 0) return []
  return [
    problem(
      'files',
      `${file} is open to others (mode ${mode.toString(8)})`,
      `chmod ${found?.isDirectory() ? 700 : 600} ${file}; what was secret in it may be known`,
    ),
  ]
}

function tlsFindings(store: Config['store']): readonly InstallationFinding[] {
  const host = store.kind === 'postgres' ? findUnsecuredHost(store.url) : undefined
  if (host === undefined) return []
  return [
    {
      check: 'database tls',
      level: 'warning',
      detail: `the connection to PostgreSQL at ${host} is not encrypted, unless the network does it`,
      fix: 'Add ?sslmode=verify-full to the database URL, with &sslrootcert=<file> for an authority of your own',
    },
  ]
}

async function storeFindings(
  store: Config['store'],
  masterKey: Uint8Array | undefined,
): Promise<readonly InstallationFinding[]> {
  const name = store.kind === 'sqlite' ? `SQLite, ${store.file}` : 'PostgreSQL'
  try {
    const versions = await checkStore(store)
    const { atMs } = await readStore(store, ({ confirmedTime }) => confirmedTime())
    return [
      {
        check: 'store',
        level: 'ok',
        detail: `${name}: reachable and writable, with durable settings, ${describeSchema(versions)}`,
      },
      ...(masterKey === undefined ? [] : [await masterKeyFinding(store, masterKey)]),
      ...(store.kind === 'sqlite' ? diskFindings(store.file) : []),
      ...recordedTimeFindings(atMs),
    ]
  } catch (fault) {
    if (fault instanceof UnusableFile) return [problem('store', fault.detail, fault.advice)]
    const words = fault instanceof Error ? fault.message : String(fault)
    return [problem('store', `${name}: ${words}`, toFix(fault, words, store.kind))]
  }
}

function describeSchema({ found, known }: SchemaVersions): string {
  return found === known
    ? `schema version ${found}`
    : `schema version ${found}; the next start brings it to ${known}`
}

async function masterKeyFinding(store: Config['store'], masterKey: Uint8Array): Promise<InstallationFinding> {
  try {
    await checkMasterKey(store, masterKey)
    return { check: 'master key', level: 'ok', detail: 'it opens the store' }
  } catch (fault) {
    return problem(
      'master key',
      fault instanceof Error ? fault.message : String(fault),
      fault instanceof OtherMasterKey
        ? 'Look for the key of this store where you keep a copy of it. A new key cannot open the store'
        : 'Restore a backup: countersign restore',
    )
  }
}

function toFix(fault: unknown, words: string, kind: Config['store']['kind']): string {
  if (words.includes('there is no')) return kind === 'sqlite' ? NO_FILE : NO_SCHEMA
  if (fault instanceof SchemaTooNew)
    return 'Install the release that has written it. To use this release, restore a backup from before the upgrade'
  if (words.includes('is a copy'))
    return 'Stop the service and run countersign new-epoch: verifiers then know that entries may be missing'
  if (words.includes('may not'))
    return 'Make this role the owner of the database and its tables, or correct COUNTERSIGN_DATABASE_URL'
  if (words.includes('cannot be used'))
    return 'Change these settings of PostgreSQL (ALTER SYSTEM SET …) and restart it, or connect to the primary'
  return kind === 'postgres'
    ? 'Check that the server runs and that COUNTERSIGN_DATABASE_URL is correct'
    : 'Check the file and its disk, or restore a backup: countersign restore'
}

function diskFindings(file: string): readonly InstallationFinding[] {
  const found = attempt(() => statfsSync(dirname(file)))
  if (found instanceof Error) return []
  const free = found.bavail * found.bsize
  return [
    ...(REMOTE_FILE_SYSTEMS.has(found.type)
      ? [
          problem(
            'disk',
            `${dirname(file)} is on a network file system, whose locks and syncs are not reliable`,
            'Move data_dir to a local disk, or use PostgreSQL',
          ),
        ]
      : []),
    ...(free < FREE_BYTES_MIN
      ? [
          problem(
            'disk',
            `only ${Math.floor(free / 1024 / 1024)} MiB are free in ${dirname(file)}`,
            'Free some disk space: a full disk prevents every write',
          ),
        ]
      : []),
  ]
}

function recordedTimeFindings(recordedMs: number): readonly InstallationFinding[] {
  if (recordedMs - Date.now() <= AHEAD_MS_MAX) return []
  const detail = `the time on record is ${new Date(recordedMs).toISOString()}, ahead of this clock: nodes are not ready`
  return [
    problem(
      'time',
      detail,
      'Correct the clock of this machine. If it is correct, reset the time on record: countersign reset-time',
    ),
  ]
}
