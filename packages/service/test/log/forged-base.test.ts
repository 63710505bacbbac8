import type { Heartbeat } from '@countersign/core'
import { expect, it } from 'vitest'
import { cutLog } from '../../src/log/cut-log.ts'
import { hasHead } from '../../src/log/lost-heads.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, withStore } from '../store/store-writer.ts'
import { beginYears } from './years.ts'

const OLD = Date.UTC(2020, 0, 1)
const NEW = OLD + 800 * DAY

async function fill(store: Store) {
  const { siteId } = await beginYears(store, OLD)
  for (const atMs of [OLD, OLD, OLD, NEW])
    await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(atMs))
  await writeCheckpointAtEnd(store, NEW)
  return siteId
}

forEachStoreWriter('the base of a site and a signed head before it (A274)', (newWriter) => {
  it('excuses a missing entry only if the service wrote it', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const siteId = await fill(store)
      const [entry] = await store.siteEntriesAfter(siteId, 2, 1)
      const head = { site_id: siteId, seq: 3, hash: entry?.hash } as Heartbeat
      const isThere = () => hasHead(store, head, () => undefined)
      expect(await isThere()).toBe(true)
      await writer.sql(`DELETE FROM entries WHERE site_id = '${siteId}' AND seq <= 4`)
      expect(await isThere()).toBe(false)
      await writer.sql(`UPDATE checkpoint_sites SET base_seq = 4 WHERE site_id = '${siteId}'`)
      expect(await store.siteBase(siteId)).toMatchObject({ seq: 4 })
      expect(await isThere()).toBe(false)
    })
  })

  it('control: after a cut the entry is not missed', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const siteId = await fill(store)
      const [entry] = await store.siteEntriesAfter(siteId, 2, 1)
      await cutLog({ store, beforeMs: NEW - 396 * DAY, context: context(NEW) })
      const head = { site_id: siteId, seq: 3, hash: entry?.hash } as Heartbeat
      expect(await store.siteEntriesAfter(siteId, 2, 1)).not.toMatchObject([{ seq: 3 }])
      expect(await hasHead(store, head, () => undefined)).toBe(true)
    })
  })
})
