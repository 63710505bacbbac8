import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { cutLog } from '../../src/log/cut-log.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { beginNewEpoch } from '../../src/store/maintenance.ts'
import type { Store } from '../../src/store/store.ts'
import type { Row } from '../../src/store/transaction.ts'
import { context, DAY, MASTER_KEY, newIssuer, newSite, ppid } from './fixtures.ts'
import { viewOf } from './log-reading.ts'
import { audit, forEachStoreWriter, type StoreWriter, withNode, withStore } from './store-writer.ts'

const OLD = Date.UTC(2022, 0, 1)
const END = OLD + 800 * DAY
const TABLES = ['checkpoint', 'checkpoint_sites', 'log_pages', 'entries'] as const

type Tables = Readonly<Record<(typeof TABLES)[number], readonly Row[]>>

async function readTables({ sql }: StoreWriter): Promise<Tables> {
  const all = await Promise.all(TABLES.map((table) => sql(`SELECT * FROM ${table} ORDER BY 1, 2, 3`)))
  return Object.fromEntries(TABLES.map((table, i) => [table, all[i] ?? []])) as never
}

async function insert({ sql }: StoreWriter, table: string, rows: readonly Row[]): Promise<void> {
  for (const row of rows) {
    const names = Object.keys(row)
    const values = names.map((_, i) => `$${i + 1}`).join(', ')
    await sql(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${values}) ON CONFLICT DO NOTHING`,
      ...Object.values(row),
    )
  }
}

const cut = (store: Store) => cutLog({ store, beforeMs: END - 396 * DAY, context: context(END) })

/** A store that was cut: with its tables before and after. */
async function newCutStore(newWriter: () => Promise<StoreWriter>) {
  const writer = await newWriter()
  const user = ppid()
  return withStore(writer, async (store) => {
    const site = newSite()
    const { siteId } = site
    await store.createSite(site, context(OLD))
    const issuer = await newIssuer(siteId)
    await store.addIssuer(issuer, context(OLD))
    const revoke = (name = ppid(), atMs = OLD) =>
      store.revokeUser({ siteId, ppid: name, reason: undefined }, context(atMs))
    await revoke()
    await revoke(user)
    await writeCheckpointAtEnd(store, OLD)
    await revoke(ppid(), END)
    await revoke(ppid(), END)
    const before = await readTables(writer)
    expect(await cut(store)).toMatchObject({ entries: 4, basePosition: 4 })
    const after = await readTables(writer)
    expect(after.entries).toHaveLength(2)
    return { writer, siteId, issuer: issuer.issuer, user, before, after }
  })
}

type Cut = Awaited<ReturnType<typeof newCutStore>>

const start = ({ writer, siteId, user }: Cut) =>
  withNode(writer, async (_store, { deps: { views } }) => ({
    ready: views.readiness().ready,
    isRevoked: views.view(siteId)?.userRevocation(user, 0) !== undefined,
  }))

forEachStoreWriter('a log that was cut', (newWriter) => {
  it('control: is used and audited as it is', async () => {
    const made = await newCutStore(newWriter)
    expect(await start(made)).toEqual({ ready: true, isRevoked: true })
    expect(await audit(made.writer)).toMatchObject({ code: 0 })
  })

  it('ignores removed entries that are put in again, whatever they say (A271)', async () => {
    const made = await newCutStore(newWriter)
    const { writer, siteId, before } = made
    const forged = before.entries.map((row) => ({ ...row, kind: 'user.reinstated' }))
    await insert(writer, 'entries', forged.slice(0, 4))
    expect(await start(made)).toEqual({ ready: true, isRevoked: true })
    expect(await audit(writer)).toMatchObject({ code: 0 })
    await withStore(writer, async (store) => {
      expect((await store.siteEntriesAfter(siteId, 0, 2)).map(({ seq }) => seq)).toEqual([5, 6])
      // The next cut removes them.
      expect(await cut(store)).toMatchObject({ entries: 4 })
    })
  })

  it('is not used with the checkpoint from before the cut, whose entries are gone (A273)', async () => {
    const made = await newCutStore(newWriter)
    const { writer, before } = made
    for (const table of ['checkpoint', 'checkpoint_sites'] as const) {
      await writer.sql(`DELETE FROM ${table}`)
      await insert(writer, table, before[table])
    }
    // A node can start, because the checkpoint and the entries after it are there; the audit of
    // the entries before it ends its readiness.
    expect(await audit(writer)).toMatchObject({ code: 3, said: expect.stringContaining('missing') })
    await withNode(writer, async (_store, { deps: { views } }) => {
      await expect.poll(() => views.readiness().ready).toBe(false)
    })
  })

  it('is not used when an entry after the base is removed (A271)', async () => {
    const made = await newCutStore(newWriter)
    await made.writer.sql('DELETE FROM entries WHERE position = 5')
    expect(await start(made)).toMatchObject({ ready: false })
    expect(await audit(made.writer)).toMatchObject({ code: 3, said: expect.stringContaining('missing') })
  })

  it('is not cut by a base that another program has written (A272)', async () => {
    const made = await newCutStore(newWriter)
    await made.writer.sql('UPDATE checkpoint SET base_position = 6')
    await withStore(made.writer, async (store) => {
      await expect(cut(store)).rejects.toMatchObject({ name: 'RowForged' })
    })
    expect((await readTables(made.writer)).entries).toHaveLength(2)
    expect(await start(made)).toMatchObject({ ready: false })
  })

  it('still finds a row that was put back to before an entry that is gone (A272)', async () => {
    const writer = await newWriter()
    const { siteId, issuer, old } = await withStore(writer, async (store) => {
      const site = newSite()
      await store.createSite(site, context(OLD))
      const added = await newIssuer(site.siteId)
      await store.addIssuer(added, context(OLD))
      const [row] = await writer.sql('SELECT * FROM issuers')
      await store.changeIssuer(site.siteId, added.issuer, { status: 'distrusted' }, context(OLD))
      await store.revokeUser({ siteId: site.siteId, ppid: ppid(), reason: undefined }, context(END))
      await writeCheckpointAtEnd(store, END)
      await cut(store)
      return { siteId: site.siteId, issuer: added.issuer, old: row }
    })
    expect(await writer.sql('SELECT kind FROM entries')).toHaveLength(1)
    await writer.sql('DELETE FROM issuers')
    await insert(writer, 'issuers', old === undefined ? [] : [old])
    await withStore(writer, async (store) => {
      const change = store.changeIssuer(siteId, issuer, { label: 'again' }, context(END), 0)
      await expect(change).rejects.toMatchObject({ name: 'RowForged' })
    })
  })

  it('begins a new epoch at its end, without copying anything, and goes on in it', async () => {
    const made = await newCutStore(newWriter)
    const { writer, siteId, user } = made
    const { epoch, position } = await beginNewEpoch(writer.place, MASTER_KEY, END)
    expect(position).toBe(6)
    expect((await readTables(writer)).entries).toEqual(made.after.entries)
    await withStore(writer, async (store) => {
      expect(store.epoch).toBe(epoch)
      const view = await viewOf(store, siteId)
      expect(view.userRevocation(user, 0)).toBeDefined()
      expect(view.head).toMatchObject({ epoch, seq: 6 })
      await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(END))
      const [entry] = await store.siteEntriesAfter(siteId, 0, 10)
      expect(entry).toMatchObject({ epoch, seq: 7, prev_hash: view.head.hash })
    })
    expect(await start(made)).toEqual({ ready: true, isRevoked: true })
    expect(await audit(writer)).toMatchObject({ code: 0 })
    await expectFormerGone(writer, siteId, epoch)
  })
})

async function expectFormerGone(writer: StoreWriter, siteId: SiteId, epoch: string): Promise<void> {
  await withStore(writer, async (store) => {
    const days = (n: number) => cutLog({ store, beforeMs: 0, context: context(END + n * DAY) })
    expect(await days(29)).toMatchObject({ formerEntries: 0 })
    expect(await days(31)).toMatchObject({ formerEntries: 2 })
    expect(await store.siteEntriesAfter(siteId, 0, 1)).toMatchObject([{ epoch, seq: 7 }])
  })
  expect(await audit(writer)).toMatchObject({ code: 0 })
}
