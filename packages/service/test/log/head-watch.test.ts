import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  encodeHeadHeader,
  formatTime,
  generatePrivateKey,
  type Heartbeat,
  type PrivateKey,
  type SiteId,
  signHeartbeat,
} from '@countersign/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { readHeadFile, toHeadLine, writeHeadFile } from '../../src/log/head-file.ts'
import { HeadWatch } from '../../src/log/head-watch.ts'
import { LiveViews } from '../../src/log/live-views.ts'
import type { SiteBase } from '../../src/store/operations/cut-log.ts'
import type { EpochLink } from '../../src/store/operations/log.ts'
import { ClockDouble, EPOCH, LogDouble, quiet } from './log-double.ts'

const A = 'a.example' as SiteId
const B = 'b.example' as SiteId
const folder = mkdtempSync(join(tmpdir(), 'countersign-heads-'))
const revoked = { ppid: 'did:service:ppid_aaaaaaaaaaaa', revoked_at: formatTime(1_700_000_000_000) } as never

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  rmSync(folder, { recursive: true, force: true })
})

/** A log of two sites with so many entries at the first. */
class Log extends LogDouble {
  links: EpochLink[] = []
  static async make(entries: number): Promise<Log> {
    const log = new Log()
    await log.site(B)
    await log.site(A)
    for (let i = 1; i < entries; i++)
      await log.append(A, 'user.revoked', {
        ...(revoked as object),
        ppid: `did:service:ppid_${'a'.repeat(12 + i)}`,
      } as never)
    return log
  }
  async siteEntriesAfter(siteId: SiteId, seq: number, limit: number) {
    return this.entries
      .flatMap(({ entry }) => (entry.site_id === siteId && entry.seq > seq ? [entry] : []))
      .slice(0, limit)
  }
  base: SiteBase | undefined
  async siteBase() {
    return this.base
  }
  async epochLinks() {
    return this.links
  }
}

const ring = generatePrivateKey('Ed25519')

async function signed(
  log: Log,
  seq: number,
  {
    hash,
    epoch = EPOCH,
    key,
    siteId = A,
  }: { hash?: string; epoch?: string; key?: PrivateKey; siteId?: SiteId } = {},
): Promise<Heartbeat> {
  const signer = key ?? (await ring)
  const [entry] = await log.siteEntriesAfter(siteId, seq - 1, 1)
  const fields = {
    site_id: siteId,
    epoch,
    seq,
    hash: hash ?? entry?.hash ?? 'f'.repeat(64),
    as_of: formatTime(1_800_000_000_000),
  }
  return signHeartbeat({ ...fields, max_age_seconds: 60, kid: signer.publicKey.multikey }, signer)
}

interface Node {
  readonly watch: HeadWatch
  readonly views: LiveViews
  readonly file: string
  readonly log: {
    error: ReturnType<typeof vi.fn>
    warn: ReturnType<typeof vi.fn>
    info: ReturnType<typeof vi.fn>
  }
  readonly entriesLost: ReturnType<typeof vi.fn>
}

let made = 0
const newFile = () => join(folder, `${++made}`, 'heads')

async function start(store: Log, file: string | null = newFile()): Promise<Node> {
  const clock = new ClockDouble()
  const key = await ring
  const log = { error: vi.fn(), warn: vi.fn(), info: vi.fn() }
  const entriesLost = vi.fn()
  const keys = {
    feedKey: () => ({ kid: key.publicKey.multikey, key }),
    findFeedKey: (kid: string) => (kid === key.publicKey.multikey ? key.publicKey : undefined),
  }
  const watch = new HeadWatch(
    { file: file ?? undefined, store, keys, clock, meters: { entriesLost }, log },
    10,
  )
  const views = await LiveViews.open(store, clock, quiet, {
    viewAgeMsMax: 1e9,
    examine: (...heads) => watch.compare(...heads),
  })
  watch.follow(views)
  closing.push(
    () => views.close(),
    () => watch.close(),
  )
  return { watch, views, file: file ?? '', log, entriesLost }
}

async function fileWith(...heads: Heartbeat[]): Promise<string> {
  const file = newFile()
  await writeHeadFile(file, heads.map(toHeadLine))
  return file
}

const keptSeq = (file: string) =>
  Object.fromEntries([...(readHeadFile(file)?.heads ?? [])].map(([site, { seq }]) => [site, seq]))

