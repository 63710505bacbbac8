import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { context, MASTER_KEY, MASTER_KEY_HEX, newSite, ppid, quietLog } from '../store/fixtures.ts'
import { makeReadOnly } from '../store/read-only.ts'
import { run } from './terminal.ts'

const onFatal = (fault: Error) => {
  throw fault
}
let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'))
  file = join(folder, 'countersign.db')
})
const undoing: (() => void)[] = []
afterEach(() => {
  for (const undo of undoing.splice(0)) undo()
  rmSync(folder, { recursive: true, force: true })
})

const open = () => openStore({ kind: 'sqlite', file }, { masterKey: MASTER_KEY, log: quietLog, onFatal })
const here = (...argv: string[]) => run([...argv, '--data-dir', folder])

/** A store with a site and so many revocations, left open. */
async function revoking(users: number): Promise<{ store: Store; revoke: () => Promise<unknown> }> {
  const store = await open()
  const { siteId } = newSite()
  await store.createSite({ ...newSite(), siteId }, context())
  const revoke = () => store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
  for (let i = 0; i < users; i++) await revoke()
  return { store, revoke }
}

function tamper(path: string, statement: string): void {
  const db = new Database(path)
  db.exec(statement)
  db.close()
}

describe('audit-log', () => {
  test('says that the log holds, while the store is in use', async () => {
    const { store } = await revoking(3)
    expect(await here('audit-log')).toEqual({
      code: 0,
      said: 'The log is intact: 4 entries of 1 site.',
      noted: '',
    })
    await store.close()
  })
  test.each([
    [
      2,
      'The first 3 entries are before the base of the log: they are old, or of former epochs. They are not checked; a checkpoint with 1 page has what they still mean.',
    ],
    [
      0,
      'The first entry is before the base of the log: it is old, or of a former epoch. It is not checked; a checkpoint with 1 page has what it still means.',
    ],
  ])(
    'says after a restore which entries it does not check, with %i revocations',
    { tags: 'long' },
    async (users, words) => {
      const copy = join(folder, 'copy.db')
      const { store } = await revoking(users)
      await here('backup', copy)
      await store.close()
      expect(await here('restore', copy)).toMatchObject({ code: 0 })
      expect((await here('audit-log')).said.split('\n').slice(1)).toEqual([
        words,
        'Checked: the checkpoint and its pages. There are no entries after the base.',
      ])
      // The store still has the entries, and the audit does not notice a change in them.
      tamper(file, `UPDATE entries SET body = replace(body, 'ppid_', 'ppid_x')`)
      expect(await here('audit-log')).toMatchObject({ code: 0 })

      const again = await open()
      await again.createSite(newSite(), context())
      await again.close()
      expect((await here('audit-log')).said.split('\n').slice(1)).toEqual([
        words,
        'Checked: the checkpoint, its pages, and the hashes of the 1 entry after the base.',
      ])
    },
  )
  test('names the first bad entry and ends with 3', async () => {
    const { store } = await revoking(3)
    await store.close()
    tamper(file, `UPDATE entries SET body = replace(body, 'ppid_', 'ppid_x') WHERE position >= 3`)
    const { code, said } = await here('audit-log')
    expect(code).toBe(3)
    expect(said).toMatch(/first bad entry: position 3, site s\S+\.example, number 3\n {2}fault: wrong_hash, /)
  })
  test('reads a file by its name, with no other setting', async () => {
    const { store } = await revoking(1)
    await store.close()
    expect(await run(['audit-log', file])).toMatchObject({ code: 0 })
  })
  test('writes nothing', async () => {
    const { store } = await revoking(1)
    await store.close()
    const before = statSync(file).mtimeMs
    await here('audit-log')
    expect(statSync(file).mtimeMs).toBe(before)
  })
  test('fails where there is no log', async () => {
    expect(await here('audit-log')).toMatchObject({
      code: 1,
      noted: expect.stringContaining('there is no file'),
    })
    expect(existsSync(file)).toBe(false)
    tamper(file, 'PRAGMA journal_mode = WAL')
    expect(await here('audit-log')).toMatchObject({
      code: 1,
      noted: expect.stringContaining('never been started'),
    })
  })
  test('names a file that is not a store', async () => {
    const text = join(folder, 'text')
    writeFileSync(text, 'no store at all, by any measure')
    const other = join(folder, 'other.db')
    tamper(other, 'CREATE TABLE songs (name TEXT)')
    writeFileSync(join(folder, 'empty'), '')
    for (const each of [text, other, join(folder, 'empty'), folder])
      expect(await run(['audit-log', each]), each).toMatchObject({
        code: 1,
        noted: `audit-log failed: ${each} is not a store of Countersign. Check the path, or restore a backup: countersign restore.`,
      })
  })
  test('names a store that is damaged', async () => {
    const { store } = await revoking(1)
    await store.close()
    const bytes = readFileSync(file)
    // The first page has the schema, from byte 100 on.
    writeFileSync(file, bytes.fill(0xff, 100, 4096))
    expect(await here('audit-log')).toMatchObject({
      code: 1,
      noted: `audit-log failed: The store ${file} is damaged. Restore a backup: countersign restore.`,
    })
  })
})

