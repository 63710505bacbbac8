import type { Ppid } from '@countersign/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LiveViews } from '../../src/log/live-views.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { LogCorrupted } from '../../src/store/log-corrupted.ts'
import type { Row } from '../../src/store/transaction.ts'
import { context, NOW, ppid, sha256 } from '../store/fixtures.ts'
import { forEachStoreWriter, openPlace, type StoreWriter } from '../store/store-writer.ts'
import { beginHistory, moveBase } from './history.ts'
import { ClockDouble, quiet } from './log-double.ts'

const DENIES = { ready: false, isFresh: false }
const USED = { ready: true, isFresh: true, isRevoked: true }
const TABLES = ['checkpoint', 'checkpoint_sites', 'log_pages'] as const
type Tables = Readonly<Record<(typeof TABLES)[number], readonly Row[]>>
const NONE: Tables = { checkpoint: [], checkpoint_sites: [], log_pages: [] }

async function readTables({ sql }: StoreWriter): Promise<Tables> {
  const read = (table: string) => sql(`SELECT * FROM ${table} ORDER BY 1, 2, 3`)
  return {
    checkpoint: await read('checkpoint'),
    checkpoint_sites: await read('checkpoint_sites'),
    log_pages: await read('log_pages'),
  }
}

/** Replaces all rows of a table, as an attacker could who has read it before. */
async function replaceRows(
  { sql }: StoreWriter,
  table: keyof Tables | 'entries',
  rows: readonly Row[],
): Promise<void> {
  await sql(`DELETE FROM ${table}`)
  for (const row of rows) {
    const names = Object.keys(row)
    const values = names.map((_, i) => `$${i + 1}`).join(', ')
    await sql(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${values})`, ...Object.values(row))
  }
}

async function putAllBack(writer: StoreWriter, tables: Tables): Promise<void> {
  for (const table of TABLES) await replaceRows(writer, table, tables[table])
}

/** A store with two sites, a checkpoint, a second one later, and entries after it. */
async function newStore(newWriter: () => Promise<StoreWriter>) {
  const writer = await newWriter()
  const store = await openPlace(writer.place)
  const user = ppid()
  const [{ siteId: one }, { siteId: other }] = [await beginHistory(store), await beginHistory(store)]
  const revoke = (name: Ppid, siteId = one) =>
    store.revokeUser({ siteId, ppid: name, reason: undefined }, context())
  await revoke(ppid())
  await revoke(ppid(), other)
  await writeCheckpointAtEnd(store, NOW)
  const first = await readTables(writer)
  await revoke(user)
  await revoke(ppid(), other)
  await writeCheckpointAtEnd(store, NOW + 1)
  const second = await readTables(writer)
  await revoke(ppid(), other)
  const entries = await writer.sql('SELECT * FROM entries')
  return { writer, store, one, other, user, first, second, entries }
}

type Made = Awaited<ReturnType<typeof newStore>>

/** Starts a node, and says whether it is ready and what it says about the revoked user. */
async function start({ store, one, user }: Made) {
  const clock = new ClockDouble()
  clock.wallMs = NOW
  const views = await LiveViews.open(store, clock, quiet, { viewAgeMsMax: 60_000 })
  const { ready } = views.readiness()
  const isFresh = views.age().ageMs < Infinity
  const isRevoked = views.view(one)?.userRevocation(user, 0) !== undefined
  await views.close()
  return { ready, isFresh, isRevoked }
}

const attacks: Readonly<Record<string, (made: Made) => Promise<unknown>>> = {
  'a page is removed': ({ writer, one }) => writer.sql('DELETE FROM log_pages WHERE site_id = $1', one),
  'the bytes of a page are changed': ({ writer, one, second }) => {
    const page = second.log_pages.findLast(({ site_id }) => site_id === one)
    const bytes = Uint8Array.from(page?.deflated as Uint8Array)
    bytes[3] = (bytes[3] ?? 0) ^ 1
    return writer.sql('UPDATE log_pages SET deflated = $1 WHERE site_id = $2', bytes, one)
  },
  'the bytes of a page are those of another one': ({ writer, one, other, second }) => {
    const page = second.log_pages.findLast(({ site_id }) => site_id === other)
    return writer.sql('UPDATE log_pages SET deflated = $1 WHERE site_id = $2', page?.deflated ?? null, one)
  },
  'the digest of a page is changed': ({ writer }) => writer.sql('UPDATE log_pages SET sha256 = $1', sha256()),
  'the number of lines of a page is changed': ({ writer }) =>
    writer.sql('UPDATE log_pages SET lines = lines + 1'),
  'the pages are put back': ({ writer, first }) => replaceRows(writer, 'log_pages', first.log_pages),
  'the sites are put back': ({ writer, first }) =>
    replaceRows(writer, 'checkpoint_sites', first.checkpoint_sites),
  'the sites and pages are put back': ({ writer, first, second }) =>
    putAllBack(writer, { ...first, checkpoint: second.checkpoint }),
  'one site is put back': ({ writer, first, second, one }) =>
    replaceRows(writer, 'checkpoint_sites', [
      ...second.checkpoint_sites.filter(({ site_id }) => site_id !== one),
      ...first.checkpoint_sites.filter(({ site_id }) => site_id === one),
    ]),
  'the checkpoint alone is put back': ({ writer, first }) =>
    replaceRows(writer, 'checkpoint', first.checkpoint),
  'a site is removed': ({ writer, one }) =>
    writer.sql('DELETE FROM checkpoint_sites WHERE site_id = $1', one),
  'two sites are swapped': ({ writer, second }) =>
    replaceRows(
      writer,
      'checkpoint_sites',
      second.checkpoint_sites.map((row, i, rows) => ({ ...row, site_id: rows[1 - i]?.site_id ?? null })),
    ),
  'the state of a site is changed': ({ writer }) =>
    writer.sql(`UPDATE checkpoint_sites SET state = state || ' '`),
  'the position is changed': ({ writer }) => writer.sql('UPDATE checkpoint SET position = position + 1'),
  'the base is changed': ({ writer }) => writer.sql('UPDATE checkpoint SET base_position = position'),
  'the MAC is removed': ({ writer }) => writer.sql('UPDATE checkpoint SET mac = NULL'),
  'the entry after it is removed': ({ writer, second }) =>
    writer.sql('DELETE FROM entries WHERE position = $1', (second.checkpoint[0]?.position as number) + 1),
}

forEachStoreWriter('a checkpoint that an attacker has changed (A271, A273)', (newWriter) => {
  let made: Made
  beforeAll(async () => {
    made = await newStore(newWriter)
  })
  afterAll(() => made?.store.close())
  const repair = async () => {
    await putAllBack(made.writer, made.second)
    await replaceRows(made.writer, 'entries', made.entries)
  }

  it('control: is used as it was written', async () => {
    expect(await start(made)).toEqual(USED)
  })

  it.each(Object.keys(attacks))('is not used when %s', async (name) => {
    await attacks[name]?.(made)
    expect(await start(made)).toMatchObject(DENIES)
    // Nor is it made valid by the next writer.
    await expect(writeCheckpointAtEnd(made.store, NOW)).rejects.toBeInstanceOf(LogCorrupted)
    await repair()
    expect(await start(made)).toEqual(USED)
  })

  it('revokes the same when all of it is put back: the entries after it are read again', async () => {
    await putAllBack(made.writer, made.first)
    expect(await start(made)).toEqual(USED)
    await repair()
  })

  it('revokes the same when all of it is removed and every entry is there', async () => {
    await putAllBack(made.writer, NONE)
    expect(await start(made)).toEqual(USED)
    await repair()
  })

  describe('after entries have been removed', () => {
    let cut: Tables
    beforeAll(async () => {
      await made.writer.sql('DELETE FROM entries WHERE position <= $1', await moveBase(made.store))
      cut = await readTables(made.writer)
    })

    it('control: is used as it was written', async () => {
      expect(await start(made)).toEqual(USED)
    })

    it.each([
      ['removed', { checkpoint: [] }],
      ['removed with its sites and pages', NONE],
    ])('is missed when it is %s', async (_name, tables) => {
      await putAllBack(made.writer, { ...cut, ...tables })
      expect(await start(made)).toMatchObject(DENIES)
      await putAllBack(made.writer, cut)
      expect(await start(made)).toEqual(USED)
    })

    it('is missed when an earlier one is put back', async () => {
      await putAllBack(made.writer, made.first)
      expect(await start(made)).toMatchObject(DENIES)
      await putAllBack(made.writer, cut)
    })
  })
})
