import { expect, it } from 'vitest'
import { cutLogNow } from '../../src/operations/cut-log.ts'
import { context, DAY, MASTER_KEY, newSite, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, withStore } from '../store/store-writer.ts'

const OLD = Date.UTC(2020, 0, 1)

forEachStoreWriter('a cut by an operator', (newWriter) => {
  it('removes nothing by a clock that is years ahead of the time on record', async () => {
    const writer = await newWriter()
    const confirm = (atMs: number) => withStore(writer, (store) => store.confirmTime(atMs, 0))
    await withStore(writer, async (store) => {
      const site = newSite()
      await store.createSite(site, context(OLD))
      for (let i = 0; i < 3; i++)
        await store.revokeUser({ siteId: site.siteId, ppid: ppid(), reason: undefined }, context(OLD))
    })
    const settings = { store: writer.place, masterKey: MASTER_KEY, logKeptMs: 396 * DAY }
    await confirm(OLD + DAY)
    for (const dryRun of [true, false])
      expect(await cutLogNow(settings, { dryRun })).toMatchObject({ basePosition: 0, entries: 0 })
    // Control: once the service has run at such a time, the entries are old.
    await confirm(OLD + 500 * DAY)
    expect(await cutLogNow(settings, { dryRun: false })).toMatchObject({ basePosition: 3, entries: 3 })
  })
})
