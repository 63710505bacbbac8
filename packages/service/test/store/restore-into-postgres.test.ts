import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { openStore } from '../../src/store/open.ts'
import { connect, queryWith } from '../../src/store/postgres/connect.ts'
import type { Store } from '../../src/store/store.ts'
import type { StoredValue } from '../../src/store/stored-tables.ts'
import { run } from '../operations/terminal.ts'
import {
  context,
  credentialId,
  MASTER_KEY,
  MASTER_KEY_HEX,
  NOW,
  newIssuer,
  newSite,
  newToken,
  ppid,
  quietLog,
  seen,
} from './fixtures.ts'
import { viewOf } from './log-reading.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** What the new epoch changes. */
const CHANGED = new Set([
  'audit',
  'checkpoint',
  'checkpoint_sites',
  'epochs',
  'heads',
  'head_readers',
  'log',
  'log_pages',
])

type StoredRow = Readonly<Record<string, StoredValue>>

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

let folder: string
let url: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-restore-'))
  url = await postgres.createDatabase()
})
const opened: Store[] = []
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  rmSync(folder, { recursive: true, force: true })
})

const open = async (place: Parameters<typeof openStore>[0]) => {
  const store = await openStore(place, { masterKey: MASTER_KEY, log: quietLog, onFatal: () => {} })
  opened.push(store)
  return store
}
const openFile = () => open({ kind: 'sqlite', file: join(folder, 'countersign.db') })
const openDatabase = () => open({ kind: 'postgres', url })
const backupPath = () => join(folder, 'backup.db')
const backup = () => run(['backup', backupPath(), '--data-dir', folder])
const onDatabase = (argv: readonly string[], masterKey = MASTER_KEY_HEX) =>
  run([...argv, '--data-dir', folder], { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_MASTER_KEY: masterKey })
const restore = (...more: string[]) => onDatabase(['restore', backupPath(), ...more])

/** A store with rows in many tables, also with bytes and with texts of all kinds. */
async function fill(store: Store) {
  const site = newSite({ name: 'Ünïcode "quoted" \\ 😀\ttab' })
  const { siteId } = site
  await store.createSite(site, context())
  const issuer = await newIssuer(siteId)
  await store.addIssuer(issuer, context())
  const credential = seen(siteId, { createdMs: NOW - 60_000 })
  const token = newToken(credential)
  await store.createToken(token, 20, NOW, credential)
  const [revoked, active, id] = [ppid(), ppid(), credentialId()]
  await store.revokeUser({ siteId, ppid: revoked, reason: 'left' }, context())
  await store.revokeUser({ siteId, ppid: active, reason: undefined }, context())
  await store.reinstateUser({ siteId, ppid: active, reason: undefined }, context(NOW + 1000))
  await store.revokeCredential({ siteId, credentialId: id, reason: undefined }, context())
  await store.revokeToken({ siteId, sha256: token.sha256, reason: undefined }, context())
  await writeCheckpointAtEnd(store, NOW)
  for (let n = 0; n < 300; n++)
    await store.revokeCredential({ siteId, credentialId: credentialId(), reason: undefined }, context())
  return { siteId, revoked, active, id, issuer, tokenSha256: token.sha256 }
}

const asText = (row: StoredRow) =>
  JSON.stringify(
    Object.entries(row)
      .map(([name, value]) => [
        name,
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
      ])
      .sort(),
  )

function readFileTables(file: string): Map<string, string[]> {
  const db = new Database(file, { readonly: true })
  const names = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .pluck()
    .all() as string[]
  const tables = new Map(
    names.map((name) => [
      name,
      (db.prepare(`SELECT * FROM ${name}`).all() as StoredRow[]).map(asText).sort(),
    ]),
  )
  db.close()
  return tables
}

async function readDatabaseTable(name: string): Promise<string[]> {
  const sql = connect({ url, max: 1 })
  const rows = (await queryWith(sql)(`SELECT * FROM ${name}`)) as unknown as StoredRow[]
  await sql.end()
  return rows.map((row) => asText({ ...row })).sort()
}

