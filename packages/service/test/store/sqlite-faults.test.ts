import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { findScript } from '../../../../test/process/scripts.ts'
import { auditLog } from '../../src/store/audit-log.ts'
import { AUDIT_REJECTED } from '../../src/store/audit-rows.ts'
import { auditFilters } from '../../src/store/migrations/0022-audit-filters.ts'
import { migrations } from '../../src/store/migrations/all.ts'
import { openStore } from '../../src/store/open.ts'
import { backupSqlite, restoreSqlite } from '../../src/store/sqlite/backup.ts'
import { openForReading, openForWriting } from '../../src/store/sqlite/connection.ts'
import { prepareStoreFile } from '../../src/store/sqlite/file.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { beginFileEpoch } from '../../src/store/sqlite/new-epoch.ts'
import { auditFile } from '../../src/store/sqlite/offline.ts'
import type { Store } from '../../src/store/store.ts'
import { context, failingAct, MASTER_KEY, NOW, newSite, ppid, quietLog } from './fixtures.ts'
import { entriesOf, viewOf, wholeLog } from './log-reading.ts'

const directory = mkdtempSync(join(tmpdir(), 'countersign-sqlite-'))
afterAll(() => rmSync(directory, { recursive: true }))

const opened: Store[] = []
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
})

let count = 0
const newFile = () => join(directory, `d${++count}`, 'store.db')

let emptySchema: unknown

/** The schema of a store that this release has made. */
async function currentSchema(): Promise<unknown> {
  if (emptySchema === undefined) {
    const file = newFile()
    await (await open(file)).close()
    emptySchema = schemaOf(file)
  }
  return emptySchema
}

function schemaOf(file: string): unknown {
  const db = new Database(file, { readonly: true })
  try {
    return db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all()
  } finally {
    db.close()
  }
}

async function open(file: string, onFatal: (fault: Error) => void = () => {}): Promise<Store> {
  const store = await openStore({ kind: 'sqlite', file }, { masterKey: MASTER_KEY, log: quietLog, onFatal })
  opened.push(store)
  return store
}

async function withUsers(store: Store, users: number) {
  const site = newSite()
  await store.createSite(site, context())
  for (let i = 0; i < users; i++)
    await store.revokeUser({ siteId: site.siteId, ppid: ppid(), reason: undefined }, context())
  return site.siteId
}

/** Changes the file behind the back of the store. */
function tamper(file: string, ...statements: readonly string[]): void {
  const db = new Database(file)
  for (const statement of statements) db.exec(statement)
  db.close()
}

interface Running {
  readonly process: ChildProcess
  readonly lines: string[]
  until(matches: (line: string) => boolean): Promise<string>
  readonly ended: Promise<number | null>
}

function run(command: string, args: readonly string[]): Running {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  let rest = ''
  child.stdout?.on('data', (bytes: Buffer) => {
    const parts = (rest + bytes.toString()).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    for (const look of waiting) look()
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return {
    process: child,
    lines,
    ended,
    until: (matches) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const line = lines.find(matches)
          if (line === undefined) return
          waiting.delete(look)
          resolve(line)
        }
        waiting.add(look)
        ended.then(() => reject(new Error(`ended after: ${lines.slice(-3).join(' | ')}`)))
        look()
      }),
  }
}

const SCRIPT = fileURLToPath(findScript(new URL('./sqlite-process.ts', import.meta.url)))
const CHILD = ['--conditions=countersign-source', SCRIPT]
const ownProcess = (file: string) => run(process.execPath, [...CHILD, file])

