import { appendFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatTime, generatePrivateKey, signHeartbeat } from '@countersign/core'
import { afterAll, expect, it } from 'vitest'
import { toHeadLine } from '../../src/log/head-file.ts'
import { loadSiteHeads } from '../../src/store/site-heads.ts'
import { context, MASTER_KEY_HEX, newSite } from '../store/fixtures.ts'
import { forEachStoreWriter, type StoreWriter, withStore } from '../store/store-writer.ts'
import { run } from './terminal.ts'

const directory = mkdtempSync(join(tmpdir(), 'countersign-rollback-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
let made = 0

/** A store with one site, and a head file with its head, so many entries ahead of the store. */
async function furnish(
  writer: StoreWriter,
  entriesAhead: number,
  { file = join(directory, `${++made}.heads`), hash }: { file?: string; hash?: string } = {},
): Promise<string> {
  const key = await generatePrivateKey('Ed25519')
  await withStore(writer, async (store) => {
    if ((await loadSiteHeads(store)).length === 0) await store.createSite(newSite(), context())
    for (const head of await loadSiteHeads(store)) {
      const fields = {
        site_id: head.siteId,
        epoch: store.epoch,
        seq: head.seq + entriesAhead,
        hash: hash ?? head.hash,
      }
      const unsigned = {
        ...fields,
        as_of: formatTime(1_800_000_000_000),
        max_age_seconds: 1,
        kid: key.publicKey.multikey,
      }
      writeFileSync(file, toHeadLine(await signHeartbeat(unsigned, key)))
    }
  })
  return file
}

function acceptRollback({ place }: StoreWriter, headFile: string, ...flags: readonly string[]) {
  return run(['accept-rollback', '--head-file', headFile, ...flags], {
    COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
    COUNTERSIGN_DATABASE_URL: place.kind === 'postgres' ? place.url : `sqlite:${place.file}`,
  })
}

const readEpoch = (writer: StoreWriter) => withStore(writer, async (store) => store.epoch)
const readActions = (writer: StoreWriter) =>
  withStore(writer, async (store) =>
    (await store.auditRows(null, { after: undefined, limit: 10 })).map(({ action }) => action),
  )

forEachStoreWriter('accept-rollback', (newWriter) => {
  it('changes nothing when nothing is missing, with --yes too', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const file = await furnish(writer, 0)
    const epoch = await readEpoch(writer)
    for (const flags of [[], ['--yes']]) {
      const { code, said, noted } = await acceptRollback(writer, file, ...flags)
      expect([code, said]).toEqual([0, 'Nothing is missing. There is nothing to accept.'])
      expect(noted).toContain('Nothing was changed.')
      expect(noted).not.toContain('--yes')
    }
    const { said } = await acceptRollback(writer, file, '--yes', '--json')
    expect(JSON.parse(said)).toEqual({ changed: false, lost: [] })
    expect(await readEpoch(writer)).toBe(epoch)
    expect(await readActions(writer)).not.toContain('log.accept_rollback')
  })

  it('lists what is missing with exit code 3, and begins a new epoch without it after --yes', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    const file = await furnish(writer, 2)
    const epoch = await readEpoch(writer)
    const { code, said, noted } = await acceptRollback(writer, file)
    expect(code).toBe(3)
    expect(said).toMatch(
      /^Missing from the store:\n {2}\S+: entry 3 of epoch \w+, signed .*; the store has 1$/,
    )
    expect(noted).toBe(
      'Nothing was changed. To begin a new epoch without these entries: countersign accept-rollback --yes',
    )
    expect(await readEpoch(writer)).toBe(epoch)
    const accepted = await acceptRollback(writer, file, '--yes')
    expect(accepted).toMatchObject({ code: 0, said: expect.stringContaining('is in the new epoch') })
    expect(await readEpoch(writer)).not.toBe(epoch)
    expect(await readActions(writer)).toContain('log.accept_rollback')
  })

  it('reads the head files of all workers, and sets aside all that have old heads', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    const file = await furnish(writer, 0)
    const epoch = await readEpoch(writer)
    // Workers that saw more than the first before they were killed, and one that saw less.
    await furnish(writer, 2, { file: `${file}.1` })
    await furnish(writer, 3, { file: `${file}.2` })
    await furnish(writer, 0, { file: `${file}.3` })
    const { code, said } = await acceptRollback(writer, file, '--json')
    expect(code).toBe(3)
    expect(JSON.parse(said)).toMatchObject({ changed: false, lost: [{ epoch, seq: 4, store_seq: 1 }] })
    const accepted = await acceptRollback(writer, file, '--yes')
    expect(accepted.code).toBe(0)
    const next = await readEpoch(writer)
    expect(next).not.toBe(epoch)
    for (const each of [file, `${file}.1`, `${file}.2`, `${file}.3`]) {
      const aside = `${each}.before-${next}`
      expect(accepted.noted).toContain(`The head file as it was before: ${aside}`)
      expect([existsSync(each), existsSync(aside)]).toEqual([false, true])
    }
  })

  it('says that the store has another entry, when it has gone on without the lost ones', async () => {
    const writer = await newWriter()
    const file = await furnish(writer, 0, { hash: 'a'.repeat(64) })
    const { code, said } = await acceptRollback(writer, file)
    expect(code).toBe(3)
    expect(said).toMatch(/: entry 1 of epoch .*; the store has another entry with this number$/)
  })

  it('names the head file of a worker that has lines that cannot be read', async () => {
    const writer = await newWriter()
    const file = await furnish(writer, 0)
    writeFileSync(`${file}.5`, '{"site_id":')
    const { code, said, noted } = await acceptRollback(writer, file)
    expect(code).toBe(0)
    expect(said).toContain(`${file}.5 does not exist or has lines that cannot be read`)
    expect(noted).toContain('countersign accept-rollback --yes')
  })

  it.each([
    ['is off', async () => 'off', 'head_file is off'],
    ['does not exist', async () => join(directory, 'absent.heads'), 'absent.heads does not exist or has'],
    [
      'has a line that cannot be read',
      async (writer: StoreWriter) => {
        const file = await furnish(writer, 0)
        appendFileSync(file, '{"site_id":')
        return file
      },
      'has lines that cannot be read, so this command cannot find all that is missing',
    ],
  ])(
    'cannot know what is missing when the head file %s, and begins a new epoch after --yes',
    { tags: 'long' },
    async (_, makeFile, words) => {
      const writer = await newWriter()
      const file = await makeFile(writer)
      const epoch = await readEpoch(writer)
      const { code, said, noted } = await acceptRollback(writer, file)
      expect([code, said]).toEqual([0, expect.stringContaining(words)])
      expect(said).not.toContain('Nothing is missing')
      expect(noted).toContain('countersign accept-rollback --yes')
      expect(await acceptRollback(writer, file, '--yes')).toMatchObject({
        code: 0,
        said: expect.stringContaining('is in the new epoch'),
      })
      expect(await readEpoch(writer)).not.toBe(epoch)
    },
  )
})