describe('a backup of the embedded store in an empty database', () => {
  it('has every row, and goes on in a new epoch', { tags: 'long' }, async () => {
    const file = await openFile()
    const { siteId, revoked, active, id, tokenSha256 } = await fill(file)
    const before = await viewOf(file, siteId)
    expect(await backup()).toMatchObject({ code: 0 })

    const restored = await restore('--json')
    expect(restored).toMatchObject({ code: 0 })
    const { epoch } = JSON.parse(restored.said) as { epoch: string }
    expect(epoch).not.toBe(file.epoch)

    const tables = readFileTables(backupPath())
    expect(tables.size).toBeGreaterThan(40)
    for (const [name, rows] of tables)
      if (!CHANGED.has(name)) expect(await readDatabaseTable(name), name).toEqual(rows)

    const database = await openDatabase()
    expect(database.epoch).toBe(epoch)
    const view = await viewOf(database, siteId)
    expect(view.revocationCount).toBe(before.revocationCount)
    expect(view.userRevocation(revoked, 0)).toBeDefined()
    expect(view.userRevocation(active, NOW + 2000)).toBeUndefined()
    expect(view.credentialRevocation(id)).toBeDefined()
    expect(view.tokenRevocation(tokenSha256)).toBeDefined()
    expect(await onDatabase(['audit-log'])).toMatchObject({ code: 0 })
    const next = await database.revokeUser({ siteId, ppid: active, reason: undefined }, context(NOW + 3000))
    expect(next.seq).toBe(before.head.seq + 1)
  })

  it('is audited and reported with --dry-run, and nothing is written', { tags: 'long' }, async () => {
    await fill(await openFile())
    await backup()
    const tried = await restore('--dry-run')
    expect(tried).toMatchObject({ code: 0 })
    expect(tried.noted).toContain('Nothing was changed')
    const sql = connect({ url, max: 1 })
    const found = await queryWith(sql)("SELECT 1 FROM information_schema.tables WHERE table_name = 'log'")
    await sql.end()
    expect(found).toHaveLength(0)
  })

  it('is rejected by a database that has a store, which keeps what it has', { tags: 'long' }, async () => {
    await fill(await openFile())
    await backup()
    const database = await openDatabase()
    const { siteId, revoked } = await fill(database)
    for (const options of [[], ['--dry-run']]) {
      const rejected = await restore(...options)
      expect(rejected).toMatchObject({ code: 1 })
      expect(rejected.noted).toContain('already has a store')
    }
    expect((await viewOf(database, siteId)).userRevocation(revoked, 0)).toBeDefined()
    expect(await readDatabaseTable('sites')).toHaveLength(1)
  })

  it('is not loaded in part: a changed entry or row leaves the database as it was', {
    tags: 'long',
  }, async () => {
    for (const change of [
      "UPDATE entries SET body = replace(body, '\"cred_', '\"cred_x') WHERE position = 250",
      "UPDATE sites SET name = 'other'",
    ]) {
      rmSync(backupPath(), { force: true })
      const store = await openFile()
      await fill(store)
      await backup()
      await store.close()
      const db = new Database(backupPath())
      db.exec(change)
      db.close()
      const rejected = await restore()
      expect([change, rejected.code]).not.toEqual([change, 0])
      const sql = connect({ url, max: 1 })
      const found = await queryWith(sql)("SELECT 1 FROM information_schema.tables WHERE table_name = 'log'")
      await sql.end()
      expect(found).toHaveLength(0)
    }
  })

  it('needs the master key of the backup and the schema of this release', { tags: 'long' }, async () => {
    await fill(await openFile())
    await backup()
    const other = await onDatabase(['restore', backupPath()], 'ab'.repeat(32))
    expect(other.code).not.toBe(0)
    const db = new Database(backupPath())
    db.pragma('user_version = 39')
    db.close()
    const older = await restore()
    expect(older).toMatchObject({ code: 1 })
    expect(older.noted).toContain('schema version 39')
  })

  it('keeps no revocations of a database that has none', { tags: 'long' }, async () => {
    await fill(await openFile())
    await backup()
    const rejected = await restore('--keep-revocations')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.noted).toContain('--keep-revocations')
  })
})