describe('the file', () => {
  it('and all beside it are for their owner only', async () => {
    const file = newFile()
    await withUsers(await open(file), 1)
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700)
    const beside = readdirSync(join(file, '..')).sort()
    expect(beside).toEqual(['store.db', 'store.db-shm', 'store.db-wal', 'store.db.lock'])
    for (const name of beside)
      expect([name, (statSync(join(file, '..', name)).mode & 0o777).toString(8)]).toEqual([name, '600'])
  })

  it('is opened while another process removes the files beside it', async () => {
    const file = newFile()
    await (await open(file)).close()
    const beside = `${file}-wal`
    const remover = new Worker(
      `const { rmSync, writeFileSync } = require('node:fs')
       for (;;) { writeFileSync(${JSON.stringify(beside)}, '', { mode: 0o600 }); rmSync(${JSON.stringify(beside)}) }`,
      { eval: true },
    )
    onTestFinished(async () => {
      await remover.terminate()
    })
    await expect.poll(() => existsSync(beside), { interval: 1 }).toBe(true)
    for (let i = 0; i < 3000; i++) prepareStoreFile(file)
  })

  it('is refused when others can read it, or could have replaced it (A229)', async () => {
    const file = newFile()
    await (await open(file)).close()
    chmodSync(file, 0o640)
    await expect(open(file)).rejects.toThrow(/can be read by others.*chmod 600/)
    chmodSync(file, 0o600)
    chmodSync(join(file, '..'), 0o777)
    await expect(open(file)).rejects.toThrow(/every user can replace/)
    chmodSync(join(file, '..'), 0o700)
    await open(file)
  })

  it('is written with every commit synced, on every connection (A230)', async () => {
    const file = newFile()
    await open(file)
    for (const openConnection of [openForReading, openForWriting]) {
      const db = openConnection(file)
      expect([
        db.pragma('journal_mode', { simple: true }),
        db.pragma('synchronous', { simple: true }),
      ]).toEqual(['wal', 2])
      db.close()
    }
    const reader = openForReading(file)
    expect(() => reader.exec('DELETE FROM log')).toThrow(/readonly/)
    reader.close()
  })

  it('is refused when a newer release has written it', async () => {
    const file = newFile()
    await (await open(file)).close()
    tamper(file, 'PRAGMA user_version = 1000')
    await expect(open(file)).rejects.toThrow(/schema version 1000.*newer release/)
    tamper(file, `PRAGMA user_version = ${migrations.at(-1)?.version}`)
    await open(file)
  })

  it.each(migrations.slice(0, -1).map(({ version }) => version))(
    'is brought up to date when it is of version %s',
    async (version) => {
      const file = newFile()
      mkdirSync(join(file, '..'), { mode: 0o700 })
      writeFileSync(file, '', { mode: 0o600 })
      const db = new Database(file)
      migrate(db, migrations.slice(0, version))
      db.close()
      const store = await open(file)
      const { siteId } = newSite()
      await store.createSite(newSite({ siteId }), context())
      await store.close()
      expect(schemaOf(file)).toEqual(await currentSchema())
    },
  )

  it('gives older audit rows the outcome that they have in their details', async () => {
    const file = newFile()
    mkdirSync(join(file, '..'), { mode: 0o700 })
    writeFileSync(file, '', { mode: 0o600 })
    const db = new Database(file)
    migrate(db, migrations.slice(0, migrations.indexOf(auditFilters)))
    const details = {
      a: {},
      b: { outcome: 'done', reason: `"outcome":"${AUDIT_REJECTED}"` },
      c: { n: 1, outcome: 'unchanged', reason: null },
      d: { outcome: AUDIT_REJECTED, reason: 'x' },
      e: { reason: '%"outcome":"unchanged"%', list: ['outcome', AUDIT_REJECTED] },
    }
    for (const [id, detail] of Object.entries(details))
      db.prepare('INSERT INTO audit (id, at, actor, action, detail) VALUES (?, 1, ?, ?, ?)').run(
        id,
        'system',
        'x',
        JSON.stringify(detail),
      )
    db.close()
    await (await open(file)).close()
    const again = new Database(file, { readonly: true })
    expect(again.prepare('SELECT outcome FROM audit ORDER BY id').pluck().all()).toEqual([
      'done',
      'done',
      'unchanged',
      AUDIT_REJECTED,
      'done',
    ])
    again.close()
  })

  it('is refused with a clear message when it has rows of a version whose MACs cover less', async () => {
    const file = newFile()
    mkdirSync(join(file, '..'), { mode: 0o700 })
    writeFileSync(file, '', { mode: 0o600 })
    const db = new Database(file)
    migrate(db, migrations.slice(0, 12))
    db.exec(`INSERT INTO heads (site_id, seq, hash) VALUES ('shop.example', 0, '')`)
    db.exec(`INSERT INTO secrets (name, sealed) VALUES ('mac-key', 'sealed')`)
    db.close()
    await expect(open(file)).rejects.toThrow(/earlier version created the store.*empty store/)
  })

  it('is refused when it is no database', async () => {
    const file = newFile()
    mkdirSync(join(file, '..'), { mode: 0o700 })
    writeFileSync(file, 'x'.repeat(10_000), { mode: 0o600 })
    await expect(open(file)).rejects.toThrow(
      `${file} is not a store of Countersign. Check the path, or restore a backup: countersign restore.`,
    )
  })
})

