import { expect, it } from 'vitest'
import { loadLog } from '../../src/actions/load-log.ts'
import { cutLog } from '../../src/log/cut-log.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY, newSite, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, withStore } from '../store/store-writer.ts'

const OLD = Date.now() - 800 * DAY
const NEW = Date.now()

/** A site of 5 old entries and 3 new ones. */
async function beginWithPast(store: Store) {
  const { siteId, ...site } = newSite()
  const revoke = (atMs: number) =>
    store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(atMs))
  await store.createSite({ ...site, siteId }, context(OLD))
  for (let i = 0; i < 4; i++) await revoke(OLD)
  await writeCheckpointAtEnd(store, OLD)
  for (let i = 0; i < 3; i++) await revoke(NEW)
  await writeCheckpointAtEnd(store, NEW)
  return siteId
}

forEachStoreWriter('a page of a log that was cut', (newWriter) => {
  it('ends at the base, and rejects positions below it (A192)', async () => {
    await withStore(await newWriter(), async (store) => {
      const siteId = await beginWithPast(store)
      const load = (range: { after?: number; before?: number }, order: 'newest' | 'oldest' = 'newest') => {
        const at = (seq: number | undefined) => (seq === undefined ? undefined : { epoch: store.epoch, seq })
        const [after, before] = [at(range.after), at(range.before)]
        return loadLog({ store }, siteId, { after, before, kind: undefined, order, limit: 200 })
      }
      const seqs = async (...given: Parameters<typeof load>) =>
        (await load(...given)).entries.map(({ seq }) => seq)
      expect(await seqs({})).toEqual([8, 7, 6, 5, 4, 3, 2, 1])
      expect((await load({})).base).toEqual({ seq: 0, hash: '0'.repeat(64) })
      const { entries } = await load({ before: 6 })
      await cutLog({ store, beforeMs: NEW - 396 * DAY, context: context(NEW) })
      const { base } = await load({})
      expect(base).toEqual({ seq: 5, hash: entries[0]?.hash })
      expect(await seqs({})).toEqual([8, 7, 6])
      expect(await seqs({ after: 5 }, 'oldest')).toEqual([6, 7, 8])
      expect(await seqs({ before: 7 })).toEqual([6])
      for (const range of [{ after: 4 }, { after: 0 }, { before: 6 }, { before: 3 }])
        await expect(load(range)).rejects.toMatchObject({ code: 'cursor_expired' })
    })
  })
})
