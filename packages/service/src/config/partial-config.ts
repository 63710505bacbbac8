import {
  loadMasterKey,
  readArchiveDir,
  readDataDir,
  readHeadFile,
  readLogKept,
  readStoreSetting,
  type StoreConfig,
} from './file-settings.ts'
import { type SettingName, secretSettings } from './setting-names.ts'
import { SettingReader } from './setting-reader.ts'
import type { SettingSources } from './settings.ts'

/**
 * Reads some settings, for commands that need nothing else. Throws like `readConfig`. The other
 * settings are not validated.
 */
function readSome<T>(sources: SettingSources, read: (settings: SettingReader) => T): T {
  const settings = new SettingReader(sources)
  const found = read(settings)
  settings.requireNoMistakes()
  return found
}

/** Reads only the settings of the store. Throws like `readConfig`. */
export function readStoreConfig(sources: SettingSources): StoreConfig {
  return readSome(sources, (settings) => readStoreSetting(settings, readDataDir(settings)))
}

/** Reads only the settings of the store and the head file. Throws like `readConfig`. */
export function readHeadFileConfig(sources: SettingSources): string | undefined {
  return readSome(sources, (settings) =>
    readHeadFile(settings, readStoreSetting(settings, readDataDir(settings))),
  )
}

/** Reads only the directory of the archives of audit rows. Throws like `readConfig`. */
export function readArchiveDirConfig(sources: SettingSources): string | undefined {
  return readSome(sources, readArchiveDir)
}

/** Reads only how long entries of the log are kept, in milliseconds. Throws like `readConfig`. */
export function readLogKeptConfig(sources: SettingSources): number {
  return readSome(sources, readLogKept)
}

/** Reads only the master key. Throws like `readConfig`. */
export function readMasterKeyConfig(sources: SettingSources): Uint8Array {
  return readSome(sources, (settings) => loadMasterKey(settings, 'production', readDataDir(settings)))
}

/** Where settings say that files are. */
export interface FilePaths {
  readonly dataDir: string
  readonly masterKeyFile: string | undefined
  /** The configuration file, if it contains a secret. */
  readonly secretConfigFile: string | undefined
}

/**
 * Reads only the paths of files, whatever is wrong with other settings. Throws a TypeError when the
 * configuration file cannot be read.
 */
export function readFilePaths(sources: SettingSources): FilePaths {
  const settings = new SettingReader(sources)
  return {
    dataDir: readDataDir(settings),
    masterKeyFile: settings.text('master_key_file'),
    secretConfigFile: findSecretConfig(sources),
  }
}

function findSecretConfig({ flags = [], env, ...sources }: SettingSources): string | undefined {
  const file = new Map(flags).get('config') ?? env.COUNTERSIGN_CONFIG
  const inFile = new SettingReader({ ...sources, env: { COUNTERSIGN_CONFIG: file } })
  const isSecret = (name: SettingName) => !(inFile.text(name) ?? 'sqlite:').startsWith('sqlite:')
  return secretSettings.some(isSecret) ? file : undefined
}