describe('the owner', () => {
  it('is one: the file is refused a second time in the same process, until it is closed', async () => {
    const file = newFile()
    const store = await open(file)
    await expect(open(file)).rejects.toThrow(/open in this process already/)
    await store.close()
    await open(file)
  })

  it('is found also when its lock file was torn', async () => {
    const file = newFile()
    await (await open(file)).close()
    writeFileSync(`${file}.lock`, 'torn'.repeat(1024))
    await open(file)
    await expect(open(file)).rejects.toThrow(/already/)
  })

  it('is one process, which is named, and no longer owns anything when it was killed', {
    tags: 'long',
  }, async () => {
    const file = newFile()
    const owner = ownProcess(file)
    await owner.until((line) => line.startsWith('revoked'))
    await expect(open(file)).rejects.toThrow(`process ${owner.process.pid}`)
    await expect(open(file)).rejects.toThrow(/stop it first/)
    owner.process.kill('SIGKILL')
    await owner.ended
    const store = await open(file)
    const acknowledged = owner.lines.flatMap((line) => (line.startsWith('revoked ') ? [line.slice(8)] : []))
    const told = (await wholeLog(store)).flatMap(({ entry }) =>
      entry.kind === 'user.revoked' ? [entry.body.ppid as string] : [],
    )
    expect(told).toEqual(expect.arrayContaining(acknowledged))
    expect(await auditLog(store)).toMatchObject({ ok: true })
  })
})

describe('what is written', () => {
  it('is there after closing and opening again, in the same epoch', async () => {
    const file = newFile()
    const store = await open(file)
    const siteId = await withUsers(store, 3)
    const before = await entriesOf(store, siteId)
    await store.close()
    await expect(store.logPosition()).rejects.toMatchObject({ name: 'StoreUnavailable' })
    await expect(store.consumeOnce('code', 'x', 1)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    const again = await open(file)
    expect(again.epoch).toBe(store.epoch)
    expect(await entriesOf(again, siteId)).toEqual(before)
  })

  it('is answered one by one, though it is committed in groups', { tags: 'long' }, async () => {
    const store = await open(newFile())
    const siteId = await withUsers(store, 0)
    const answers = await Promise.allSettled(
      Array.from({ length: 600 }, (_, i) =>
        store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, i % 3 === 0 ? failingAct() : context()),
      ),
    )
    expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(200)
    const seqs = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.seq] : []))
    expect(seqs).toEqual(seqs.map((_, i) => i + 2))
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason.name).not.toBe('StoreUnavailable')
  })

  it('is not acknowledged when the disk is full, and the store goes on when there is room again', async ({
    skip,
  }) => {
    const mount = join(directory, 'small')
    mkdirSync(mount, { mode: 0o700 })
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'tmpfs', mount], { stdio: 'ignore' })
    } catch {
      console.warn('SKIPPED: a full disk cannot be tried here, since no small disk can be mounted')
      return skip()
    }
    onTestFinished(() => {
      execFileSync('umount', ['-l', mount])
    })
    let fatal: Error | undefined
    const store = await open(join(mount, 'store.db'), (fault) => {
      fatal = fault
    })
    const siteId = await withUsers(store, 0)
    writeFileSync(join(mount, 'ballast'), Buffer.alloc(1_000_000))
    const acknowledged: string[] = []
    let refusal: unknown
    for (let i = 0; i < 5000 && refusal === undefined; i++) {
      const user = ppid()
      try {
        await store.revokeUser({ siteId, ppid: user, reason: 'x'.repeat(200) }, context())
        acknowledged.push(user)
      } catch (fault) {
        refusal = fault
      }
    }
    expect(refusal).toMatchObject({ name: 'StoreUnavailable' })
    expect(fatal).toBeUndefined()
    rmSync(join(mount, 'ballast'))
    const user = ppid()
    await store.revokeUser({ siteId, ppid: user, reason: undefined }, context())
    const told = (await wholeLog(store)).flatMap(({ entry }) =>
      entry.kind === 'user.revoked' ? [entry.body.ppid as string] : [],
    )
    expect(told).toEqual([...acknowledged, user])
    expect(await auditLog(store)).toMatchObject({ ok: true })
    await store.close()
  })

  it('ends the process, unacknowledged, when it cannot be synced', { tags: 'long' }, async ({ skip }) => {
    try {
      execFileSync('strace', ['-V'], { stdio: 'ignore' })
      execFileSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' })
    } catch {
      console.warn(
        'SKIPPED: a disk that cannot be synced cannot be tried here, since strace is missing or not allowed',
      )
      return skip()
    }
    const file = newFile()
    const inject = [
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      'trace=fsync,fdatasync',
      '-e',
      'inject=fsync,fdatasync:error=EIO:when=40+',
    ]
    const child = run('strace', [...inject, process.execPath, ...CHILD, file])
    expect(await child.ended).toBe(70)
    const acknowledged = child.lines.flatMap((line) => (line.startsWith('revoked ') ? [line.slice(8)] : []))
    expect(acknowledged.length).toBeGreaterThan(0)
    expect(child.lines.at(-1)).toMatch(/^(?:fatal|refused)/)
    const store = await open(file)
    const told = (await wholeLog(store)).flatMap(({ entry }) =>
      entry.kind === 'user.revoked' ? [entry.body.ppid as string] : [],
    )
    expect(told).toEqual(expect.arrayContaining(acknowledged))
    expect(await auditLog(store)).toMatchObject({ ok: true })
  })
})

