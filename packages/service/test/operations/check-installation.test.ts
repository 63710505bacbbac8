import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkInstallation } from '../../src/operations/check-installation.ts'
import { openStore } from '../../src/store/open.ts'
import { context, MASTER_KEY, MASTER_KEY_HEX, quietLog } from '../store/fixtures.ts'
import { freePort, type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { run } from './terminal.ts'

const directory = mkdtempSync(join(tmpdir(), 'check-installation-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const env = {
  COUNTERSIGN_BASE_URL: 'https://id.example',
  COUNTERSIGN_MASTER_KEY: '0123456789abcdef'.repeat(4),
}
const NO_FILE =
  'If there was a store, look for its disk or volume, or restore a backup: countersign restore. New installation: countersign init'
const problemsIn = async (
  more: Readonly<Record<string, string>>,
  flags: readonly (readonly [string, string])[] = [],
) => (await checkInstallation({ flags, env: { ...env, ...more } })).filter(({ level }) => level !== 'ok')

describe('on SQLite', () => {
  let made = 0
  async function installed(): Promise<string> {
    const dataDir = join(directory, `data-${++made}`)
    expect((await run(['migrate', '--data-dir', dataDir])).code).toBe(0)
    return dataDir
  }
  test('finds nothing wrong with what a start has made, and makes nothing itself', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
    const before = readdirSync(COUNTERSIGN_DATA_DIR)
    const findings = await checkInstallation({ env: { ...env, COUNTERSIGN_DATA_DIR } })
    expect(findings.map(({ check, level }) => [check, level])).toEqual([
      ['settings', 'ok'],
      ['files', 'ok'],
      ['store', 'ok'],
    ])
    expect(readdirSync(COUNTERSIGN_DATA_DIR).filter((name) => !/-(?:wal|shm)$/.test(name))).toEqual(before)
  })
  test('says that there is no store, and makes none', async () => {
    const COUNTERSIGN_DATA_DIR = join(directory, 'nothing')
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([
      expect.objectContaining({
        check: 'store',
        level: 'problem',
        fix: NO_FILE,
      }),
    ])
    expect(existsSync(COUNTERSIGN_DATA_DIR)).toBe(false)
  })
  test('sends to the lost disk or a backup first when the store of an installation is missing', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
    for (const name of readdirSync(COUNTERSIGN_DATA_DIR)) rmSync(join(COUNTERSIGN_DATA_DIR, name))
    const missing = [expect.objectContaining({ check: 'store', level: 'problem', fix: NO_FILE })]
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual(missing)
    const db = new Database(join(COUNTERSIGN_DATA_DIR, 'countersign.db'))
    db.pragma('journal_mode = WAL')
    db.close()
    chmodSync(join(COUNTERSIGN_DATA_DIR, 'countersign.db'), 0o600)
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual(missing)
  })
  test('names every file that others can read, with what to do', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
    const keyFile = join(COUNTERSIGN_DATA_DIR, 'master.key')
    writeFileSync(keyFile, 'x', { mode: 0o600 })
    writeFileSync(join(COUNTERSIGN_DATA_DIR, 'dev-issuer.json'), '{}', { mode: 0o600 })
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([])
    chmodSync(keyFile, 0o640)
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([])
    for (const [file, mode] of [
      ['master.key', 0o644],
      ['dev-issuer.json', 0o640],
      ['.', 0o777],
      // Last: what SQLite puts beside it gets its mode.
      ['countersign.db', 0o604],
    ] as const) {
      const path = join(COUNTERSIGN_DATA_DIR, file)
      chmodSync(path, mode)
      const found = await problemsIn({ COUNTERSIGN_DATA_DIR })
      expect(found, file).toEqual([
        expect.objectContaining({ check: 'files', fix: expect.stringContaining('chmod') }),
      ])
      chmodSync(path, file === '.' ? 0o700 : 0o600)
    }
  })
  test('says what the settings lack', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
    const [found] = await checkInstallation({ flags: [['port', 'x']], env: { COUNTERSIGN_DATA_DIR } })
    expect(found).toMatchObject({ check: 'settings', level: 'problem' })
    for (const words of ['port must be', 'base_url must be set', 'there is no master key'])
      expect(found?.detail).toContain(words)
  })
  test('sees a file that is no store', async () => {
    const COUNTERSIGN_DATA_DIR = join(directory, 'junk')
    mkdirSync(COUNTERSIGN_DATA_DIR, { mode: 0o700 })
    writeFileSync(
      join(COUNTERSIGN_DATA_DIR, 'countersign.db'),
      'not a database, but long enough to be read as one'.repeat(100),
      {
        mode: 0o600,
      },
    )
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([
      expect.objectContaining({ check: 'store', level: 'problem' }),
    ])
  })
  test('sees a time on record that is ahead', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
    const onFatal = (fault: Error) => {
      throw fault
    }
    const store = await openStore(
      { kind: 'sqlite', file: join(COUNTERSIGN_DATA_DIR, 'countersign.db') },
      { masterKey: MASTER_KEY, log: quietLog, onFatal },
    )
    await store.resetTime(Date.now() + 3_600_000, context())
    await store.close()
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([
      expect.objectContaining({ check: 'time', fix: expect.stringContaining('reset-time') }),
    ])
  })
})

describe('on PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  test('finds nothing wrong with one that keeps what it confirms, and sees one that does not', async () => {
    const url = await server.createDatabase()
    const place = { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_DATA_DIR: join(directory, 'postgres') }
    expect(await problemsIn(place)).toEqual([
      expect.objectContaining({
        check: 'store',
        detail: expect.stringContaining('there is no log'),
        fix: 'If there was a store, check that COUNTERSIGN_DATABASE_URL names its database, or restore a backup with pg_restore. New installation: countersign init',
      }),
    ])
    expect(
      (await run(['migrate'], { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX }))
        .code,
    ).toBe(0)
    expect(await problemsIn(place)).toEqual([])
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    await sql.unsafe(`ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET synchronous_commit = off`)
    await sql.end()
    expect(await problemsIn(place)).toEqual([
      expect.objectContaining({
        check: 'store',
        detail: expect.stringContaining('synchronous_commit is off'),
        fix: expect.stringContaining('ALTER SYSTEM'),
      }),
    ])
  })
  test('sees that nothing answers, without a word of the password', async () => {
    const COUNTERSIGN_DATABASE_URL = `postgres://user:hunter2@127.0.0.1:${await freePort()}/x`
    const found = await problemsIn({ COUNTERSIGN_DATABASE_URL })
    expect(found).toEqual([expect.objectContaining({ check: 'store', level: 'problem' })])
    expect(JSON.stringify(found)).not.toContain('hunter2')
  })
})
