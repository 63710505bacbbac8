import { checkReceipt, parseReceipt, type SiteId } from '@countersign/core'
import { expect, it, vi } from 'vitest'
import { ReceiptCosts } from '../../src/feed/receipt-costs.ts'
import { ReceiptQueue } from '../../src/feed/receipt-queue.ts'
import { createPairwiseSecret } from '../../src/keys/ids.ts'
import { pairwisePurpose } from '../../src/sealing/purposes.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import type { Service } from '../../src/service.ts'
import { beginNewEpoch } from '../../src/store/maintenance.ts'
import type { Store } from '../../src/store/store.ts'
import { context, MASTER_KEY, newSite, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, openNode, type StoreWriter, withNode, withStore } from '../store/store-writer.ts'

const revoke = (store: Store, siteId: SiteId, atMs = Date.now()) =>
  store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(atMs))

async function fill(store: Store, count: number): Promise<SiteId> {
  const { siteId } = newSite()
  const sealed = createSealer(MASTER_KEY).seal(pairwisePurpose(siteId), createPairwiseSecret())
  const site = newSite({ siteId, pairwiseSecretSealed: sealed })
  await store.createSite(site, context(Date.now()))
  await revokeMany(store, site.siteId, count)
  return site.siteId
}

/** Each has an entry of its own. */
async function revokeMany(store: Store, siteId: SiteId, count: number): Promise<void> {
  for (let done = 0; done < count; done += 50) {
    const ppids = Array.from({ length: Math.min(50, count - done) }, ppid)
    await store.revokeUsers({ siteId, ppids, reason: undefined }, context(Date.now()))
  }
}

const listSeqs = async (store: Store, siteId: SiteId) =>
  (await store.receipts(siteId, {}, { after: undefined, limit: 1000 })).map(({ seq }) => seq)
const listEntries = async (store: Store, siteId: SiteId) =>
  (await store.siteEntriesAfter(siteId, 0, 1000)).map(({ seq }) => seq).reverse()
/** Every entry that the log has now gets a receipt. A node adds an entry about its own issuer. */
async function untilWritten(store: Store, siteId: SiteId, count: number): Promise<void> {
  const entries = await listEntries(store, siteId)
  expect(entries.length).toBeGreaterThanOrEqual(count)
  await expect.poll(() => listSeqs(store, siteId)).toEqual(entries)
}
const countRows = async ({ sql }: StoreWriter, from: string) =>
  Number((await sql(`SELECT COUNT(*) AS count FROM ${from}`))[0]?.count)

async function requireSigned(store: Store, { deps }: Service, siteId: SiteId, seq: number) {
  const receipt = parseReceipt(await store.receipt(siteId, seq))
  const key = receipt && deps.keys.findFeedKey(receipt.kid)
  if (receipt === undefined || key === undefined) throw new Error(`the receipt of ${seq} cannot be read`)
  expect(await checkReceipt(receipt, key)).toBe(true)
  return receipt
}

