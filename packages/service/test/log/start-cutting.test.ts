import { expect, it, vi } from 'vitest'
import { startCutting } from '../../src/log/start-cutting.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { LogCorrupted } from '../../src/store/log-corrupted.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY, newSite, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, withStore } from '../store/store-writer.ts'

const OLD = Date.UTC(2022, 0, 1)
const NEW = OLD + 800 * DAY

/** A store with two old entries and a new one, and a checkpoint at its end. */
async function fill(store: Store): Promise<void> {
  const { siteId, ...site } = newSite()
  await store.createSite({ siteId, ...site }, context(OLD))
  for (const atMs of [OLD, NEW])
    await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(atMs))
  await writeCheckpointAtEnd(store, NEW)
}

/** Begins one run of the job on a new node at that time. */
function runAt(store: Store, atMs: number, ready = true) {
  const [info, warn, reportDamage] = [vi.fn(), vi.fn(), vi.fn()]
  const views = { readiness: () => ({ ready }) as never, reportDamage }
  const parts = { store, views, clock: { nowMs: () => atMs }, log: { info, warn } as never }
  const job = startCutting({ ...parts, config: { logKeptMs: 396 * DAY } })
  job.run()
  return { job, info, warn, reportDamage }
}

const base = async (store: Store) => (await store.checkpoint())?.basePosition

/** Runs the job to its end. Closing it earlier would stop it between two steps. */
async function runToEnd(store: Store, atMs: number, ready?: boolean) {
  let ended = 0
  const counted = Object.assign(Object.create(store) as Store, {
    takeTurn: async (...turn: Parameters<Store['takeTurn']>) => {
      const since = await store.takeTurn(...turn)
      if (since === undefined || since < 0 || since > 30 * DAY) ended++
      return since
    },
    removeOldRevocations: async (...order: Parameters<Store['removeOldRevocations']>) => {
      const removed = await store.removeOldRevocations(...order)
      if (removed === 0) ended++
      return removed
    },
  })
  const ran = runAt(counted, atMs, ready)
  if (ready !== false) await expect.poll(() => ended + ran.reportDamage.mock.calls.length).toBeGreaterThan(0)
  await ran.job.close()
  return ran
}

forEachStoreWriter('the daily cut', (newWriter) => {
  it('takes a turn once a day, and removes nothing in the first one', { tags: 'long' }, async () => {
    await withStore(await newWriter(), async (store) => {
      await fill(store)
      await runToEnd(store, NEW)
      expect(await base(store)).toBe(0)
      await runToEnd(store, NEW + DAY - 1)
      expect(await base(store)).toBe(0)
      await runToEnd(store, NEW + DAY)
      expect(await base(store)).toBe(2)
    })
  })

  it('removes nothing by a clock that has jumped ahead, until it has been so for a day', async () => {
    await withStore(await newWriter(), async (store) => {
      await fill(store)
      await runToEnd(store, OLD + DAY)
      await runToEnd(store, NEW)
      expect(await base(store)).toBe(0)
      // A clock that was set right again is not delayed by the turn in the future.
      await runToEnd(store, OLD + 2 * DAY)
      await runToEnd(store, OLD + 3 * DAY)
      expect(await base(store)).toBe(0)
      // Control: the same time, one day after another turn.
      await runToEnd(store, NEW)
      await runToEnd(store, NEW + DAY)
      expect(await base(store)).toBe(2)
    })
  })

  it('is not done by a node that is not ready, which leaves the turn to others', async () => {
    await withStore(await newWriter(), async (store) => {
      await fill(store)
      await runToEnd(store, NEW)
      await runToEnd(store, NEW + DAY, false)
      expect(await base(store)).toBe(0)
      await runToEnd(store, NEW + DAY)
      expect(await base(store)).toBe(2)
    })
  })

  it('ends the readiness of a node that finds a changed entry, and removes nothing', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      await fill(store)
      await runToEnd(store, NEW)
      await writer.sql(`UPDATE entries SET at = '2022-01-01T00:00:01Z' WHERE position = 1`)
      const { reportDamage, warn } = await runToEnd(store, NEW + DAY)
      expect(reportDamage).toHaveBeenCalledWith(expect.any(LogCorrupted), store.epoch)
      expect(warn).not.toHaveBeenCalled()
      expect(await base(store)).toBe(0)
    })
  })
})