describe('the head file (B6)', () => {
  it('has the signed head of every site, also of sites without followers, and follows their changes', async () => {
    const store = await Log.make(3)
    const { file, views } = await start(store)
    await expect.poll(() => keptSeq(file)).toEqual({ [A]: 3, [B]: 1 })
    await store.append(B, 'user.revoked', revoked)
    await expect.poll(() => keptSeq(file)).toEqual({ [A]: 3, [B]: 2 })
    expect(views.readiness()).toEqual({ ready: true })
    expect(readHeadFile(file)).toMatchObject({ unreadable: 0 })
  })

  it('is not written while nothing changes', { tags: 'long' }, async () => {
    const store = await Log.make(3)
    const { file } = await start(store)
    await expect.poll(() => keptSeq(file)).toEqual({ [A]: 3, [B]: 1 })
    writeFileSync(file, '')
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(readFileSync(file, 'utf8')).toBe('')
  })

  it('has what was applied last when the node is closed', async () => {
    const store = await Log.make(3)
    const { file, watch, views } = await start(store)
    await views.waitFor(await store.append(A, 'user.revoked', revoked))
    await watch.close()
    expect(keptSeq(file)).toEqual({ [A]: 4, [B]: 1 })
  })

  it('that is missing, empty or unreadable in parts ends nothing, and is made', {
    tags: 'long',
  }, async () => {
    const store = await Log.make(3)
    const cut = toHeadLine(await signed(store, 3)).slice(0, -30)
    for (const text of [undefined, '', `${cut}\nno JSON\n{}\n`]) {
      const file = newFile()
      if (text !== undefined) {
        await writeHeadFile(file, [])
        writeFileSync(file, text)
      }
      const { views } = await start(store, file)
      expect(views.readiness()).toEqual({ ready: true })
      await expect.poll(() => keptSeq(file)).toEqual({ [A]: 3, [B]: 1 })
    }
  })

  it('that cannot be written is reported, and nothing else ends', async () => {
    const { views, watch, log } = await start(await Log.make(2), '/dev/null/heads')
    await expect.poll(() => watch.isFailing).toBe(true)
    expect(log.error).toHaveBeenCalledTimes(1)
    expect(views.readiness()).toEqual({ ready: true })
  })
})

describe('a log that has lost what the file proves (B6, A274)', () => {
  it('is not trusted: the node is not ready, decides nothing, and says what is lost and what to do; the file stays', async () => {
    const store = await Log.make(5)
    const file = await fileWith(await signed(store, 5))
    const before = readFileSync(file, 'utf8')
    const { views, log } = await start(await Log.make(3), file)
    expect(views.readiness()).toMatchObject({
      ready: false,
      why: expect.stringContaining('2 entries are lost'),
    })
    expect(views.revocationData(A)?.ageMs).toBe(Infinity)
    expect(log.error.mock.calls[0]?.[1]).toMatch(
      /ends at 3: 2 entries are lost\. Look for the store.*countersign accept-rollback/,
    )
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(readFileSync(file, 'utf8')).toBe(before)
  })

  it('so is one that was rewritten at that place, whether it goes on or not, and one without the site', async () => {
    const store = await Log.make(3)
    for (const seq of [3, 2]) {
      const { views } = await start(store, await fileWith(await signed(store, seq, { hash: '0'.repeat(64) })))
      expect(views.readiness()).toMatchObject({ why: expect.stringContaining('it was rewritten') })
    }
    const { views } = await start(
      store,
      await fileWith(await signed(store, 2, { siteId: 'gone.example' as SiteId })),
    )
    expect(views.readiness()).toMatchObject({ why: expect.stringContaining('2 entries are lost') })
  })

  it('is trusted when it goes on from there, and when no signature proves the loss: control arms', async () => {
    const store = await Log.make(5)
    const head = await signed(store, 9)
    for (const heads of [[await signed(store, 4)], [await signed(store, 5)], [{ ...head, seq: 10 }]]) {
      const { views } = await start(store, await fileWith(...heads))
      expect(views.readiness()).toEqual({ ready: true })
    }
  })

  it('is trusted in a new epoch that continues the old one, with a word on what was left behind', async () => {
    const store = await Log.make(3)
    const head = await signed(store, 5, { epoch: 'e1111111' })
    store.links = [{ epoch: EPOCH, previous: { epoch: 'e1111111', seq: 3, hash: '0'.repeat(64) }, atMs: 0 }]
    const { views, log, file } = await start(store, await fileWith(head))
    expect(views.readiness()).toEqual({ ready: true })
    expect(log.warn.mock.calls[0]?.[0]).toMatchObject({ site_id: A, entries: 2 })
    await expect.poll(() => readHeadFile(file)?.heads.get(A)?.epoch).toBe(EPOCH)
  })

  it.each([
    ['with a head file', newFile],
    ['without one', () => null],
  ])('is compared with what a running node has read of the former epoch, %s', async (_, newPlace) => {
    const store = await Log.make(5)
    const { views, log } = await start(store, newPlace())
    // A standby that has the first three entries of A and all of B takes over.
    store.links = [{ epoch: 'e1111111', previous: { epoch: EPOCH, seq: 3, hash: '0'.repeat(64) }, atMs: 0 }]
    store.epoch = 'e1111111'
    store.entries = []
    await store.site(B)
    for (let i = 0; i < 3; i++) await store.site(A)
    await expect.poll(() => views.view(A)?.head.epoch).toBe('e1111111')
    await expect.poll(() => views.readiness()).toEqual({ ready: true })
    expect(log.warn.mock.calls).toEqual([
      [
        { site_id: A, from_epoch: EPOCH, entries: 2 },
        expect.stringContaining('without entries that this node has seen'),
      ],
    ])
    expect(log.error).not.toHaveBeenCalled()
  })

  it('is not trusted when a running node is led back to a former epoch, until a new one is begun', async () => {
    const store = await Log.make(3)
    const { views, log } = await start(store, null)
    // The former primary is back: it does not know the epoch that this node has read.
    store.links = []
    store.epoch = 'e1111111'
    store.entries = []
    await store.site(B)
    await store.site(A)
    await expect.poll(() => views.view(A)?.head.epoch).toBe('e1111111')
    const why = `another log than the one with epoch ${EPOCH}, of which this node has read entry 1 of ${B}`
    await expect.poll(() => views.readiness()).toMatchObject({ why: expect.stringContaining(why) })
    expect(log.error).toHaveBeenCalledTimes(1)

    // As accept-rollback does.
    store.links = [
      { epoch: 'e2222222', previous: { epoch: 'e1111111', seq: 1, hash: '0'.repeat(64) }, atMs: 0 },
    ]
    store.epoch = 'e2222222'
    store.entries = []
    await store.site(B)
    await store.site(A)
    await expect.poll(() => views.readiness()).toEqual({ ready: true })
  })

  it('is not trusted when it is another log altogether', async () => {
    const store = await Log.make(3)
    const { views } = await start(store, await fileWith(await signed(store, 2, { epoch: 'e1111111' })))
    expect(views.readiness()).toMatchObject({
      why: expect.stringContaining('another log than the one with epoch e1111111'),
    })
  })
})