forEachStoreWriter('receipts', (newWriter) => {
  it('are written at the next start for entries that were committed before a crash', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    // Without a node: what a process leaves that ends right after the commit.
    const siteId = await withStore(writer, (store) => fill(store, 120))
    await withNode(writer, async (store, service) => {
      await untilWritten(store, siteId, 121)
      expect(await requireSigned(store, service, siteId, 77)).toMatchObject({
        state: 'complete',
        expected: 0,
      })
    })
  })

  it('are also written for entries of an epoch that has ended', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const siteId = await withStore(writer, (store) => fill(store, 60))
    const epochs = [(await writer.sql('SELECT epoch FROM log'))[0]?.epoch]
    for (let i = 0; i < 2; i++) {
      epochs.push((await beginNewEpoch(writer.place, MASTER_KEY, Date.now())).epoch)
      await withStore(writer, (store) => revoke(store, siteId))
    }
    await withNode(writer, async (store, service) => {
      await expect.poll(async () => (await listSeqs(store, siteId)).length).toBe(64)
      for (const [seq, epoch] of [
        [61, epochs[0]],
        [62, epochs[1]],
        [63, epochs[2]],
      ] as const)
        expect((await requireSigned(store, service, siteId, seq)).epoch).toBe(epoch)
    })
  })

  it('do not begin with entries from before this release', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const siteId = await withStore(writer, (store) => fill(store, 3))
    await writer.sql(
      'INSERT INTO receipt_progress (one, epoch, position) SELECT 1, epoch, position FROM log WHERE one = 1',
    )
    await withNode(writer, async (store) => {
      const { seq } = await revoke(store, siteId)
      await expect.poll(async () => (await listSeqs(store, siteId))[0]).toBe(seq)
      expect((await listSeqs(store, siteId)).at(-1)).toBe(5)
    })
  })

  it('of one site do not wait for those of another with many entries', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const MANY = 150
    /** How many receipts of the busy site are written before the other has its own. */
    const measure = async (isInOrder: boolean) => {
      const [busy, quiet] = await withStore(writer, async (store) => [
        await fill(store, 0),
        await fill(store, 0),
      ])
      await withNode(writer, (store) => untilWritten(store, quiet, 1))
      await withStore(writer, async (store) => {
        await revokeMany(store, busy, MANY)
        await revoke(store, quiet)
      })
      // The control: as long as the first site has entries, no other has a turn, as in the log.
      const { next } = ReceiptQueue.prototype
      const inOrder = function (this: ReceiptQueue, max: number) {
        const shares = next.call(this, max)
        const [first] = shares.filter(({ siteId }) => siteId === busy)
        return first === undefined
          ? shares
          : [{ ...first, limit: Math.min(max, first.toSeq - first.afterSeq) }]
      }
      if (isInOrder) vi.spyOn(ReceiptQueue.prototype, 'next').mockImplementation(inOrder)
      return withNode(writer, async (store) => {
        const { writeReceipts } = store
        let [before, isOver] = [0, false]
        store.writeReceipts = async (work, rows) => {
          const isWritten = await writeReceipts(work, rows)
          if (isOver || !isWritten) return isWritten
          before += rows.filter(({ receipt }) => receipt.site_id === busy).length
          isOver = rows.some(({ receipt }) => receipt.site_id === quiet)
          return isWritten
        }
        await expect.poll(() => isOver).toBe(true)
        return before
      })
    }
    expect(await measure(false)).toBeLessThan(MANY / 2)
    try {
      expect(await measure(true)).toBeGreaterThanOrEqual(MANY)
    } finally {
      vi.restoreAllMocks()
    }
  })

  it('A332: of a site with thousands of verifiers do not delay those of others', {
    tags: 'long',
  }, async () => {
    const [LEASES, ENTRIES] = [4000, 30]
    const lease = (writer: StoreWriter, sites: readonly SiteId[]) =>
      writer.sql(
        `INSERT INTO leases (site_id, key_id, instance_id, verifier_id, named, bound_ms, fails_open, opened_at, node_id, stream_id, connected_at, served_at, epoch,
           seq, acks, heard_at, closed_at, declared_at, version, last_node_id, retired)
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${LEASES})
         SELECT CASE i WHEN ${LEASES} THEN '${sites[1]}' ELSE '${sites[0]}' END, 'key_a', 'instance-' || i, 'web-' || i, 1, 30000, 0, $1, '', '', $1, $1, (SELECT epoch FROM log),
           0, '[]', 0, NULL, $1, '', '', 0 FROM n`,
        Date.now(),
      )
    /**
     * The most receipts of the busy site in a batch, and how many were first. One node writes them,
     * then all verifiers acknowledge, and the next node, `laterMs` later, updates them.
     */
    const measure = async (laterMs: number) => {
      const writer = await newWriter()
      const sites = await withStore(writer, async (store) => [await fill(store, 0), await fill(store, 0)])
      const [busy, quiet] = sites as [SiteId, SiteId]
      await writer.sql(
        'INSERT INTO receipt_progress (one, epoch, position) SELECT 1, epoch, position FROM log WHERE one = 1',
      )
      await lease(writer, sites)
      await withStore(writer, async (store) => {
        await revokeMany(store, busy, ENTRIES)
        await revoke(store, quiet)
      })
      const most = { written: 0, updated: 0 }
      const count = (rows: readonly { readonly receipt: { readonly site_id: SiteId } }[]) =>
        rows.filter(({ receipt }) => receipt.site_id === busy).length
      let [first, total] = [Number.NaN, 0]
      await withNode(writer, async (store) => {
        const { writeReceipts } = store
        store.writeReceipts = async (work, rows) => {
          const isWritten = await writeReceipts(work, rows)
          most.written = Math.max(most.written, count(rows))
          total += count(rows)
          if (Number.isNaN(first) && rows.some(({ receipt }) => receipt.site_id === quiet)) first = total
          return isWritten
        }
        const seq = (await listEntries(store, quiet))[0] as number
        await expect.poll(() => store.receipt(quiet, seq)).toBeDefined()
        await expect.poll(() => total).toBeGreaterThanOrEqual(ENTRIES)
      })
      await writer.sql(
        `UPDATE leases SET seq = 1000, acks = '[[1000,${Date.now()}]]', heard_at = ${Date.now()}`,
      )
      const clocks = () => ({ wallMs: Date.now() + laterMs, monotonicMs: performance.now() })
      const { store, close } = await openNode(writer, { clocks })
      try {
        const { updateReceipts } = store
        let updated = 0
        store.updateReceipts = async (rows) => {
          await updateReceipts(rows)
          most.updated = Math.max(most.updated, count(rows))
          updated += count(rows)
        }
        const states = async () => (await store.receipts(quiet, {}, { after: undefined, limit: 1 }))[0]?.state
        await expect.poll(states).toBe('complete')
        await expect.poll(() => updated).toBeGreaterThanOrEqual(20)
      } finally {
        await close()
      }
      return { first, ...most }
    }
    // They are due again after 30 seconds. Before, they differ because of the verifiers.
    const bounded = await measure(31_000)
    // Both sites have a part of the first batch, and no batch looks at more than 20,000 leases.
    expect(bounded.first).toBeLessThanOrEqual(5)
    expect(bounded.written).toBeLessThanOrEqual(5)
    expect(bounded.updated).toBeLessThanOrEqual(5)
    try {
      // The control: batches without regard to what a receipt costs.
      vi.spyOn(ReceiptCosts.prototype, 'fit').mockImplementation((shares) => shares)
      for (const laterMs of [0, 31_000]) {
        const control = await measure(laterMs)
        expect(control.first).toBeGreaterThan(10)
        expect(control.updated).toBeGreaterThan(5)
      }
    } finally {
      vi.restoreAllMocks()
    }
  })

  it('stay when progress was moved past the end of the log', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const siteId = await withStore(writer, (store) => fill(store, 1))
    await withNode(writer, (store) => untilWritten(store, siteId, 2))
    await writer.sql('UPDATE receipt_progress SET position = 1000000')
    await withNode(writer, async (store) => {
      const before = (await listSeqs(store, siteId)).length
      await revoke(store, siteId)
      // One entry is passed over, and then the progress is right again.
      await expect
        .poll(
          async () => {
            await revoke(store, siteId)
            return (await listSeqs(store, siteId)).length
          },
          { interval: 70 },
        )
        .toBeGreaterThan(before)
    })
  })

  it('stay when their entries are removed, until they are purged themselves', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const siteId = await withStore(writer, (store) => fill(store, 3))
    await withNode(writer, async (store) => {
      await untilWritten(store, siteId, 4)
      const all = await listSeqs(store, siteId)
      await writer.sql('DELETE FROM entries WHERE seq <= 2')
      expect(await listSeqs(store, siteId)).toEqual(all)
      expect(await store.receipt(siteId, 1)).toBeDefined()
      expect(await store.purgeReceipts(Date.now() - 3_600_000, 10)).toBe(0)
      expect(await store.purgeReceipts(Date.now(), 3)).toBe(3)
      expect(await listSeqs(store, siteId)).toEqual(all.slice(0, -3))
    })
  })

  it('are written once, and updated only by the node that read the last version', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    const siteId = await withStore(writer, (store) => fill(store, 1))
    await withNode(writer, async (store, service) => {
      await untilWritten(store, siteId, 2)
      const work = await store.entriesWithoutReceipt(1000, 10)
      expect(work).toMatchObject({ entries: [], hasMore: false })
      if (work === undefined) throw new Error('there is no log')
      const receipt = await requireSigned(store, service, siteId, 2)
      const stale = { from: { epoch: 'epoch000', position: 0 }, to: work.to }
      expect(await store.writeReceipts(stale, [])).toBe(false)
      const other = { ...receipt, as_of: '2030-01-01T00:00:00Z' }
      const times = [{ verifierId: 'web', measure: 'applied' as const, ms: 41 }]
      await store.updateReceipts([{ receipt: other, dueAtMs: 1, updates: 1, times }])
      expect(await store.receipt(siteId, 2)).toEqual(receipt)
      await store.updateReceipts([{ receipt: other, dueAtMs: undefined, updates: 0, times }])
      expect(await store.receipt(siteId, 2)).toEqual(other)
      // The version that was not written has counted nothing.
      expect(await store.applyTimes(siteId, 0)).toEqual([
        { verifierId: 'web', measure: 'applied', bucket: 22, count: 1, msMax: 41 },
      ])
    })
  })

  it('that a writer of the store has changed are not valid', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const siteId = await withStore(writer, (store) => fill(store, 1))
    await withNode(writer, async (store, service) => {
      await untilWritten(store, siteId, 2)
      await requireSigned(store, service, siteId, 2)
      await writer.sql(`UPDATE receipts SET receipt = replace(receipt, '"gone":0', '"gone":1')`)
      await expect(requireSigned(store, service, siteId, 2)).rejects.toThrow()
      await writer.sql(`UPDATE receipts SET receipt = replace(receipt, '"gone":1', '"gone":0')`)
      await requireSigned(store, service, siteId, 2)
      await writer.sql(`UPDATE receipts SET receipt = replace(receipt, '"seq":2', '"seq":3')`)
      await expect(requireSigned(store, service, siteId, 2)).rejects.toThrow()
    })
  })

  it('of two nodes are written by one of them at a time, each once', { tags: 'long' }, async () => {
    const writer = await newWriter()
    if (writer.place.kind === 'sqlite') return
    const nodes = [await openNode(writer), await openNode(writer)]
    try {
      const [{ store }, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
      const siteId = await fill(store, 0)
      for (let i = 0; i < 60; i++) await revoke(i % 2 === 0 ? store : other.store, siteId)
      await untilWritten(store, siteId, 61)
      await nodes[0]?.close()
      // The other one goes on alone.
      await revoke(other.store, siteId)
      await untilWritten(other.store, siteId, 62)
      expect(await countRows(writer, 'receipts WHERE updates > 0')).toBe(0)
    } finally {
      for (const node of nodes) await node.close()
    }
  })
})
