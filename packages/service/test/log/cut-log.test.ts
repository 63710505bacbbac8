import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { loadCountingStore } from '../../src/log/counting-store.ts'
import { type CutOrder, cutLog } from '../../src/log/cut-log.ts'
import type { AppliedLog } from '../../src/store/checkpoints/applied-log.ts'
import { readToEnd, writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { restoreLog } from '../../src/store/checkpoints/restore-log.ts'
import { beginNewEpoch } from '../../src/store/maintenance.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY, MASTER_KEY, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, type StoreWriter, withStore } from '../store/store-writer.ts'
import { countVerdicts, createPicks, judgeAll } from './verdicts.ts'
import { beginYears, changeAt, createClaims, type SiteYears } from './years.ts'

const START = Date.UTC(2020, 0, 1)
const END = START + 4 * 365 * DAY
const KEPT_MS = 396 * DAY
/** A verdict must also be the same later. */
const TIMES = [END, END + 10 * DAY, END + 200 * DAY, END + 400 * DAY]

async function fillYears(store: Store, seed: number, changes = 300): Promise<readonly SiteYears[]> {
  const sites = [await beginYears(store, START), await beginYears(store, START)]
  await changeSites(store, sites, { pick: createPicks(seed), changes, fromMs: START, toMs: END })
  return sites
}

/** Random changes in order of time, with a checkpoint after each 50. */
async function changeSites(
  store: Store,
  sites: readonly SiteYears[],
  { pick, changes, fromMs, toMs }: { pick: () => number; changes: number; fromMs: number; toMs: number },
): Promise<void> {
  const times = Array.from({ length: changes }, () => fromMs + pick() * (toMs - fromMs)).sort((a, b) => a - b)
  for (const [i, atMs] of times.entries()) {
    await changeAt(store, sites[Math.floor(pick() * 2)] as SiteYears, pick, Math.floor(atMs))
    if (i % 50 === 49) await writeCheckpointAtEnd(store, Math.floor(atMs))
  }
}

async function readLog(store: Store): Promise<AppliedLog> {
  const { log } = await restoreLog(store)
  await readToEnd(store, log)
  return log
}

const toOrder = (store: Store): CutOrder => ({ store, beforeMs: END - KEPT_MS, context: context(END) })

async function cut(store: Store, order: Partial<CutOrder> = {}) {
  await writeCheckpointAtEnd(store, END)
  return cutLog({ ...toOrder(store), ...order })
}

/** What `cut` would remove. */
async function countCut(store: Store) {
  const counting = await loadCountingStore(store)
  await writeCheckpointAtEnd(counting, END)
  return cutLog({ ...toOrder(store), store: counting })
}

/** Everything that a cut can change. */
async function dump({ sql }: StoreWriter): Promise<unknown> {
  const tables = ['checkpoint', 'checkpoint_sites', 'users', 'credential_revocations', 'audit']
  const numbers = ['entries', 'log_pages'].map((table) => `${table} ORDER BY 1, 2`)
  return Promise.all([
    ...tables.map((table) => sql(`SELECT * FROM ${table} ORDER BY 1, 2`)),
    ...numbers.map((table) => sql(`SELECT * FROM ${table}`)),
  ])
}

const count = async ({ sql }: StoreWriter, from: string) =>
  Number((await sql(`SELECT COUNT(*) AS count FROM ${from}`))[0]?.count)

forEachStoreWriter('a cut of the log', (newWriter) => {
  it('changes no verdict about two thousand credentials, sessions and tokens', { tags: 'long' }, async () => {
    for (const seed of [1, 2]) {
      const writer = await newWriter()
      await withStore(writer, async (store) => {
        const sites = await fillYears(store, seed)
        const claims = createClaims(sites, createPicks(seed + 100), {
          count: 2000,
          fromMs: START,
          nowMs: END,
        })
        const whole = await readLog(store)
        const before = judgeAll((siteId) => whole.views.get(siteId), claims, TIMES)
        const verdicts = countVerdicts(before)
        for (const each of ['allowed', 'credential_expired', 'credential_revoked'])
          expect(verdicts.get(each), each).toBeGreaterThan(100)
        const entries = await count(writer, 'entries')
        const removed = await cut(store)
        expect(removed.entries).toBeGreaterThan(100)
        expect(removed.revocations).toBeGreaterThan(10)
        expect(removed.rows).toBeGreaterThan(10)
        expect(await count(writer, 'entries')).toBe(entries - removed.entries)
        const after = await readLog(store)
        expect(judgeAll((siteId) => after.views.get(siteId), claims, TIMES)).toEqual(before)
        for (const { siteId, issuer } of sites) {
          expect(after.views.get(siteId)?.head).toEqual(whole.views.get(siteId)?.head)
          expect(after.lastEntryAbout(siteId, issuer)).toBe(whole.lastEntryAbout(siteId, issuer))
        }
        expect(await cut(store)).toMatchObject({ entries: 0, revocations: 0, rows: 0 })
      })
    }
  })

  it('control: a cut that is too early changes verdicts', { tags: 'long' }, async () => {
    await withStore(await newWriter(), async (store) => {
      const sites = await fillYears(store, 3)
      const claims = createClaims(sites, createPicks(7), { count: 2000, fromMs: START, nowMs: END })
      const whole = await readLog(store)
      const before = judgeAll((siteId) => whole.views.get(siteId), claims, TIMES)
      await cut(store, { beforeMs: END - 30 * DAY })
      const after = await readLog(store)
      expect(judgeAll((siteId) => after.views.get(siteId), claims, TIMES)).not.toEqual(before)
    })
  })

  it('counts before it removes anything, with and without a checkpoint', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const { siteId } = await beginYears(store, START)
      for (const atMs of [START, START + DAY, END - DAY, END])
        await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(atMs))
      const counted = await countCut(store)
      expect(counted).toMatchObject({ basePosition: 4, entries: 4, rows: 0 })
      expect(await store.checkpoint()).toBeUndefined()
      await writeCheckpointAtEnd(store, END)
      expect(await countCut(store)).toEqual(counted)
      expect(await count(writer, 'entries')).toBe(6)
      expect(await cutLog(toOrder(store))).toEqual(counted)
      expect(await count(writer, 'entries')).toBe(2)
      expect(await writer.sql(`SELECT action, detail FROM audit WHERE action = 'log.cut'`)).toEqual([
        { action: 'log.cut', detail: expect.stringContaining('"from":0,"to":4') },
      ])
    })
  })

  it('counts exactly what it then removes: entries, former epochs, revocations and rows', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    const pick = createPicks(8)
    const middleMs = START + 365 * DAY
    const sites = await withStore(writer, async (store) => {
      const begun = [await beginYears(store, START), await beginYears(store, START)]
      await changeSites(store, begun, { pick, changes: 120, fromMs: START, toMs: middleMs })
      return begun
    })
    await beginNewEpoch(writer.place, MASTER_KEY, middleMs)
    await withStore(writer, async (store) => {
      // The last checkpoint is 30 entries before the end.
      await changeSites(store, sites, { pick, changes: 230, fromMs: middleMs, toMs: END })
      const before = await dump(writer)
      const counted = await countCut(store)
      expect(await dump(writer)).toEqual(before)
      for (const each of ['entries', 'formerEntries', 'revocations', 'rows'] as const)
        expect(counted[each], each).toBeGreaterThan(10)
      expect(await cut(store)).toEqual(counted)
      const rest = { entries: 0, formerEntries: 0, revocations: 0, rows: 0 }
      expect(await countCut(store)).toEqual({ ...rest, basePosition: counted.basePosition })
    })
  })

  it('counts what a run that has ended early has left', { tags: 'long' }, async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      await fillYears(store, 6, 160)
      await writeCheckpointAtEnd(store, END)
      const { entries } = await countCut(store)
      // The base has moved, and no entry is removed.
      await expect(cut(failAfter(store, 1))).rejects.toThrow('power')
      expect((await store.checkpoint())?.basePosition).toBe(entries)
      const counted = await countCut(store)
      expect(counted).toMatchObject({ basePosition: entries, entries })
      expect(await cut(store)).toEqual(counted)
    })
  })

  it('keeps the last entry, however old it is, and removes nothing without a checkpoint', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const { siteId } = await beginYears(store, START)
      await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(START))
      expect(await cutLog(toOrder(store))).toMatchObject({ basePosition: 0, entries: 0 })
      await cut(store)
      expect(await count(writer, 'entries')).toBe(1)
      expect(await store.siteEntriesAfter(siteId, 2, 10)).toHaveLength(1)
      expect(await store.siteBase(siteId)).toMatchObject({ seq: 2 })
      expect((await readLog(store)).position).toBe(3)
    })
  })

  it('goes on where an earlier run has ended, after any of its transactions', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const sites = await withStore(writer, async (store) => {
      const made = await fillYears(store, 5, 160)
      await writeCheckpointAtEnd(store, END)
      return made
    })
    const claims = createClaims(sites, createPicks(9), { count: 500, fromMs: START, nowMs: END })
    const views = (log: AppliedLog) => (siteId: SiteId) => log.views.get(siteId)
    const before = await withStore(writer, async (store) =>
      judgeAll(views(await readLog(store)), claims, TIMES),
    )
    const order = { stepEntriesMax: 40, batchRows: 15 }
    let isDone = false
    let runs = 0
    for (; !isDone; runs++) {
      // Each run ends after one transaction more than the last one did.
      isDone = await withStore(writer, async (store) => {
        const failing = failAfter(store, 1)
        try {
          await cutLog({ ...toOrder(failing), ...order })
          return true
        } catch (fault) {
          expect(String(fault)).toContain('power')
          return false
        }
      })
      await withStore(writer, async (store) => {
        expect(judgeAll(views(await readLog(store)), claims, TIMES)).toEqual(before)
      })
    }
    expect(runs).toBeGreaterThan(10)
    await withStore(writer, async (store) => {
      expect(await cutLog({ ...toOrder(store), ...order })).toMatchObject({
        entries: 0,
        revocations: 0,
        rows: 0,
      })
    })
  })
})

/** A store that fails for good after so many transactions have changed something. */
function failAfter(store: Store, changes: number): Store {
  let left = changes
  const watched = [
    'moveBase',
    'removeCutEntries',
    'removeFormerEntries',
    'replaceCheckpoint',
    'removeReplacedPages',
    'removeOldRevocations',
  ] as const
  const wrapped = watched.map((name) => {
    const run = store[name] as (...args: unknown[]) => Promise<unknown>
    const runOrFail = async (...args: unknown[]) => {
      if (left === 0) throw new Error('the power has failed')
      const done = await run(...args)
      if (done !== 0 && done !== false) left--
      return done
    }
    return [name, runOrFail]
  })
  return Object.assign(Object.create(store) as Store, Object.fromEntries(wrapped))
}
