import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  createEntry,
  type Entry,
  formatTime,
  GENESIS_HASH,
  type LogHead,
  type Ppid,
  type SiteId,
} from '@countersign/core'
import { limits } from '@countersign/core/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entryText } from '../../src/feed/event-text.ts'
import { type FeedReader, type FeedSource, SiteFeed } from '../../src/feed/site-feed.ts'

const SITE = 'shop.example' as SiteId
const EPOCH = 'e0000000'
const LENGTH = 24

/** Entries from which every test takes as many as it wants. */
const entries: Entry[] = []
let last: LogHead = { epoch: EPOCH, seq: 0, hash: GENESIS_HASH }
for (let i = 1; i <= LENGTH; i++) {
  const ppid = `did:service:ppid_${String(i).padStart(12, '0')}` as Ppid
  const time = formatTime(1_700_000_000_000)
  const entry = await createEntry(
    { siteId: SITE, kind: 'user.revoked', body: { ppid, revoked_at: time }, at: time },
    last,
  )
  entries.push(entry)
  last = entry
}
const headAt = (seq: number): LogHead => {
  const { epoch, hash } = entries[seq - 1] ?? { epoch: EPOCH, hash: GENESIS_HASH }
  return { epoch, seq, hash }
}

/** What a reader hears: numbers of entries, and `h` with the number that a heartbeat proves. */
class Ear implements FeedReader {
  isOver = false
  unreadBytes = 0
  text = ''
  drain: () => Promise<void> = () => Promise.resolve()

  write(bytes: Uint8Array): void {
    if (!this.isOver) this.text += Buffer.from(bytes).toString()
  }

  drained(): Promise<void> {
    return this.drain()
  }

  get heard(): (number | string)[] {
    return [...this.text.matchAll(/data: ({.*})\n/g)].map(([, json = '']) => {
      const { seq, beat } = JSON.parse(json)
      return beat === undefined ? seq : `h${beat}`
    })
  }
}

/** A log in which entries become visible first in the store, then in the view, then on the feed. */
class Log implements FeedSource {
  stored: number
  viewed: number
  isStoreGone = false
  wait: (what: string) => Promise<void> = () => Promise.resolve()

  constructor(length: number) {
    this.stored = length
    this.viewed = length
  }

  async entriesAfter(seq: number, limit: number): Promise<readonly Entry[]> {
    await this.wait('ask')
    const page = entries.slice(seq, Math.min(seq + limit, this.stored))
    await this.wait('answer')
    if (this.isStoreGone) throw new Error('gone')
    return page
  }

  async confirmHead(head: LogHead): Promise<string | undefined> {
    const isHead = head.seq === this.viewed
    await this.wait('sign')
    return isHead ? `event: heartbeat\ndata: {"beat":${head.seq}}\n\n` : undefined
  }

  /** The views of this node have read on. */
  apply(feed: Feed, upTo: number): void {
    for (const entry of entries.slice(this.viewed, upTo)) feed.applied(entry)
    this.viewed = Math.max(this.viewed, upTo)
    void feed.broadcast()
  }
}

type Feed = Pick<SiteFeed, 'applied' | 'broadcast' | 'join'>

/**
 * Without the protection: what is sent while a reader reads earlier entries is not kept for it.
 */
class NaiveFeed implements Feed {
  readonly #source: FeedSource
  readonly #live = new Set<FeedReader>()
  #pending: Entry[] = []
  #head: LogHead

  constructor(_: SiteId, head: LogHead, source: FeedSource) {
    this.#head = head
    this.#source = source
  }

  applied(entry: Entry): void {
    this.#pending.push(entry)
  }