describe('backup and restore', () => {
  test('bring the store back as it was, in a new epoch', async () => {
    const copy = join(folder, 'copy.db')
    const { store, revoke } = await revoking(2)
    expect(await here('backup', copy)).toMatchObject({
      code: 0,
      said: expect.stringContaining('3 entries of 1 site'),
    })
    expect(statSync(copy).mode & 0o777).toBe(0o600)
    await revoke()
    await store.close()

    const restored = await here('restore', copy)
    expect(restored).toMatchObject({ code: 0, said: expect.stringContaining('3 entries of 1 site') })
    expect(restored.noted).toMatch(
      /lacks what the replaced store had revoked: 1 revocation of a user\. Revoke again/,
    )
    const again = await open()
    expect(again.epoch).not.toBe(store.epoch)
    expect(restored.said).toContain(again.epoch)
    expect(await again.logPosition()).toBe(3)
    await again.close()
    const [before] = /\S+\.before-\S+/.exec(restored.noted) ?? ['']
    expect(await run(['audit-log', before])).toMatchObject({
      code: 0,
      said: expect.stringContaining('4 entries'),
    })
  })
  test('a backup overwrites nothing', async () => {
    const { store } = await revoking(0)
    const copy = join(folder, 'copy.db')
    writeFileSync(copy, 'mine')
    expect(await here('backup', copy)).toMatchObject({
      code: 1,
      noted: expect.stringContaining('overwrites nothing'),
    })
    expect(statSync(copy).size).toBe(4)
    await store.close()
  })
  test('a restore is refused while a service has the store open', async () => {
    const { store } = await revoking(1)
    const copy = join(folder, 'copy.db')
    await here('backup', copy)
    expect(await here('restore', copy)).toMatchObject({
      code: 1,
      noted: expect.stringContaining('open in this process already'),
    })
    expect(await store.logPosition()).toBe(2)
    await store.close()
  })
  test('a copy that is not intact is rejected with 3, and nothing changes', async () => {
    const { store } = await revoking(2)
    const copy = join(folder, 'copy.db')
    await here('backup', copy)
    await store.close()
    tamper(copy, 'DELETE FROM entries WHERE position = 2')
    // Reading the store beside the copy may leave SQLite's own empty files.
    const files = () => readdirSync(folder).filter((name) => !/-(?:wal|shm)$/.test(name))
    const before = files()
    expect(await here('restore', copy)).toMatchObject({
      code: 3,
      noted: expect.stringContaining('position 2'),
    })
    expect(files()).toEqual(before)
    expect(await here('audit-log')).toMatchObject({ code: 0, said: expect.stringContaining('3 entries') })
  })
  test('a log that is not intact is not copied', async () => {
    const { store } = await revoking(2)
    await store.close()
    tamper(file, 'DELETE FROM entries WHERE position = 2')
    const copy = join(folder, 'copy.db')
    expect(await here('backup', copy)).toMatchObject({ code: 3 })
    expect(existsSync(copy)).toBe(false)
  })
  test('a backup names a directory that is missing, or is a file', async () => {
    const { store } = await revoking(0)
    await store.close()
    expect(await here('backup', join(folder, 'nodir/b1.db'))).toMatchObject({
      code: 1,
      noted: `backup failed: The directory ${join(folder, 'nodir')} does not exist. Create it first.`,
    })
    expect(await here('backup', join(file, 'b1.db'))).toMatchObject({
      code: 1,
      noted: `backup failed: ${file} is not a directory. Choose another path.`,
    })
  })
  test('a restore names a file that is not a store, and changes nothing', async () => {
    const { store } = await revoking(1)
    await store.close()
    const copies = mkdtempSync(join(tmpdir(), 'countersign-copies-'))
    onTestFinished(() => rmSync(copies, { recursive: true, force: true }))
    const [text, other, empty] = ['text', 'other.db', 'empty'].map((name) => join(copies, name)) as [
      string,
      string,
      string,
    ]
    writeFileSync(text, 'no store at all, by any measure')
    tamper(other, 'CREATE TABLE songs (name TEXT)')
    writeFileSync(empty, '')
    const before = readdirSync(folder)
    for (const each of [text, other, empty])
      expect(await here('restore', each), each).toMatchObject({
        code: 1,
        noted: expect.stringMatching(
          `restore failed: ${each} is not a store of Countersign. Give the path of a file that countersign backup has written.$`,
        ),
      })
    expect(await here('restore', copies)).toMatchObject({
      code: 1,
      noted: expect.stringContaining(`${copies} is not a store of Countersign.`),
    })
    expect(readdirSync(folder)).toEqual(before)
    expect(await here('audit-log')).toMatchObject({ code: 0, said: expect.stringContaining('2 entries') })
  })
  test('name a store and a directory that this user cannot write', async ({ skip }) => {
    const { store } = await revoking(1)
    await store.close()
    const copies = mkdtempSync(join(tmpdir(), 'countersign-copies-'))
    onTestFinished(() => rmSync(copies, { recursive: true, force: true }))
    const copy = join(copies, 'copy.db')
    expect(await here('backup', copy)).toMatchObject({ code: 0 })
    for (const ending of ['-wal', '-shm']) rmSync(file + ending, { force: true })
    const undo = makeReadOnly(folder)
    if (undo === undefined) return skip()
    undoing.push(undo)
    const advice = `The store ${file} cannot be written. Give this user write access to its directory and files.`
    for (const argv of [['restore', copy], ['migrate'], ['new-epoch']])
      expect(await here(...argv), argv[0]).toMatchObject({
        code: 1,
        noted: expect.stringContaining(`${argv[0]} failed: ${advice}`),
      })
    expect(await here('audit-log')).toMatchObject({
      code: 1,
      noted: `audit-log failed: The store ${file} cannot be opened. Give this user access to its directory and files. SQLite writes files beside it, even to read it.`,
    })
    expect(await run(['migrate', '--data-dir', join(folder, 'new')])).toMatchObject({
      code: 1,
      noted: expect.stringContaining(
        `The store ${join(folder, 'new/countersign.db')} cannot be written. Give this user`,
      ),
    })
    expect(await run(['backup', join(folder, 'b1.db'), '--data-dir', folder])).toMatchObject({
      code: 1,
      noted: `backup failed: This user cannot create a file in ${folder}. Give this user write access to it, or choose another directory.`,
    })
  })
  test('are not for copies of PostgreSQL, and say what is', async () => {
    const env = {
      COUNTERSIGN_DATABASE_URL: 'postgres://u:canary@127.0.0.1:1/x',
      COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
    }
    const dump = join(folder, 'countersign.dump')
    writeFileSync(dump, `PGDMP${'x'.repeat(2000)}`)
    const ran = [await run(['backup', 'x'], env), await run(['restore', dump], env)]
    for (const { code, noted } of ran) {
      expect(code).toBe(1)
      expect(noted).toMatch(/pg_(?:dump|restore)/)
      expect(noted).not.toContain('canary')
    }
  })
})

