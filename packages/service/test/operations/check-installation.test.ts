import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { checkInstallation } from '../../src/operations/check-installation.ts'
import { migrations } from '../../src/store/migrations/all.ts'
import { openStore } from '../../src/store/open.ts'
import { context, MASTER_KEY, MASTER_KEY_HEX, newSite, quietLog } from '../store/fixtures.ts'
import { freePort, type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { makeReadOnly } from '../store/read-only.ts'
import { run } from './terminal.ts'

const directory = mkdtempSync(join(tmpdir(), 'check-installation-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const env = {
  COUNTERSIGN_BASE_URL: 'https://id.example',
  COUNTERSIGN_MASTER_KEY: '0123456789abcdef'.repeat(4),
}
const NO_FILE =
  'If there was a store, look for its disk or volume, or restore a backup: countersign restore. New installation: countersign init'
const VERSION = migrations.at(-1)?.version ?? 0
const onFatal = (fault: Error) => {
  throw fault
}
function setVersion(file: string, version: number): void {
  const db = new Database(file)
  db.pragma(`user_version = ${version}`)
  db.close()
}
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
      ['master key', 'ok'],
    ])
    expect(findings[2]?.detail).toBe(
      `SQLite, ${join(COUNTERSIGN_DATA_DIR, 'countersign.db')}: reachable and writable, with durable settings, schema version ${VERSION}`,
    )
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
  test('reports a settings file that contains a secret and that others can read', async () => {
    const members = { base_url: 'https://id.example', data_dir: await installed() }
    const config = join(directory, 'open.json')
    const check = async (secret: object) => {
      writeFileSync(config, JSON.stringify({ ...members, ...secret }))
      chmodSync(config, 0o644)
      const findings = await checkInstallation({ flags: [], env: { COUNTERSIGN_CONFIG: config } })
      return findings.filter(({ check }) => check === 'files')
    }
    const fine = [expect.objectContaining({ level: 'ok' })]
    expect(await check({})).toEqual(fine)
    expect(await check({ database_url: `sqlite:${members.data_dir}/countersign.db` })).toEqual(fine)
    for (const secret of [
      { master_key: MASTER_KEY_HEX },
      { database_url: 'postgres://countersign:secret@127.0.0.1:1/countersign' },
      { console_oidc_client_secret: 'secret' },
    ])
      expect(await check(secret), JSON.stringify(secret)).toEqual([
        expect.objectContaining({
          detail: `${config} is open to others (mode 644)`,
          fix: expect.stringContaining(`chmod 600 ${config}`),
        }),
      ])
  })
  test('finds the files of the data_dir and the master_key_file of the settings file', async () => {
    const dataDir = await installed()
    const [config, key] = [join(directory, 'countersign.json'), join(directory, 'mounted.key')]
    writeFileSync(join(dataDir, 'master.key'), MASTER_KEY_HEX, { mode: 0o600 })
    writeFileSync(key, MASTER_KEY_HEX, { mode: 0o600 })
    const members = { base_url: 'https://id.example', data_dir: dataDir }
    const check = async (more: object = {}) => {
      writeFileSync(config, JSON.stringify({ ...members, ...more }), { mode: 0o600 })
      const findings = await checkInstallation({ flags: [['config', config]], env: {} })
      return findings.filter(({ level }) => level !== 'ok')
    }
    const open = (file: string) =>
      expect.objectContaining({ check: 'files', detail: `${file} is open to others (mode 644)` })
    expect(await check()).toEqual([])
    chmodSync(join(dataDir, 'master.key'), 0o644)
    const settings = expect.objectContaining({ check: 'settings' })
    expect(await check()).toEqual([settings, open(join(dataDir, 'master.key'))])
    // Other mistakes in the settings do not hide it.
    expect(await check({ colour: 'red' })).toEqual([settings, open(join(dataDir, 'master.key'))])
    chmodSync(join(dataDir, 'master.key'), 0o600)
    chmodSync(key, 0o644)
    expect(await check({ master_key_file: key })).toEqual([settings, open(key)])
    writeFileSync(config, '{', { mode: 0o600 })
    expect(await checkInstallation({ flags: [['config', config]], env: {} })).toEqual([
      expect.objectContaining({ check: 'settings', detail: expect.stringContaining('is not valid JSON') }),
    ])
  })
  test('sees another master key, beside a running service too', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
    const other = { COUNTERSIGN_DATA_DIR, COUNTERSIGN_MASTER_KEY: 'a1b2'.repeat(16) }
    const wrong = [
      {
        check: 'master key',
        level: 'problem',
        detail: expect.stringContaining('sealed under another master key'),
        fix: 'Look for the key of this store where you keep a copy of it. A new key cannot open the store',
      },
    ]
    expect(await problemsIn(other)).toEqual(wrong)
    const store = await openStore(
      { kind: 'sqlite', file: join(COUNTERSIGN_DATA_DIR, 'countersign.db') },
      { masterKey: MASTER_KEY, log: quietLog, onFatal },
    )
    await store.createSite(newSite(), context())
    expect(await problemsIn(other)).toEqual(wrong)
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([])
    await store.createSite(newSite(), context())
    expect(await store.logPosition()).toBe(2)
    await store.close()
  })
  test('sees a schema that a newer release has written, and leaves it', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
    const file = join(COUNTERSIGN_DATA_DIR, 'countersign.db')
    setVersion(file, VERSION + 1)
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([
      {
        check: 'store',
        level: 'problem',
        detail: expect.stringContaining(
          `the database has schema version ${VERSION + 1}, this release knows ${VERSION}`,
        ),
        fix: 'Install the release that has written it. To use this release, restore a backup from before the upgrade',
      },
    ])
    setVersion(file, VERSION - 1)
    const findings = await checkInstallation({ env: { ...env, COUNTERSIGN_DATA_DIR } })
    expect(findings).toContainEqual({
      check: 'store',
      level: 'ok',
      detail: expect.stringContaining(
        `schema version ${VERSION - 1}; the next start brings it to ${VERSION}`,
      ),
    })
    const db = new Database(file)
    expect(db.pragma('user_version', { simple: true })).toBe(VERSION - 1)
    db.close()
  })
  test('sees a backup that was copied into place by hand', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
    const file = join(COUNTERSIGN_DATA_DIR, 'countersign.db')
    const copy = join(directory, 'by-hand.db')
    expect((await run(['backup', copy, '--data-dir', COUNTERSIGN_DATA_DIR])).code).toBe(0)
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
    renameSync(copy, file)
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([
      {
        check: 'store',
        level: 'problem',
        detail: expect.stringContaining('is a copy that was made with countersign backup'),
        fix: 'Stop the service and run countersign new-epoch: verifiers then know that entries may be missing',
      },
    ])
  })
  test('sees a store that this user cannot write', async ({ skip }) => {
    const COUNTERSIGN_DATA_DIR = await installed()
    const undo = makeReadOnly(COUNTERSIGN_DATA_DIR)
    if (undo === undefined) return skip()
    onTestFinished(undo)
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([
      {
        check: 'store',
        level: 'problem',
        detail: `The store ${join(COUNTERSIGN_DATA_DIR, 'countersign.db')} cannot be written.`,
        fix: 'Give this user write access to its directory and files',
      },
    ])
  })
  test.skipIf(process.getuid?.() === 0)('sees a file of the store that this user cannot write', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
    chmodSync(join(COUNTERSIGN_DATA_DIR, 'countersign.db'), 0o400)
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([
      expect.objectContaining({ check: 'store', detail: expect.stringContaining('cannot be written') }),
    ])
  })
  test('reports a directory that cannot be read, once for its files and once for the store', async () => {
    const COUNTERSIGN_DATA_DIR = join(directory, 'loop')
    symlinkSync(COUNTERSIGN_DATA_DIR, COUNTERSIGN_DATA_DIR)
    expect(await problemsIn({ COUNTERSIGN_DATA_DIR })).toEqual([
      {
        check: 'files',
        level: 'problem',
        detail: `this user cannot read the files in ${COUNTERSIGN_DATA_DIR}`,
        fix: 'Give this user access to this directory, or run this command as the user of the service',
      },
      {
        check: 'store',
        level: 'problem',
        detail: `${join(COUNTERSIGN_DATA_DIR, 'countersign.db')} cannot be read.`,
        fix: 'Give this user access to it and its directory, or run this as the user of the service',
      },
    ])
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
      {
        check: 'store',
        level: 'problem',
        detail: `${join(COUNTERSIGN_DATA_DIR, 'countersign.db')} is not a store of Countersign.`,
        fix: 'Check the path, or restore a backup: countersign restore',
      },
    ])
  })
  test('sees a time on record that is ahead', async () => {
    const COUNTERSIGN_DATA_DIR = await installed()
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

  test('finds nothing wrong with one that keeps what it confirms, and sees one that does not', {
    tags: 'long',
  }, async () => {
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
  test('sees another master key and a newer schema, beside a running service', { tags: 'long' }, async () => {
    const url = await server.createDatabase()
    const place = { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_DATA_DIR: join(directory, 'postgres') }
    const store = await openStore(
      { kind: 'postgres', url },
      { masterKey: MASTER_KEY, log: quietLog, onFatal },
    )
    expect(await problemsIn(place)).toEqual([])
    expect(await problemsIn({ ...place, COUNTERSIGN_MASTER_KEY: 'a1b2'.repeat(16) })).toEqual([
      expect.objectContaining({
        check: 'master key',
        detail: expect.stringContaining('sealed under another master key'),
      }),
    ])
    await store.createSite(newSite(), context())
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    await sql.unsafe(`UPDATE schema_version SET version = ${VERSION + 1}`)
    expect(await problemsIn(place)).toEqual([
      expect.objectContaining({
        check: 'store',
        detail: expect.stringContaining(`schema version ${VERSION + 1}, this release knows ${VERSION}`),
        fix: expect.stringContaining('Install the release that has written it'),
      }),
    ])
    await sql.unsafe(`UPDATE schema_version SET version = ${VERSION}`)
    await sql.end()
    await store.createSite(newSite(), context())
    expect(await store.logPosition()).toBe(2)
    await store.close()
  })
  test('sees a role that may not write the tables, or not create any, with which no start succeeds', {
    tags: 'long',
  }, async () => {
    const url = await server.createDatabase()
    const options = { masterKey: MASTER_KEY, log: quietLog, onFatal }
    await (await openStore({ kind: 'postgres', url }, options)).close()
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    const role = `reader_${randomBytes(4).toString('hex')}`
    await sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'hunter2'`)
    await sql.unsafe(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`)
    const limited = new URL(url)
    limited.username = role
    limited.password = 'hunter2'
    const place = {
      COUNTERSIGN_DATABASE_URL: limited.href,
      COUNTERSIGN_DATA_DIR: join(directory, 'postgres'),
    }
    const found = async (words: string) => {
      expect(await problemsIn(place)).toEqual([
        {
          check: 'store',
          level: 'problem',
          detail: `PostgreSQL: the role ${role} may not ${words} of this database`,
          fix: 'Make this role the owner of the database and its tables, or correct COUNTERSIGN_DATABASE_URL',
        },
      ])
      await expect(openStore({ kind: 'postgres', url: limited.href }, options)).rejects.toThrow()
    }
    await found('write the tables')
    await sql.unsafe(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`)
    await sql.unsafe('REVOKE CREATE ON SCHEMA public FROM PUBLIC')
    await found('create tables')
    await sql.unsafe(`DROP OWNED BY ${role}`)
    await sql.unsafe(`DROP ROLE ${role}`)
    await sql.end()
  })
  test('sees that nothing answers, without a word of the password', async () => {
    const COUNTERSIGN_DATABASE_URL = `postgres://user:hunter2@127.0.0.1:${await freePort()}/x`
    const found = await problemsIn({ COUNTERSIGN_DATABASE_URL })
    expect(found).toEqual([expect.objectContaining({ check: 'store', level: 'problem' })])
    expect(JSON.stringify(found)).not.toContain('hunter2')
  })
})