describe('a head that a verifier shows (A274)', () => {
  it('beyond the log, signed by the service, ends trust, and a restart does not forget it', async () => {
    const store = await Log.make(3)
    const { watch, views, file, log } = await start(store)
    await watch.shown(A, await signed(store, 7))
    expect(views.readiness()).toMatchObject({ why: expect.stringContaining('4 entries are lost') })
    expect(log.error).toHaveBeenCalledTimes(1)
    const again = await start(store, file)
    expect(again.views.readiness().ready).toBe(false)
  })

  it('with another hash at a place that the log has ends trust', async () => {
    const store = await Log.make(3)
    for (const seq of [3, 2]) {
      const { watch, views } = await start(store)
      await watch.shown(A, await signed(store, seq, { hash: '0'.repeat(64) }))
      expect(views.readiness()).toMatchObject({ why: expect.stringContaining('rewritten') })
    }
  })

  it('has no effect when the store has it, though this node has not read so far', async () => {
    const store = await Log.make(3)
    const { watch, views } = await start(store)
    const { promise, resolve } = Promise.withResolvers<void>()
    store.gate = promise
    await store.append(A, 'user.revoked', revoked)
    await watch.shown(A, await signed(store, 4))
    expect(views.suspicion()).toBe(undefined)
    resolve()
  })

  it('has no effect without proof: another key, another site, another epoch, a changed member (control arms)', async () => {
    const store = await Log.make(3)
    const { watch, views } = await start(store)
    const other = await generatePrivateKey('Ed25519')
    await watch.shown(A, await signed(store, 7, { key: other }))
    await watch.shown(A, { ...(await signed(store, 7)), seq: 8 })
    await watch.shown(B, await signed(store, 7))
    await watch.shown(A, await signed(store, 7, { epoch: 'e1111111' }))
    await watch.shown(A, await signed(store, 2))
    await watch.shown(A, await signed(store, 0))
    expect(views.readiness()).toEqual({ ready: true })
    expect(encodeHeadHeader(await signed(store, 2)).length).toBeLessThan(2048)
  })
})
