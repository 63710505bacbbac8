import { chmodSync, linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type AuditArchiverParts, archiveAudit } from '../../src/audit-archive/archive-audit.ts'
import {
  type ArchiveFile,
  listArchives,
  readArchive,
  toArchiveName,
} from '../../src/audit-archive/archive-file.ts'
import { verifyArchives } from '../../src/audit-archive/verify-archives.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY } from '../store/fixtures.ts'
import { forEachSharedStore } from '../stores.ts'

const KEPT_MS = 100 * DAY
/** All rows of a test are written at this time or later; each test has a time of its own. */
let then = Date.UTC(2001, 0, 1)

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'archives-'))
  then += 10_000 * DAY
})
afterEach(() => {
  chmodSync(directory, 0o700)
  rmSync(directory, { recursive: true, force: true })
})

forEachSharedStore('archives of audit rows', (open) => {
  const write = async (store: Store, count: number, days = 0) => {
    for (let i = 0; i < count; i++) {
      const at = context(then + days * DAY + i)
      await store.audit({ siteId: null, action: 'test.done', target: `t${i}`, detail: {}, context: at })
    }
  }
  const left = async (store: Store) =>
    (await store.auditRowsBefore(then + 1000 * DAY, '', 1000)).map(({ id }) => id)
  const makeParts = (store: Store, changes: Partial<AuditArchiverParts> = {}) => {
    const counts = { removed: 0, archived: 0, errors: [] as unknown[] }
    const parts: AuditArchiverParts = {
      store,
      clock: { nowMs: () => then + KEPT_MS + 2 * DAY },
      log: { info: () => {}, error: (detail: unknown) => counts.errors.push(detail) } as never,
      meters: {
        rowsRemoved: (_, count) => (counts.removed += count),
        auditRowsArchived: (count) => (counts.archived += count),
      },
      directory,
      keptMs: KEPT_MS,
      owner: 'a',
      signal: new AbortController().signal,
      ...changes,
    }
    return { parts, counts }
  }
  /** The ids of all archives, in order, and whether a reader accepts them. */
  const archived = async () => {
    const ids: string[] = []
    for (const number of await listArchives(directory))
      ids.push(...((await readArchive(directory, number)) as ArchiveFile).rows.map(({ id }) => id))
    return ids
  }
  /** Each test continues the chain of the tests before it in another directory. */
  const isIntact = async (store: Store) => {
    const [from = 1] = await listArchives(directory)
    return (await verifyArchives(directory, { from, expected: await store.lastAuditArchive() })).ok
  }

  it('contain what is removed, in files of bounded size; newer rows stay', async () => {
    const store = open()
    await write(store, 7)
    const ids = await left(store)
    await write(store, 2, 3)
    const { parts, counts } = makeParts(store, { rowsMax: 3 })
    await archiveAudit(parts)
    expect(await archived()).toEqual(ids)
    expect(await listArchives(directory)).toHaveLength(3)
    expect(await left(store)).toHaveLength(2)
    expect(counts).toEqual({ removed: 7, archived: 7, errors: [] })
    expect(await isIntact(store)).toBe(true)
    await archiveAudit(parts)
    expect(await listArchives(directory)).toHaveLength(3)
    await store.removeAuditRows(then + 10 * DAY, 100)
  })

  it('are written when a row has been due for a day, then for all rows that are due', async () => {
    const store = open()
    await write(store, 1)
    await write(store, 1, 0.5)
    const at = (days: number) =>
      makeParts(store, { clock: { nowMs: () => then + KEPT_MS + days * DAY } }).parts
    await archiveAudit(at(0.9))
    expect(await listArchives(directory)).toEqual([])
    await archiveAudit(at(1.1))
    expect(await archived()).toHaveLength(2)
    expect(await left(store)).toEqual([])
  })

  const steps = [
    'recordAuditArchive',
    'removeArchivedRows',
    'endAuditArchive',
    'releaseAuditArchive',
  ] as const
  it.each(steps.flatMap((step) => [[step, 'before'] as const, [step, 'after'] as const]))(
    'lose nothing and repeat nothing after a crash at %s, %s it is written',
    async (step, when) => {
      const store = open()
      await write(store, 7)
      const ids = await left(store)
      let isDown = false
      const down = async () => {
        isDown = true
        throw new Error('crash')
      }
      const crashing = Object.create(store) as Store
      // Nothing of a process that has crashed reaches the store any more.
      for (const each of steps) {
        const run = store[each].bind(store) as (...args: unknown[]) => Promise<unknown>
        const crash = async (...args: unknown[]) => {
          if (isDown) return down()
          if (each === step && when === 'after') await run(...args)
          return each === step ? down() : run(...args)
        }
        Object.assign(crashing, { [each]: crash })
      }
      await expect(archiveAudit(makeParts(crashing, { rowsMax: 3 }).parts)).rejects.toThrow('crash')
      // At every moment each row is in the store, in a file, or in both.
      expect(new Set([...(await archived()), ...(await left(store))])).toEqual(new Set(ids))

      const later = { nowMs: () => then + KEPT_MS + 3 * DAY }
      await archiveAudit(makeParts(store, { rowsMax: 3, clock: later, owner: 'b' }).parts)
      expect(await archived()).toEqual(ids)
      expect(await left(store)).toEqual([])
      expect(await isIntact(store)).toBe(true)
    },
  )

  it('leave no draft behind when a process ended between its link and the end of its draft', async () => {
    const store = open()
    await write(store, 2)
    const crashing = Object.assign(Object.create(store) as Store, {
      recordAuditArchive: async () => {
        throw new Error('crash')
      },
    })
    await expect(archiveAudit(makeParts(crashing).parts)).rejects.toThrow('crash')
    const [number = 0] = await listArchives(directory)
    const file = join(directory, toArchiveName(number))
    linkSync(file, `${file}.abc.new`)
    await archiveAudit(makeParts(store).parts)
    expect(readdirSync(directory)).toEqual([toArchiveName(number)])
    expect(await left(store)).toEqual([])
  })

  it('would lose rows if they were removed before the file is durable: the tests above notice it', async () => {
    const store = open()
    await write(store, 2)
    const ids = await left(store)
    const hasty = Object.create(store) as Store
    hasty.claimAuditArchive = async (...args) => {
      await store.removeAuditRows(then + DAY, 100)
      return store.claimAuditArchive(...args)
    }
    await archiveAudit(makeParts(hasty).parts)
    expect(new Set([...(await archived()), ...(await left(store))])).not.toEqual(new Set(ids))
  })

  it('that cannot be written leave every row in the store', async () => {
    const store = open()
    await write(store, 3)
    const ids = await left(store)
    const blocked = join(directory, 'file')
    writeFileSync(blocked, '')
    const { parts, counts } = makeParts(store, { directory: join(blocked, 'archives') })
    await expect(archiveAudit(parts)).rejects.toThrow('ENOTDIR')
    expect(counts).toMatchObject({ removed: 0, archived: 0 })
    expect(await left(store)).toEqual(ids)
    // When the fault is gone, the next run archives them.
    await archiveAudit(makeParts(store).parts)
    expect(await left(store)).toEqual([])
  })

  it('are continued by one process at a time', async () => {
    const store = open()
    await write(store, 7)
    const ids = await left(store)
    const [a, b] = [makeParts(store, { rowsMax: 2 }), makeParts(store, { rowsMax: 2, owner: 'b' })]
    await Promise.allSettled([archiveAudit(a.parts), archiveAudit(b.parts)])
    await archiveAudit(a.parts)
    expect(await archived()).toEqual(ids)
    expect(a.counts.archived + b.counts.archived).toBe(7)
    expect(await isIntact(store)).toBe(true)
  })

  it('of two directories are not both recorded: the slower one is removed, with no row lost', async () => {
    const store = open()
    await write(store, 3)
    const ids = await left(store)
    const other = join(directory, 'other')
    const slow = Object.create(store) as Store
    slow.recordAuditArchive = async (...args) => {
      // The claim has ended meanwhile, and another node has archived.
      await store.releaseAuditArchive('a')
      const clock = { nowMs: () => then + KEPT_MS + 2 * DAY + 1 }
      await archiveAudit(makeParts(store, { owner: 'b', directory: other, clock }).parts)
      return store.recordAuditArchive(...args)
    }
    await expect(archiveAudit(makeParts(slow).parts)).rejects.toThrow('another node')
    expect(await left(store)).toEqual([])
    expect(await listArchives(directory)).toEqual([])
    const rows = []
    for (const number of await listArchives(other))
      rows.push(...((await readArchive(other, number)) as ArchiveFile).rows.map(({ id }) => id))
    expect(rows).toEqual(ids)
  })

  it('that were damaged before their rows were removed are written again under the next number', async () => {
    const store = open()
    await write(store, 3)
    const ids = await left(store)
    const crashing = Object.create(store) as Store
    crashing.removeArchivedRows = () => Promise.reject(new Error('crash'))
    await expect(archiveAudit(makeParts(crashing).parts)).rejects.toThrow('crash')
    const [number = 0] = await listArchives(directory)
    const file = join(directory, toArchiveName(number))
    writeFileSync(file, readFileSync(file, 'utf8').replace('test.done', 'test.gone'))
    const { parts, counts } = makeParts(store)
    await archiveAudit(parts)
    expect(counts.errors).toEqual([{ file: toArchiveName(number), fault: 'wrong_hash' }])
    expect(((await readArchive(directory, number + 1)) as ArchiveFile).rows.map(({ id }) => id)).toEqual(ids)
    expect(await left(store)).toEqual([])
    const expected = await store.lastAuditArchive()
    expect(await verifyArchives(directory, { from: number, expected })).toMatchObject({
      ok: false,
      file: toArchiveName(number),
      fault: 'wrong_hash',
    })
  })

  it('do not use a file that is not theirs: no row is removed', async () => {
    const store = open()
    await write(store, 3)
    const ids = await left(store)
    const number = (await store.lastAuditArchive()).number + 1
    for (const text of ['', '{"type":"audit_archive"}\n{"type":"end"}\n']) {
      writeFileSync(join(directory, toArchiveName(number)), text)
      await expect(archiveAudit(makeParts(store).parts)).rejects.toThrow(
        `${toArchiveName(number)} in ${directory} is not the archive`,
      )
      expect(await left(store)).toEqual(ids)
    }
    rmSync(join(directory, toArchiveName(number)))
    await archiveAudit(makeParts(store).parts)
    expect(await left(store)).toEqual([])
  })

  it('leave a row that was changed after it was archived, and archive it again', async () => {
    const store = open()
    await write(store, 2)
    const [first] = await left(store)
    const changing = Object.create(store) as Store
    let isFirst = true
    changing.removeArchivedRows = (rows) => {
      const seen = isFirst ? rows.map((row) => ({ ...row, line: row.id === first ? '{}' : row.line })) : rows
      isFirst = false
      return store.removeArchivedRows(seen)
    }
    await archiveAudit(makeParts(changing).parts)
    const ids = await archived()
    expect(ids.filter((id) => id === first)).toHaveLength(2)
    expect(await left(store)).toEqual([])
    expect(await isIntact(store)).toBe(true)
  })

  it('stop between two batches when the node stops, and continue after the next start', async () => {
    const store = open()
    await write(store, 7)
    const ids = await left(store)
    const ending = new AbortController()
    const slow = Object.create(store) as Store
    slow.recordAuditArchive = (...args) => {
      ending.abort()
      return store.recordAuditArchive(...args)
    }
    await archiveAudit(makeParts(slow, { rowsMax: 3, signal: ending.signal }).parts)
    expect(await left(store)).toHaveLength(7)
    expect(readdirSync(directory)).toHaveLength(1)
    await archiveAudit(makeParts(store, { rowsMax: 3, owner: 'b' }).parts)
    expect(await archived()).toEqual(ids)
    expect(await left(store)).toEqual([])
  })
})
