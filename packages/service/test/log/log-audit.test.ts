import { PagePacker, type Ppid, type SiteId } from '@countersign/core'
import { afterEach, expect, it, vi } from 'vitest'
import { LiveViews } from '../../src/log/live-views.ts'
import { digestPages, digestSite, digestSites } from '../../src/store/checkpoint-digests.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { loadCheckpoint } from '../../src/store/checkpoints/load-checkpoint.ts'
import { createSitePage } from '../../src/store/checkpoints/site-page.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { Store } from '../../src/store/store.ts'
import { context, NOW, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, openPlace } from '../store/store-writer.ts'
import { beginHistory, moveBase } from './history.ts'
import { ClockDouble, quiet } from './log-double.ts'

const WAIT = { timeout: 60_000 }

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

/** Opens views whose audit waits for `release`. */
async function openGated(store: Store) {
  let release: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const gated: Store = Object.create(store, {
    recordsAfter: {
      value: async (...args: Parameters<Store['recordsAfter']>) => {
        await gate
        return store.recordsAfter(...args)
      },
    },
  })
  const clock = new ClockDouble()
  clock.wallMs = NOW
  const errors: string[] = []
  const logger = { ...quiet, error: (fields: { err: Error }) => void errors.push(fields.err.message) }
  const views = await LiveViews.open(gated, clock, logger as unknown as typeof quiet, {
    viewAgeMsMax: 600_000,
  })
  opened.push(views)
  return { views, release, errors }
}

forEachStoreWriter('the audit of entries before the checkpoint', (newWriter) => {
  /** Two sites with a checkpoint, and one entry after it. */
  const newStore = async () => {
    const writer = await newWriter()
    const store = await openPlace(writer.place)
    opened.push(store)
    const [{ siteId: one }, { siteId: other }] = [await beginHistory(store), await beginHistory(store)]
    const revoke = (siteId: SiteId, user: Ppid = ppid()) =>
      store.revokeUser({ siteId, ppid: user, reason: undefined }, context())
    const user = ppid()
    for (const siteId of [one, other, one]) await revoke(siteId)
    await revoke(one, user)
    await store.reinstateUser({ siteId: one, ppid: user, reason: undefined }, context())
    const { position } = await writeCheckpointAtEnd(store, NOW)
    await revoke(other)
    return { ...writer, store, one, position }
  }

  it('control: an undamaged log stays in use, and all of it is audited', { tags: 'long' }, async () => {
    const { store } = await newStore()
    const { views, release, errors } = await openGated(store)
    expect(views.readiness()).toEqual({ ready: true })
    expect(views.audited).toBeGreaterThan(0)
    expect(views.audited).toBeLessThan(1)
    release()
    await vi.waitFor(() => expect(views.audited).toBe(1), WAIT)
    expect(views.readiness()).toEqual({ ready: true })
    expect(errors).toEqual([])
  })

  const damages: Readonly<Record<string, string>> = {
    'the body of an entry is changed': `UPDATE entries SET body = replace(body, 'ppid_', 'ppid_x') WHERE position = 5`,
    'the hash of an entry is changed': `UPDATE entries SET hash = prev_hash WHERE position = 6`,
    'the link of an entry is changed': `UPDATE entries SET prev_hash = hash WHERE position = 6`,
    'an entry is removed': `DELETE FROM entries WHERE position = 7`,
    'the first entry is removed': `DELETE FROM entries WHERE position = 1`,
    'the last entry before the checkpoint is removed': `DELETE FROM entries WHERE position = 9`,
    'the time of an entry is changed': `UPDATE entries SET at = replace(at, '2026', '2025') WHERE position = 2`,
    'an entry is given to another position': `UPDATE entries SET position = -3 WHERE position = 3`,
  }

  it.each(Object.keys(damages))('ends readiness when %s (A271)', async (name) => {
    const { store, sql, one, position } = await newStore()
    expect(position).toBe(9)
    await sql(damages[name] ?? '')
    const { views, release, errors } = await openGated(store)
    // The checkpoint and the entries after it prove that everything is revoked that should be.
    expect(views.readiness()).toEqual({ ready: true })
    release()
    await vi.waitFor(() => expect(views.readiness()).toMatchObject({ ready: false }), WAIT)
    expect(views.age().ageMs).toBe(Infinity)
    expect(views.revocationData(one)?.ageMs).toBe(Infinity)
    expect(views.audited).toBeLessThan(1)
    await vi.waitFor(() => expect(errors).toHaveLength(1), WAIT)
    await expect(views.waitFor(1000)).rejects.toMatchObject({ code: 'revocation_view_stale' })
  })

  it('finds a page that lacks a revocation, though its digests are right', async () => {
    const { store, one } = await newStore()
    const loaded = await loadCheckpoint(store)
    const site = loaded?.sites.get(one)
    if (loaded === undefined || site === undefined) throw new Error('there is no checkpoint')
    const [info] = await store.sitePages(one, site.seq)
    const page = await createSitePage(new PagePacker().finish(), 1, info?.toSeq ?? 0)
    const row = { ...site, pages: 1, pagesSha256: digestPages([page]) }
    const digests = [...loaded.sites.values()].map((each) => (each.siteId === one ? row : each))
    const sitesSha256 = digestSites(new Map(digests.map((each) => [each.siteId, digestSite(each)])))
    const next = { ...loaded.checkpoint, sitesSha256 }
    const change = { sites: [row], pages: [{ siteId: one, page }] }
    expect(await store.replaceCheckpoint(loaded.checkpoint, next, change)).toBe(true)
    const { views, release, errors } = await openGated(store)
    expect(views.readiness()).toEqual({ ready: true })
    release()
    await vi.waitFor(() => expect(views.readiness()).toMatchObject({ ready: false }), WAIT)
    expect(errors.join()).toContain('has other revocations than the log')
  })

  it('goes on at the base when entries are removed meanwhile', async () => {
    const { store, sql } = await newStore()
    const { views, release, errors } = await openGated(store)
    await sql('DELETE FROM entries WHERE position <= $1', await moveBase(store))
    release()
    await vi.waitFor(() => expect(views.audited).toBe(1), WAIT)
    expect(views.readiness()).toEqual({ ready: true })
    expect(errors).toEqual([])
  })

  it('goes on when the store did not answer for a moment', { tags: 'long' }, async () => {
    const { store } = await newStore()
    let failures = 2
    const failing: Store = Object.create(store, {
      recordsAfter: {
        value: async (...args: Parameters<Store['recordsAfter']>) => {
          if (failures-- > 0) throw new StoreUnavailable('down')
          return store.recordsAfter(...args)
        },
      },
    })
    const { views, release } = await openGated(failing)
    release()
    await vi.waitFor(() => expect(views.audited).toBe(1), WAIT)
    expect(views.readiness()).toEqual({ ready: true })
  })
})
