import { resolve } from 'node:path'
import { limits } from '@countersign/core/contract'
import { type MasterKeySources, OWN_KEY, readMasterKey } from '../keys/master-key.ts'
import type { SettingReader } from './setting-reader.ts'
import { DAY_MS } from './units.ts'

/** The database of a node. */
export type StoreConfig =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** The maximum of every setting that says how many days rows are kept. */
export const KEPT_DAYS_MAX = 36_500
const LOG_KEPT_DAYS_MIN = (limits.log_kept_seconds_min * 1000) / DAY_MS

export function readDataDir(settings: SettingReader): string {
  const parse = (text: string) => (text === '' ? undefined : text)
  return resolve(settings.value('data_dir', './data', parse, 'a directory'))
}

export function readStoreSetting(settings: SettingReader, dataDir: string): StoreConfig {
  const embedded: StoreConfig = { kind: 'sqlite', file: resolve(dataDir, 'countersign.db') }
  return settings.value('database_url', embedded, parseStore, 'postgres://… or sqlite:<file>')
}

function parseStore(text: string): StoreConfig | undefined {
  if (/^postgres(?:ql)?:\/\/./.test(text)) return { kind: 'postgres', url: text }
  return /^sqlite:./.test(text) ? { kind: 'sqlite', file: resolve(text.slice('sqlite:'.length)) } : undefined
}

/**
 * By default the head file is next to an embedded store. With PostgreSQL there is none unless it is
 * set, since nodes need not have a disk.
 */
export function readHeadFile(settings: SettingReader, store: StoreConfig): string | undefined {
  const fallback = store.kind === 'sqlite' ? `${store.file.replace(/\.db$/, '')}.heads` : 'off'
  const file = settings.value('head_file', fallback, parsePathOrOff, 'a file, or off')
  return file === 'off' ? undefined : file
}

/** The directory of the archives of audit rows. Undefined: there are none. */
export function readArchiveDir(settings: SettingReader): string | undefined {
  const directory = settings.value('audit_archive_dir', 'off', parsePathOrOff, 'a directory, or off')
  return directory === 'off' ? undefined : directory
}

function parsePathOrOff(text: string): string | undefined {
  if (text === 'off') return text
  return text === '' ? undefined : resolve(text)
}

/** How long entries of the log are kept, in milliseconds. */
export function readLogKept(settings: SettingReader): number {
  return settings.integer('log_kept_days', LOG_KEPT_DAYS_MIN, LOG_KEPT_DAYS_MIN, KEPT_DAYS_MAX) * DAY_MS
}

/** The master key, from its setting or from its file. When it fails, the result is empty. */
export function loadMasterKey(
  settings: SettingReader,
  mode: MasterKeySources['mode'],
  dataDir: string,
): Uint8Array {
  const [text, file] = [settings.text('master_key'), settings.text('master_key_file')]
  try {
    return readMasterKey({ text, file, dataDir, mode })
  } catch (error) {
    settings.report(`master_key: ${error instanceof TypeError ? error.message : describeFileError(error)}`)
    return new Uint8Array()
  }
}

function describeFileError(error: unknown): string {
  const { path = 'its file', code = 'unknown reason' } = error as NodeJS.ErrnoException
  const advice =
    code === 'ENOENT' ? `; to make one: (umask 077; openssl rand -hex 32 > ${path}). ${OWN_KEY}` : ''
  return `${path} cannot be read (${code})${advice}`
}
