import { expect, it } from 'vitest'
import { cutLogNow } from '../../src/operations/cut-log.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { context, credentialId, DAY, MASTER_KEY, MASTER_KEY_HEX, newSite, ppid } from '../store/fixtures.ts'
import { forEachStoreWriter, type StoreWriter, withStore } from '../store/store-writer.ts'
import { run } from './terminal.ts'

const OLD = Date.UTC(2020, 0, 1)

forEachStoreWriter('a cut by an operator', (newWriter) => {
  it('removes nothing by a clock that is years ahead of the time on record', { tags: 'long' }, async () => {
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
  it('is counted by `cut-log --dry-run` and done by `cut-log`', { tags: 'long' }, async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const site = newSite()
      await store.createSite(site, context(OLD))
      const { siteId } = site
      const credential = { siteId, credentialId: credentialId(), reason: undefined }
      await store.revokeCredential(credential, context(OLD))
      const revokeUser = (atMs: number) =>
        store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(atMs))
      await revokeUser(OLD)
      await revokeUser(OLD)
      await writeCheckpointAtEnd(store, OLD)
      await revokeUser(Date.now())
      await store.confirmTime(Date.now(), 0)
    })
    const entries = async () => (await writer.sql('SELECT position FROM entries')).length
    const [dry, wet] = [['--dry-run', '--json'], ['--json']]
    const counted = { base_position: 4, entries: 4, former_entries: 0, revocations: 1, rows: 1 }
    expect(await cutLogBy(writer, dry)).toEqual({ changed: false, ...counted })
    const { said } = await runCut(writer, ['--dry-run'])
    expect(said).toContain(
      'Would remove 4 entries, 0 entries of former epochs, 1 revocations from the checkpoint and 1 rows.',
    )
    expect(await entries()).toBe(5)
    expect(await cutLogBy(writer, wet)).toEqual({ changed: true, ...counted })
    expect(await entries()).toBe(1)
    expect(await cutLogBy(writer, wet)).toMatchObject({ changed: true, base_position: 4, entries: 0 })
  })

  it('is rejected while the embedded store is in use, and with a shorter time than the least', async () => {
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