describe('an audit of the log', () => {
  it.each([
    [
      'an entry that was changed',
      `UPDATE entries SET body = replace(body, 'ppid_', 'ppid_x') WHERE position = 3`,
      { fault: 'wrong_hash', position: 3 },
    ],
    [
      'an entry that is no entry any more',
      `UPDATE entries SET kind = 'user.forgiven' WHERE position = 3`,
      { fault: 'unreadable', position: 3 },
    ],
    [
      'a body that is not JSON',
      `UPDATE entries SET body = '{' WHERE position = 3`,
      { fault: 'unreadable', position: 3 },
    ],
    [
      'an entry that was taken out',
      `DELETE FROM entries WHERE position = 3`,
      { fault: 'missing', position: 3 },
    ],
    [
      'a last entry that was taken off (A182)',
      `DELETE FROM entries WHERE position = 5`,
      { fault: 'missing', position: 6 - 1 },
    ],
    [
      'a last entry taken off with the number of the log, but not of its site',
      `DELETE FROM entries WHERE position = 5; UPDATE log SET position = 4`,
      { fault: 'forged', row: { table: 'log', key: '1' } },
    ],
    [
      'a site that claims another end',
      `UPDATE heads SET hash = '${'0'.repeat(64)}'`,
      { fault: 'forged', row: { table: 'heads' } },
    ],
  ])('finds %s', async (_, statement, found) => {
    const file = newFile()
    const store = await open(file)
    await withUsers(store, 4)
    expect(await auditLog(store)).toMatchObject({ ok: true, position: 5, sites: 1 })
    await store.close()
    tamper(file, statement)
    expect(await auditFile(file, MASTER_KEY)).toMatchObject({ ok: false, ...found })
    expect(await auditLog(await open(file))).toMatchObject({ ok: false, ...found })
  })

  it('reads a log of several pages and sites', { tags: 'long' }, async () => {
    const store = await open(newFile())
    for (let i = 0; i < 3; i++) await store.createSite(newSite(), context())
    const siteId = await withUsers(store, 0)
    const revoke = () => store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
    // Not all at once: on a busy machine, the last ones would wait for longer than a write may.
    for (let batch = 0; batch < 7; batch++) await Promise.all(Array.from({ length: 300 }, revoke))
    expect(await auditLog(store)).toMatchObject({ ok: true, position: 2104, sites: 4 })
  })
})