describe('new-epoch', () => {
  test('gives the same log another name', async () => {
    const { store } = await revoking(2)
    await store.close()
    const { code, said } = await here('new-epoch')
    expect(code).toBe(0)
    const again = await open()
    expect(said).toBe(`The log is in the new epoch ${again.epoch}, after 3 entries.`)
    expect(again.epoch).not.toBe(store.epoch)
    expect((await again.auditRows(null, { after: undefined, limit: 1 }))[0]).toMatchObject({
      action: 'log.begin_epoch',
    })
    await again.close()
  })
  test('is refused while a service has the store open, and for a log that is not intact', async () => {
    const { store } = await revoking(2)
    expect(await here('new-epoch')).toMatchObject({ code: 1 })
    await store.close()
    tamper(file, 'DELETE FROM entries WHERE position = 2')
    expect(await here('new-epoch')).toMatchObject({ code: 3 })
  })
  test('makes no store where there is none', async () => {
    expect(await here('new-epoch')).toMatchObject({ code: 1 })
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('migrate', () => {
  test('makes a store that is ready to be served', async () => {
    expect(await here('migrate')).toMatchObject({ code: 0, said: expect.stringContaining('SQLite') })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await here('audit-log')).toMatchObject({
      code: 0,
      said: 'The log is intact: 0 entries of 0 sites.',
    })
  })
  test('refuses a store that a newer release has written', async () => {
    await here('migrate')
    tamper(file, 'PRAGMA user_version = 9999')
    expect(await here('migrate')).toMatchObject({
      code: 1,
      noted: expect.stringContaining('schema version 9999'),
    })
  })
})
