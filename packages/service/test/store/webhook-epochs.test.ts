import { expect, it } from 'vitest'
import { beginNewEpoch } from '../../src/store/maintenance.ts'
import type { Store } from '../../src/store/store.ts'
import { context, MASTER_KEY, NOW, newSite, ppid } from './fixtures.ts'
import { forEachStoreWriter, openPlace } from './store-writer.ts'

forEachStoreWriter('webhooks in a new epoch', (newWriter) => {
  it('go on where they were: what came before keeps its epoch, what comes after has the new one, and nothing comes twice', async () => {
    const { place: config } = await newWriter()
    const { siteId } = newSite()
    const webhookId = 'wh_1'
    const turn = { webhookId, owner: 'one', nowMs: NOW, leaseMs: 1000 }
    const revoke = (store: Store) => store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
    const before = await openPlace(config)
    await before.createSite(newSite({ siteId }), context())
    await before.createWebhook(
      { webhookId, siteId, url: 'https://hooks.example/', kinds: undefined, secretSealed: 's' },
      1,
      context(),
    )
    await revoke(before)
    await revoke(before)
    const sent = await before.nextDelivery(turn)
    const waiting = await before.nextDelivery(turn, {
      deliveryId: sent?.deliveryId ?? '',
      end: 'delivered',
      lastStatus: 200,
    })
    await before.nextDelivery(
      { ...turn, release: true },
      { deliveryId: waiting?.deliveryId ?? '', end: 'aborted', lastStatus: undefined },
    )
    await revoke(before)
    await before.close()

    const { epoch } = await beginNewEpoch(config, MASTER_KEY, NOW)
    expect(epoch).not.toBe(sent?.epoch)
    const after = await openPlace(config)
    await revoke(after)
    const seen: unknown[] = []
    for (let due = await after.nextDelivery(turn); due !== undefined; ) {
      seen.push([due.seq, due.epoch, due.entry?.epoch, due.entry?.hash === waiting?.entry?.hash])
      due = await after.nextDelivery(turn, { deliveryId: due.deliveryId, end: 'delivered', lastStatus: 200 })
    }
    const old = sent?.epoch
    expect(seen).toEqual([
      [3, old, old, true],
      [4, old, old, false],
      [5, epoch, epoch, false],
    ])
    const replayed = await after.replayDelivery(siteId, sent?.deliveryId ?? '', context())
    expect(replayed).toMatchObject({ seq: 2, epoch: old })
    expect((await after.nextDelivery(turn))?.entry).toEqual(sent?.entry)
    await after.close()
  })
})