  async broadcast(): Promise<void> {
    const sent = this.#pending.splice(0)
    const head = sent.at(-1) ?? this.#head
    this.#head = head
    const heartbeat = (await this.#source.confirmHead(head, true)) ?? ''
    for (const reader of this.#live) reader.write(Buffer.from(sent.map(entryText).join('') + heartbeat))
  }

  async join(reader: FeedReader, from = this.#head.seq): Promise<void> {
    const head = this.#head
    const missed = (await this.#source.entriesAfter(from, 500)).filter(({ seq }) => seq <= head.seq)
    reader.write(Buffer.from(missed.map(entryText).join('')))
    await reader.drained()
    reader.write(Buffer.from((await this.#source.confirmHead(head, false)) ?? ''))
    this.#live.add(reader)
  }
}

/**
 * A reader joins at every possible moment, with the steps of all in any order. True if all was
 * well.
 */
async function hears(
  scheduler: fc.Scheduler,
  from: number | undefined,
  appends: readonly number[],
  Feed: new (...args: ConstructorParameters<typeof SiteFeed>) => Feed,
): Promise<boolean> {
  const begun = 8
  const log = new Log(begun)
  log.wait = (what) => scheduler.schedule(Promise.resolve(), what)
  const feed = new Feed(SITE, headAt(begun), log)
  const [early, late] = [new Ear(), new Ear()]
  late.drain = () => scheduler.schedule(Promise.resolve(), 'drain')
  const turn = (what: string) => scheduler.schedule(Promise.resolve(), what)
  const appending = async () => {
    for (const count of appends) {
      await turn('append')
      log.stored = Math.min(LENGTH, log.stored + count)
      // Seen in the store before it is seen here: another node may have appended it.
      await turn('apply')
      log.apply(feed, log.stored)
    }
  }
  const joining = async () => {
    await turn('join')
    await turn('join')
    await feed.join(late, from)
  }
  await scheduler.waitFor(Promise.all([feed.join(early, begun), appending(), joining()]))
  for (let i = 0; i < 50 && [early, late].some(({ heard }) => heard.at(-1) !== `h${log.stored}`); i++) {
    if (scheduler.count() > 0) await scheduler.waitOne()
    else await nextTurn()
  }

  const first = from ?? numbersIn(late)[0] ?? log.stored + 1
  const wanted = entries.slice(from ?? first - 1, log.stored).map(({ seq }) => seq)
  const provenInOrder = (ear: Ear, start: number) => {
    let told = start
    return ear.heard.every((each) => {
      if (typeof each === 'number') told = each
      return typeof each === 'number' || Number(each.slice(1)) === told
    })
  }
  const start = from ?? Number(String(late.heard[0]).slice(1))
  return (
    String(numbersIn(late)) === String(wanted) &&
    String(numbersIn(early)) === String(entries.slice(begun, log.stored).map(({ seq }) => seq)) &&
    provenInOrder(late, start) &&
    provenInOrder(early, begun) &&
    late.heard.at(-1) === `h${log.stored}`
  )
}

const numbersIn = ({ heard }: Ear) => heard.filter((each) => typeof each === 'number')
const schedules = fc.tuple(
  fc.scheduler(),
  fc.nat(8),
  fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 8 }),
)

describe('a reader that joins the feed of a site', () => {
  it('hears every entry after its cursor once and in order, whatever is appended meanwhile (I-8, I-9)', {
    tags: 'long',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async ([scheduler, from, appends]) => {
        expect(await hears(scheduler, from, appends, SiteFeed)).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })

  it('misses some if what was sent meanwhile is not kept for it (control)', async () => {
    const alone = fc.tuple(fc.scheduler(), fc.nat(8))
    await fc.assert(
      fc.asyncProperty(alone, ([scheduler, from]) => hears(scheduler, from, [], NaiveFeed)),
      { numRuns: 50 },
    )
    const { failed } = await fc.check(
      fc.asyncProperty(schedules, ([scheduler, from, appends]) => hears(scheduler, from, appends, NaiveFeed)),
      { numRuns: 1000, endOnFailure: true },
    )
    expect(failed).toBe(true)
  })

  it('begins at the end with a proof of it when it has no cursor, and misses nothing from there', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async ([scheduler, , appends]) => {
        expect(await hears(scheduler, undefined, appends, SiteFeed)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('is told where it began when it has no cursor', async () => {
    const feed = new SiteFeed(SITE, headAt(5), new Log(5))
    const ear = new Ear()
    await feed.join(ear, undefined)
    expect(ear.text).toMatch(/^id: e0000000\.5\nevent: heartbeat\n/)
  })

  it('waits for this node when it comes from one that has read further', async () => {
    const log = new Log(5)
    const feed = new SiteFeed(SITE, headAt(5), log)
    const ear = new Ear()
    const joining = feed.join(ear, 7)
    log.stored = 9
    log.apply(feed, 9)
    await joining
    expect(ear.heard).toEqual([8, 9, 'h9'])
  })

  it.each([
    ['catches up again when more is sent meanwhile than is kept for it', 0.75, [1, 2, 3, 'h3']],
    ['is sent what was kept for it when that is not too much (control)', 0.25, [1, 2, 'h2', 3, 'h3']],
  ])('%s', async (_, share, heard) => {
    const log = new Log(1)
    const confirmHead = log.confirmHead.bind(log)
    const padding = `:${' '.repeat(share * limits.feed_buffer_bytes_max)}\n\n`
    log.confirmHead = async (head) => {
      const heartbeat = await confirmHead(head)
      return heartbeat && padding + heartbeat
    }
    const feed = new SiteFeed(SITE, headAt(1), log)
    const ear = new Ear()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    ear.drain = () => held
    const joining = feed.join(ear, 0)
    await expect.poll(() => ear.heard).toEqual([1])
    log.stored = 3
    log.apply(feed, 2)
    await expect.poll(() => feed.head.seq).toBe(2)
    log.apply(feed, 3)
    await expect.poll(() => feed.head.seq).toBe(3)
    release()
    await joining
    expect(ear.heard).toEqual(heard)
  })

  it('is told when the store cannot be asked', async () => {
    const log = new Log(5)
    log.isStoreGone = true
    await expect(new SiteFeed(SITE, headAt(5), log).join(new Ear(), 2)).rejects.toThrow('gone')
  })
})

describe('the feed of a site', () => {
  it('sends many readers a burst in one piece, with one proof after it', async () => {
    const log = new Log(1)
    const feed = new SiteFeed(SITE, headAt(1), log)
    const ears = Array.from({ length: 17 }, () => new Ear())
    for (const ear of ears) await feed.join(ear, 1)
    for (const ear of ears) ear.text = ''
    const [ear] = ears as [Ear]
    let writes = 0
    const write = ear.write.bind(ear)
    ear.write = (bytes) => {
      writes++
      write(bytes)
    }
    log.apply(feed, 9)
    await expect.poll(() => ear.heard).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 'h9'])
    expect(writes).toBe(1)
  })

  it('sends a few readers the entries at once, and the proof when it is signed', async () => {
    const log = new Log(1)
    const feed = new SiteFeed(SITE, headAt(1), log)
    const ears = Array.from({ length: 16 }, () => new Ear())
    for (const ear of ears) await feed.join(ear, 1)
    for (const ear of ears) ear.text = ''
    const signing = Promise.withResolvers<void>()
    log.wait = async (what) => (what === 'sign' ? signing.promise : undefined)
    log.apply(feed, 3)
    expect(ears.map(({ heard }) => heard)).toEqual(ears.map(() => [2, 3]))
    signing.resolve()
    await expect.poll(() => ears.map(({ heard }) => heard)).toEqual(ears.map(() => [2, 3, 'h3']))
  })

  it('sends entries without a proof when it has none, and the proof as soon as it has', async () => {
    const log = new Log(1)
    const feed = new SiteFeed(SITE, headAt(1), log)
    const ear = new Ear()
    await feed.join(ear, 1)
    ear.text = ''
    const { confirmHead } = log
    log.confirmHead = async () => undefined
    log.apply(feed, 3)
    await expect.poll(() => ear.heard).toEqual([2, 3])
    expect(feed.needsHeartbeat).toBe(true)
    log.confirmHead = confirmHead
    await feed.broadcast()
    expect(ear.heard).toEqual([2, 3, 'h3'])
    expect(feed.needsHeartbeat).toBe(false)
  })

  it('tells nothing twice when the log is read again', async () => {
    const log = new Log(1)
    const feed = new SiteFeed(SITE, headAt(1), log)
    const ear = new Ear()
    await feed.join(ear, 1)
    log.apply(feed, 3)
    await expect.poll(() => numbersIn(ear)).toEqual([2, 3])
    for (const entry of entries.slice(0, 3)) feed.applied(entry)
    await feed.broadcast(true)
    expect(ear.heard.slice(-4)).toEqual([2, 3, 'h3', 'h3'])
  })

  it('sends nothing to a reader that has left, and nothing after its end', async () => {
    const log = new Log(1)
    const feed = new SiteFeed(SITE, headAt(1), log)
    const [one, two] = [new Ear(), new Ear()]
    await feed.join(one, 1)
    await feed.join(two, 1)
    feed.leave(one)
    log.apply(feed, 2)
    await expect.poll(() => numbersIn(two)).toEqual([2])
    expect([numbersIn(one), feed.isEmpty]).toEqual([[], false])
    feed.end()
    log.apply(feed, 3)
    await feed.broadcast(true)
    expect(numbersIn(two)).toEqual([2])
    feed.leave(two)
    expect(feed.isEmpty).toBe(true)
  })
})
