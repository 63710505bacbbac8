import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import {
  readArchiveDirConfig,
  readFilePaths,
  readHeadFileConfig,
  readLogKeptConfig,
  readMasterKeyConfig,
  readStoreConfig,
} from '../../src/config/partial-config.ts'

const DAY_MS = 86_400_000

test('each command reads its own settings, and ignores invalid values of the others', () => {
  const env = {
    COUNTERSIGN_PORT: 'invalid',
    COUNTERSIGN_DATA_DIR: '/srv/data',
    COUNTERSIGN_AUDIT_ARCHIVE_DIR: '/srv/archives',
    COUNTERSIGN_LOG_KEPT_DAYS: '500',
    COUNTERSIGN_MASTER_KEY: '0123456789abcdef'.repeat(4),
  }
  expect(readStoreConfig({ env })).toEqual({ kind: 'sqlite', file: '/srv/data/countersign.db' })
  expect(readHeadFileConfig({ env })).toBe('/srv/data/countersign.heads')
  expect(readArchiveDirConfig({ env })).toBe('/srv/archives')
  expect(readLogKeptConfig({ env })).toBe(500 * DAY_MS)
  expect(readMasterKeyConfig({ env })).toHaveLength(32)
})

test('PostgreSQL has no head file unless one is set', () => {
  const env = { COUNTERSIGN_DATABASE_URL: 'postgres://db/countersign' }
  expect(readHeadFileConfig({ env })).toBeUndefined()
  expect(readHeadFileConfig({ env: { ...env, COUNTERSIGN_HEAD_FILE: '/srv/heads' } })).toBe('/srv/heads')
})

test('an empty data directory is a mistake, and never means the current directory', () => {
  const env = { COUNTERSIGN_DATA_DIR: '' }
  for (const read of [readStoreConfig, readHeadFileConfig, readMasterKeyConfig])
    expect(() => read({ env })).toThrow('data_dir must be a directory')
  expect(readFilePaths({ env })).toEqual({ dataDir: resolve('data'), masterKeyFile: undefined })
})
