import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { loadPropagation } from '../../src/actions/propagation.ts'
import { cutLog } from '../../src/log/cut-log.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY, newSite, ppid } from '../store/fixtures.ts'
import {
  forEachStoreWriter,
  openPlace,
  type StoreWriter,
  withNode,
  withStore,
} from '../store/store-writer.ts'

const OLD = Date.now() - 800 * DAY
const NEW = Date.now()

const revoke = (store: Store, siteId: SiteId, atMs: number, name = ppid()) =>
  store.revokeUser({ siteId, ppid: name, reason: undefined }, context(atMs))

const cut = (store: Store, stepEntriesMax?: number) =>
  cutLog({
    store,
    beforeMs: NEW - 396 * DAY,
    context: context(NEW),
    ...(stepEntriesMax !== undefined && { stepEntriesMax, batchRows: 2 }),
  })

/** A site with old entries, and a checkpoint at their end. */
async function newSiteWithPast(writer: StoreWriter, entries: number): Promise<SiteId> {
  return withStore(writer, async (store) => {
    const site = newSite()
    await store.createSite(site, context(OLD))
    for (let i = 1; i < entries; i++) await revoke(store, site.siteId, OLD)
    await writeCheckpointAtEnd(store, OLD)
    return site.siteId
  })
}

forEachStoreWriter('those who follow a log that is cut', (newWriter) => {
  it('a verifier whose cursor is before the base gets 410 and has to load a snapshot (A192)', async () => {
    const writer = await newWriter()
    const siteId = await newSiteWithPast(writer, 5)
    await withNode(writer, async (store, { deps }) => {
      await revoke(store, siteId, NEW)
      await cut(store)
      const base = await store.siteBase(siteId)
      expect(base?.seq).toBeGreaterThanOrEqual(5)
      const open = (seq: number) =>
        deps.feeds.open({
          siteId,
          keyId: 'key_a',
          cursor: { epoch: store.epoch, seq },
          verifier: { verifierId: undefined, promise: undefined, isObserver: true },
          isProxied: false,
        })
      await expect(open(3)).rejects.toMatchObject({ code: 'cursor_expired' })
      const slot = await open(base?.seq ?? 0)
      slot.release()
      await expect(loadPropagation(deps, siteId, 3)).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringContaining('no longer has this entry'),
      })
    })
  })

  it('a webhook that is behind the base goes on after it, and the audit says what it has missed', async () => {
    const writer = await newWriter()
    const siteId = await newSiteWithPast(writer, 2)
    await withStore(writer, async (store) => {
      const webhook = {
        siteId,
        webhookId: 'wh_behind',
        url: 'https://hook.example/',
        kinds: undefined,
        secretSealed: 'sealed',
      }
      await writer.sql(
        `INSERT INTO webhooks (webhook_id, site_id, url, secrets, status, created_at, cursor_seq, waiting, turn_at)
         VALUES ('${webhook.webhookId}', '${siteId}', '${webhook.url}', '[]', 'on', 0, 2, 0, 0)`,
      )
      await revoke(store, siteId, OLD)
      await revoke(store, siteId, OLD)
      await revoke(store, siteId, NEW)
      await writeCheckpointAtEnd(store, NEW)
      expect(await cut(store)).toMatchObject({ basePosition: 4 })
      const turn = { webhookId: webhook.webhookId, owner: 'node', nowMs: NEW, leaseMs: 1000 }
      expect(await store.nextDelivery(turn)).toMatchObject({ seq: 5, entry: { seq: 5 } })
      const [skipped] = await writer.sql(`SELECT detail FROM audit WHERE action = 'webhook.skip'`)
      expect(JSON.parse(String(skipped?.detail))).toMatchObject({ from_seq: 3, to_seq: 4 })
    })
  })

  it('a node goes on when the last entry that it has read is removed', async () => {
    const writer = await newWriter()
    const siteId = await newSiteWithPast(writer, 40)
    await withNode(writer, async (store, { deps: { views } }) => {
      const cutter = writer.place.kind === 'postgres' ? await openPlace(writer.place) : store
      const user = ppid()
      // Other changes while the log is cut step by step.
      const [, ...revoked] = await Promise.all([
        cut(cutter, 5),
        ...Array.from({ length: 5 }, () => revoke(store, siteId, NEW)),
        revoke(store, siteId, NEW, user),
      ])
      expect(revoked).toHaveLength(6)
      await views.waitFor(await store.logPosition())
      expect(views.readiness()).toEqual({ ready: true })
      expect(views.view(siteId)?.userRevocation(user, 0)).toBeDefined()
      await cut(cutter)
      const { position } = revoked.at(-1) as { position: number }
      await views.waitFor(position)
      expect(views.readiness()).toEqual({ ready: true })
      if (cutter !== store) await cutter.close()
    })
    await withNode(writer, async (_store, { deps: { views } }) => {
      expect(views.readiness()).toEqual({ ready: true })
    })
  })

  it('a cut goes on when another one moves the base over entries that it was about to read', async () => {
    const writer = await newWriter()
    const siteId = await newSiteWithPast(writer, 20)
    await withStore(writer, async (store) => {
      for (let i = 0; i < 20; i++) await revoke(store, siteId, OLD + DAY)
      await revoke(store, siteId, NEW)
      await writeCheckpointAtEnd(store, NEW)
      const other = writer.place.kind === 'postgres' ? await openPlace(writer.place) : store
      let removed = 0
      const slow: Store = Object.assign(Object.create(store), {
        async entriesAfter(...asked: Parameters<Store['entriesAfter']>) {
          const order = { store: other, beforeMs: OLD + 1, context: context(NEW) }
          if (removed === 0) removed = (await cutLog(order)).entries
          return store.entriesAfter(...asked)
        },
      })
      expect(await cut(slow)).toMatchObject({ basePosition: 40, entries: 20 })
      expect(removed).toBe(20)
      if (other !== store) await other.close()
    })
  })
})
