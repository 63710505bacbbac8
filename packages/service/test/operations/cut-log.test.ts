import { expect, it } from 'vitest'
import { cutLogNow } from '../../src/operations/cut-log.ts'
import { context, DAY, MASTER_KEY, MASTER_KEY_HEX, newSite, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, type StoreWriter, withStore } from '../store/store-writer.ts'
import { run } from './terminal.ts'

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
  it('is counted by `cut-log --dry-run` and done by `cut-log`', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const site = newSite()
      await store.createSite(site, context(OLD))
      for (const atMs of [OLD, Date.now()])
        await store.revokeUser({ siteId: site.siteId, ppid: ppid(), reason: undefined }, context(atMs))
      await store.confirmTime(Date.now(), 0)
    })
    const entries = async () => (await writer.sql('SELECT position FROM entries')).length
    const [dry, wet] = [['--dry-run', '--json'], ['--json']]
    expect(await cutLogBy(writer, dry)).toMatchObject({ changed: false, base_position: 2, entries: 2 })
    expect(await entries()).toBe(3)
    expect(await cutLogBy(writer, wet)).toMatchObject({ changed: true, base_position: 2, entries: 2 })
    expect(await entries()).toBe(1)
    expect(await cutLogBy(writer, wet)).toMatchObject({ changed: true, base_position: 2, entries: 0 })
  })

  it('is refused while the embedded store is in use, and with a shorter time than the least', async () => {
    const writer = await newWriter()
    await withStore(writer, async () => {
      const { code, noted } = await runCut(writer, [])
      if (writer.place.kind === 'postgres') expect(code).toBe(0)
      else {
        expect(code).not.toBe(0)
        expect(noted).toContain('open')
      }
    })
    const { code, noted } = await runCut(writer, ['--log-kept-days', '395'])
    expect(code).not.toBe(0)
    expect(noted).toContain('log_kept_days must be an integer from 396')
  })
})

function runCut({ place }: StoreWriter, words: readonly string[]) {
  return run(['cut-log', ...words], {
    COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
    COUNTERSIGN_DATABASE_URL: place.kind === 'postgres' ? place.url : `sqlite:${place.file}`,
  })
}

async function cutLogBy(writer: StoreWriter, words: readonly string[]): Promise<unknown> {
  const { code, said, noted } = await runCut(writer, words)
  expect({ code, noted }).toMatchObject({ code: 0 })
  return JSON.parse(said)
}
