import { dirname, join } from 'node:path'
import type { LogHead, SiteId } from '@countersign/core'
import { afterAll, describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { auditStore, backupStore, beginNewEpoch, restoreStore } from '../../src/store/maintenance.ts'
import type { Store } from '../../src/store/store.ts'
import { context, MASTER_KEY, NOW, newSite, ppid } from './fixtures.ts'
import { lastEntryOf } from './log-reading.ts'
import { forEachStoreWriter, newFile, openPlace, removeFiles } from './store-writer.ts'

const revoke = (store: Store, siteId: SiteId) =>
  store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
async function loadHead(store: Store, siteId: SiteId) {
  const { epoch, seq, hash } = await lastEntryOf(store, siteId)
  return { epoch, seq, hash }
}

forEachStoreWriter('links between epochs', (newWriter) => {
  it('name the head that each epoch continues, oldest first, the newest of them when there are many', {
    tags: 'long',
  }, async () => {
    const { place: config } = await newWriter()
    const { siteId } = newSite()
    const { siteId: later } = newSite()
    const heads: LogHead[] = []
    const begun = []
    for (let turn = 0; turn < 3; turn++) {
      const store = await openPlace(config)
      if (turn === 0) {
        await store.createSite(newSite({ siteId }), context())
        expect(await store.epochLinks(siteId, 16)).toEqual([])
      }
      await revoke(store, siteId)
      heads.push(await loadHead(store, siteId))
      await store.close()
      // Clocks may run backwards; the order must not depend on them.
      begun.push({ ...(await beginNewEpoch(config, MASTER_KEY, NOW - turn * 1000)), atMs: NOW - turn * 1000 })
    }
    const store = await openPlace(config)
    await store.createSite(newSite({ siteId: later }), context())
    const expected = begun.map(({ epoch, atMs }, i) => ({ epoch, previous: heads[i], atMs }))
    expect(expected[1]?.previous?.epoch).toBe(expected[0]?.epoch)
    expect(await store.epochLinks(siteId, 16)).toEqual(expected)
    expect(await store.epochLinks(siteId, 2)).toEqual(expected.slice(1))
    expect(await store.epochLinks(later, 16)).toEqual([])
    await store.close()
  })
})

forEachStoreWriter('a new epoch', (newWriter) => {
  it('begins at the end of the log while nodes append without a pause', { tags: 'long' }, async () => {
    const { place: config } = await newWriter()
    // Only one process can have the embedded store open.
    if (config.kind === 'sqlite') return
    const { siteId } = newSite()
    const store = await openPlace(config)
    await store.createSite(newSite({ siteId }), context())
    let isBegun = false
    let last = 0
    const append = async () => {
      while (!isBegun) {
        const seq = await revoke(store, siteId).then(
          (revoked) => revoked.seq,
          (fault: unknown) => {
            if (!(fault instanceof StoreUnavailable)) throw fault
            return 0
          },
        )
        last = Math.max(last, seq)
      }
    }
    const appending = [append(), append(), append()]
    const { epoch, position } = await beginNewEpoch(config, MASTER_KEY, NOW).finally(() => {
      isBegun = true
    })
    await Promise.all(appending)
    await store.followEpoch()
    expect(store.epoch).toBe(epoch)
    expect((await revoke(store, siteId)).seq).toBe(last + 1)
    const [link] = await store.epochLinks(siteId, 16)
    expect(link).toMatchObject({ epoch, previous: { seq: position } })
    await store.close()
    expect(await auditStore(config, MASTER_KEY)).toMatchObject({ ok: true })
  })
})

forEachStoreWriter('a reinstatement', (newWriter) => {
  it('is appended once in an epoch that has a predecessor, even if this log does not know the user as revoked', {
    tags: 'long',
  }, async () => {
    const { place: config } = await newWriter()
    const { siteId } = newSite()
    const user = { siteId, ppid: ppid(), reason: undefined }
    const before = await openPlace(config)
    await before.createSite(newSite({ siteId }), context())
    expect(await before.reinstateUser(user, context())).toMatchObject({ alreadyActive: true, seq: 1 })
    await before.close()
    await beginNewEpoch(config, MASTER_KEY, NOW)
    const store = await openPlace(config)
    expect(await store.reinstateUser(user, context())).toMatchObject({ alreadyActive: false, seq: 2 })
    expect(await lastEntryOf(store, siteId)).toMatchObject({
      kind: 'user.reinstated',
      body: { ppid: user.ppid },
    })
    // Repeating it must not move the moment up to which credentials are invalid.
    expect(await store.reinstateUser(user, context(NOW + 5000))).toMatchObject({
      alreadyActive: true,
      seq: 2,
    })
    expect(await store.revokeUser(user, context(NOW + 6000))).toMatchObject({ alreadyRevoked: false, seq: 3 })
    expect(await store.reinstateUser(user, context(NOW + 7000))).toMatchObject({
      alreadyActive: false,
      seq: 4,
    })
    await store.close()
    expect(await auditStore(config, MASTER_KEY)).toMatchObject({ ok: true })
    // Reinstated in a former epoch: once more, because it may have been revoked in what was lost.
    await beginNewEpoch(config, MASTER_KEY, NOW)
    const third = await openPlace(config)
    expect(await third.reinstateUser(user, context(NOW + 8000))).toMatchObject({
      alreadyActive: false,
      seq: 5,
    })
    expect(await third.reinstateUser(user, context(NOW + 9000))).toMatchObject({
      alreadyActive: true,
      seq: 5,
    })
    await third.close()
  })
})

describe('links between epochs after a restore', () => {
  afterAll(removeFiles)

  it('lead from the epoch of the replaced store, also when the backup is from an earlier one', {
    tags: 'long',
  }, async () => {
    const config = { kind: 'sqlite', file: newFile() } as const
    const { siteId } = newSite()
    const copy = join(dirname(config.file), 'copy.db')
    const first = await openPlace(config)
    await first.createSite(newSite({ siteId }), context())
    await revoke(first, siteId)
    const common = await loadHead(first, siteId)
    await backupStore(config, copy, MASTER_KEY)
    await revoke(first, siteId)
    const old = await loadHead(first, siteId)
    await first.close()
    const { epoch: second } = await beginNewEpoch(config, MASTER_KEY, NOW)
    const { epoch } = await restoreStore(config, copy, { masterKey: MASTER_KEY, nowMs: NOW + 1 })
    const restored = await openPlace(config)
    expect(await restored.epochLinks(siteId, 16)).toEqual([
      { epoch: second, previous: old, atMs: NOW },
      { epoch, previous: { ...common, epoch: second }, atMs: NOW + 1 },
    ])
    await restored.close()
  })

  it('name the head of the backup, not the later one of the store that was replaced', async () => {
    const config = { kind: 'sqlite', file: newFile() } as const
    const { siteId } = newSite()
    const store = await openPlace(config)
    await store.createSite(newSite({ siteId }), context())
    await revoke(store, siteId)
    const previous = await loadHead(store, siteId)
    const copy = join(dirname(config.file), 'copy.db')
    await backupStore(config, copy, MASTER_KEY)
    await revoke(store, siteId)
    await store.close()
    const { epoch } = await restoreStore(config, copy, { masterKey: MASTER_KEY, nowMs: NOW })
    const restored = await openPlace(config)
    expect(await restored.epochLinks(siteId, 16)).toEqual([{ epoch, previous, atMs: NOW }])
    await restored.close()
  })
})