describe('a backup', () => {
  it('is made from a store in use, and restored in a new epoch that continues its entries', async () => {
    const file = newFile()
    const store = await open(file)
    const siteId = await withUsers(store, 3)
    const kept = await entriesOf(store, siteId)
    const backup = join(directory, 'backup.db')
    expect(await backupSqlite(file, backup, MASTER_KEY)).toEqual({ position: 4, sites: 1 })
    expect((statSync(backup).mode & 0o777).toString(8)).toBe('600')
    await expect(backupSqlite(file, backup, MASTER_KEY)).rejects.toThrow(/overwrites nothing/)
    const lost = { siteId, ppid: ppid(), reason: undefined }
    await store.revokeUser(lost, context())
    await expect(restoreSqlite(backup, file, { masterKey: MASTER_KEY, nowMs: NOW })).rejects.toThrow(
      /open in this process already/,
    )
    await store.close()

    const restored = await restoreSqlite(backup, file, { masterKey: MASTER_KEY, nowMs: NOW })
    expect(restored).toMatchObject({ position: 4, sites: 1 })
    expect(restored.epoch).not.toBe(store.epoch)
    const again = await open(file)
    expect(again.epoch).toBe(restored.epoch)
    const { seq, hash } = kept.at(-1) ?? {}
    expect((await viewOf(again, siteId)).head).toEqual({ epoch: restored.epoch, seq, hash })
    expect((await viewOf(again, siteId)).revocationCount).toBe(3)
    expect(await auditLog(again)).toMatchObject({ ok: true, position: 4, sites: 1 })
    expect(await again.revokeUser(lost, context())).toMatchObject({
      seq: 5,
      alreadyRevoked: false,
      epoch: restored.epoch,
    })
    expect(restored.before !== undefined && existsSync(restored.before)).toBe(true)
    expect(await auditFile(restored.before ?? '', MASTER_KEY)).toMatchObject({ ok: true, position: 5 })
  })

  it('is not served when it was copied into place by hand, until new-epoch has made it the store', {
    tags: 'long',
  }, async () => {
    const file = newFile()
    const store = await open(file)
    await withUsers(store, 2)
    const backup = join(directory, 'by-hand.db')
    await backupSqlite(file, backup, MASTER_KEY)
    await store.close()
    copyFileSync(backup, file)
    await expect(open(file)).rejects.toThrow(/is a copy.*countersign restore.*countersign new-epoch/)
    const { epoch } = await beginFileEpoch(file, MASTER_KEY, NOW)
    const again = await open(file)
    expect(again.epoch).toBe(epoch)
    expect(epoch).not.toBe(store.epoch)
    expect(await auditLog(again)).toMatchObject({ ok: true, position: 3, sites: 1 })
    expect((await again.auditRows(null, { after: undefined, limit: 1 }))[0]).toMatchObject({
      action: 'log.begin_epoch',
      target: epoch,
    })
  })

  it('is neither made nor restored when its log is not intact', async () => {
    const file = newFile()
    const store = await open(file)
    await withUsers(store, 2)
    const backup = join(directory, 'damaged.db')
    await backupSqlite(file, backup, MASTER_KEY)
    await store.close()
    const damage = `UPDATE entries SET at = '2020-01-01T00:00:00Z' WHERE position = 2`
    tamper(backup, damage)
    const before = statSync(file).mtimeMs
    await expect(restoreSqlite(backup, file, { masterKey: MASTER_KEY, nowMs: NOW })).rejects.toMatchObject({
      name: 'LogCorrupted',
      audit: { position: 2 },
    })
    expect(statSync(file).mtimeMs).toBe(before)
    expect(readdirSync(join(file, '..')).filter((name) => name.includes('restoring'))).toEqual([])
    tamper(file, damage)
    const target = join(directory, 'never.db')
    await expect(backupSqlite(file, target, MASTER_KEY)).rejects.toMatchObject({ name: 'LogCorrupted' })
    expect(existsSync(target)).toBe(false)
  })
})
