import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listArchives } from '../../src/audit-archive/archive-file.ts'
import { startAuditArchiving } from '../../src/audit-archive/start-archiving.ts'
import type { Config } from '../../src/config.ts'
import { startPurging } from '../../src/store/start-purging.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY, newSite, seen } from '../store/fixtures.ts'
import { forEachSharedStore } from '../stores.ts'

const NEVER_MS = 2 ** 30
let then = Date.UTC(2001, 0, 1)
let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'archives-'))
  then += 10_000 * DAY
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

forEachSharedStore('jobs that remove old rows', (open) => {
  const makeDeps = (store: Store, retention: Partial<Config['retention']>) => {
    const removed: Record<string, number> = {}
    const warnings: string[] = []
    return {
      removed,
      warnings,
      deps: {
        // Its turn, a day after the last one.
        store: Object.assign(Object.create(store) as Store, { takeTurn: async () => DAY }),
        clock: { nowMs: () => then + 100 * DAY },
        config: {
          retention: {
            credentialsKeptMs: 10 * DAY,
            auditKeptMs: undefined,
            auditArchiveDir: undefined,
            receiptsKeptMs: 10 * DAY,
            ...retention,
          },
        },
        meters: {
          rowsRemoved: (table: string, count: number) => {
            removed[table] = (removed[table] ?? 0) + count
          },
          auditRowsArchived: (count: number) => {
            removed.archived = (removed.archived ?? 0) + count
          },
        },
        log: {
          warn: (_: object, message: string) => void warnings.push(message),
          info: () => {},
          error: () => {},
        } as never,
      },
    }
  }
  const write = async (store: Store, count: number) => {
    // Of earlier tests.
    await store.removeAuditRows(then, 1000)
    for (let i = 0; i < count; i++)
      await store.audit({
        siteId: null,
        action: 'test.done',
        target: `t${i}`,
        detail: {},
        context: context(then + i),
      })
  }
  const left = async (store: Store) => (await store.auditRowsBefore(then + 50 * DAY, '', 1000)).length
  /** One run, to its end. */
  const runOnce = async (job: { run(): void; close(): Promise<void> }, isDone: () => boolean) => {
    job.run()
    await expect.poll(isDone, { interval: 5 }).toBe(true)
    await job.close()
  }

  it('remove credentials when the settings do not keep them any longer, in batches', async () => {
    const store = open()
    const site = newSite()
    await store.createSite(site, context())
    const at = (days: number) => seen(site.siteId, { validUntilMs: then + days * DAY })
    const kept = at(91)
    await store.recordCredentials([...Array.from({ length: 201 }, () => at(90)), kept], then)
    const { deps, removed } = makeDeps(store, {})
    await runOnce(startPurging(deps, NEVER_MS), () => removed.credentials === 201)
    const rows = await store.credentials(site.siteId, {}, { after: undefined, limit: 10 })
    expect(rows.map((row) => row.credentialId)).toEqual([kept.credentialId])
  })

  it('remove no audit rows unless the settings say so', async () => {
    const store = open()
    await write(store, 3)
    const all = makeDeps(store, { auditArchiveDir: directory })
    const archiving = startAuditArchiving(all.deps, NEVER_MS)
    archiving.run()
    await archiving.close()
    await runOnce(startPurging(all.deps, NEVER_MS), () => 'credentials' in all.removed)
    expect(await left(store)).toBe(3)

    const without = makeDeps(store, { auditKeptMs: 10 * DAY })
    await runOnce(startPurging(without.deps, NEVER_MS), () => without.removed.audit === 3)
    expect(await left(store)).toBe(0)
  })

  it('remove nothing for good by a clock that is far ahead, until it has been so for a day', async () => {
    const store = open()
    const site = newSite()
    await store.createSite(site, context())
    await write(store, 3)
    await store.recordCredentials([seen(site.siteId, { validUntilMs: then + DAY })], then)
    /** Runs the job that removes these rows once at that time, and returns what it has removed. */
    const runAt = async (nowMs: number, auditArchiveDir?: string) => {
      const { deps, removed } = makeDeps(store, { auditKeptMs: 10 * DAY, auditArchiveDir })
      let turns = 0
      const counting = Object.assign(Object.create(store) as Store, {
        takeTurn: (...turn: Parameters<Store['takeTurn']>) => {
          turns++
          return store.takeTurn(...turn)
        },
      })
      const all = { ...deps, store: counting, clock: { nowMs: () => nowMs } }
      const start = auditArchiveDir === undefined ? startPurging : startAuditArchiving
      const job = start(all, NEVER_MS)
      // The second run begins when the first one has ended.
      const isRunAgain = () => {
        job.run()
        return turns > 1
      }
      await expect.poll(isRunAgain, { interval: 5 }).toBe(true)
      await job.close()
      const { credentials, audit } = removed
      return { credentials, audit }
    }
    const nothing = { credentials: undefined, audit: undefined }
    for (const archive of [undefined, directory]) {
      expect(await runAt(then, archive)).toEqual(nothing)
      await runAt(then + 2 * DAY, archive)
      expect(await left(store)).toBe(3)
    }
    // The clock of a node that starts now is two years ahead.
    const ahead = then + 730 * DAY
    for (const atMs of [ahead, ahead + DAY / 2])
      for (const archive of [undefined, directory]) expect(await runAt(atMs, archive)).toEqual(nothing)
    expect(await left(store)).toBe(3)
    expect(await runAt(ahead + DAY, directory)).toMatchObject({ audit: expect.any(Number) })
    expect(await left(store)).toBe(0)
    expect(await runAt(ahead + DAY)).toMatchObject({ credentials: 1 })
    await store.removeAuditRows(then + 1000 * DAY, 1000)
  })

  it('archive audit rows before they are removed, if there is a directory', async () => {
    const store = open()
    await write(store, 3)
    const { deps, removed } = makeDeps(store, { auditKeptMs: 10 * DAY, auditArchiveDir: directory })
    const purging = startPurging(deps, NEVER_MS)
    await runOnce(purging, () => 'credentials' in removed)
    expect(await left(store)).toBe(3)
    await runOnce(startAuditArchiving(deps, NEVER_MS), () => removed.audit === 3)
    expect(removed.archived).toBe(3)
    expect(await listArchives(directory)).toHaveLength(1)
  })

  it('report that rows cannot be archived, and remove none, until they can', async () => {
    const store = open()
    await write(store, 3)
    const blocked = join(directory, 'taken')
    writeFileSync(blocked, '')
    const { deps, removed, warnings } = makeDeps(store, { auditKeptMs: 10 * DAY, auditArchiveDir: blocked })
    const archiving = startAuditArchiving(deps, NEVER_MS)
    archiving.run()
    await expect.poll(() => archiving.isFailing, { interval: 5 }).toBe(true)
    expect(warnings).toEqual(['could not archive audit rows; none was removed; trying again'])
    expect(removed.audit).toBeUndefined()
    expect(await left(store)).toBe(3)
    rmSync(blocked)
    await expect
      .poll(
        () => {
          archiving.run()
          return archiving.isFailing
        },
        { interval: 20 },
      )
      .toBe(false)
    await archiving.close()
    expect(await left(store)).toBe(0)
  })

  it('go on with the other tables when one fails', async () => {
    const store = open()
    store.purgeExpired = () => Promise.reject(new Error('down'))
    const { deps, removed, warnings } = makeDeps(store, {})
    await runOnce(startPurging(deps, NEVER_MS), () => 'credentials' in removed)
    expect(warnings).toEqual(['could not remove old rows; trying again'])
  })

  it('end between two batches when the node stops', async () => {
    const store = open()
    let batches = 0
    store.purgeCredentials = async () => {
      batches++
      return 100
    }
    const purging = startPurging(makeDeps(store, {}).deps, NEVER_MS)
    purging.run()
    await expect.poll(() => batches, { interval: 1 }).toBeGreaterThan(1)
    await purging.close()
    const before = batches
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(batches).toBe(before)
  })

  it('remove times of former epochs and sources of keys that are not fetched any more', async () => {
    const store = open()
    await store.recordLogTime('e_former', 5, then)
    await store.claimKeySource('https://gone.example/jwks', then, 1000)
    await store.claimKeySource('https://used.example/jwks', then + 71 * DAY, 1000)
    const { removed } = await store.purgeExpired(then + 100 * DAY)
    expect(removed).toMatchObject({ log_times: 1, key_sources: 1 })
    const sources = await store.keySources({ after: undefined, limit: 10 })
    expect(sources.map(({ source }) => source)).toEqual(['https://used.example/jwks'])
    await store.purgeExpired(then + 200 * DAY)
  })
})

describe('the plan of the purge', () => {
  it('reads expired credentials and old audit rows by an index', async () => {
    const { default: Database } = await import('better-sqlite3')
    const { migrate } = await import('../../src/store/sqlite/migrate.ts')
    const { purgeCredentials } = await import('../../src/store/operations/purge-expired.ts')
    const { auditRowsBefore, removeAuditRows } = await import('../../src/store/operations/audit-archive.ts')
    const db = new Database(':memory:')
    migrate(db)
    const steps = [purgeCredentials(1, 2), auditRowsBefore(1, '', 2), removeAuditRows(1, 2)]
    for (const step of steps) {
      const { value } = step.next(undefined)
      if (typeof value !== 'object' || value === null || !('sql' in value)) throw new Error('no statement')
      const statement = db.prepare(`EXPLAIN QUERY PLAN ${value.sql}`)
      const plan = statement.all(
        Object.fromEntries(value.values.map((each, i) => [String(i + 1), each])),
      ) as { detail: string }[]
      const scans = plan.map(({ detail }) => detail).filter((detail) => detail.startsWith('SCAN'))
      expect(scans).toEqual([])
    }
    db.close()
  })
})
