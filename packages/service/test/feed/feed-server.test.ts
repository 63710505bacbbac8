import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatTime, generatePrivateKey, type Ppid, type PrivateKey, type SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FeedServer, type FeedServerOptions } from '../../src/feed/feed-server.ts'
import type { StreamEnd } from '../../src/feed/feed-stream.ts'
import { LiveViews } from '../../src/log/live-views.ts'
import { ClockDouble, LogDouble, quiet } from '../log/log-double.ts'

const A = 'a.example' as SiteId
const B = 'b.example' as SiteId
const time = formatTime(1_700_000_000_000)
const QUICK = { heartbeatMs: 60, tickMs: 20, keyCheckMs: 50 }

let key: PrivateKey
let server: Server
const connections: Socket[] = []
beforeAll(async () => {
  key = await generatePrivateKey('Ed25519')
  server = createServer((socket) => void connections.push(socket)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
})
afterAll(() => new Promise((resolve) => server.close(resolve)))

let log: LogDouble
let clock: ClockDouble
let views: LiveViews
let feeds: FeedServer
let goodKeys: { keyId: string; expiresAtMs: number | undefined }[]
let ends: StreamEnd[]
const ears = new Set<Ear>()

/** The other side of a connection. */
class Ear {
  text = ''
  isClosed = false
  readonly socket: Socket

  constructor(socket: Socket) {
    this.socket = socket
    ears.add(this)
    socket.on('data', (data) => (this.text += data))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
    })
  }

  get heartbeats(): { seq: number; as_of: string }[] {
    return [...this.text.matchAll(/^event: heartbeat\ndata: (.*)$/gm)].map(([, json = '']) =>
      JSON.parse(json),
    )
  }

  get seqs(): number[] {
    return [...this.text.matchAll(/^id: .*\.(\d+)\nevent: user.revoked$/gm)].map(([, seq]) => Number(seq))
  }
}

beforeEach(async () => {
  log = new LogDouble()
  clock = new ClockDouble()
  await log.site(A)
  await log.site(B)
  goodKeys = ['one', 'two'].map((keyId) => ({ keyId, expiresAtMs: undefined }))
  ends = []
  views = await LiveViews.open(log, clock, quiet, { viewAgeMsMax: 2000 })
})
afterEach(async () => {
  await feeds.close()
  await views.close()
  for (const { socket } of ears) socket.destroy()
  ears.clear()
})

const ANONYMOUS = { verifierId: undefined, promise: undefined, isObserver: false }
let mayConfirmHeads = true
let seconds: () => number | Promise<number>

function begin(options: FeedServerOptions = {}): void {
  mayConfirmHeads = true
  seconds = () => 60
  const store = {
    site: async () => undefined,
    logPosition: () => log.logPosition(),
    siteEntriesAfter: async (siteId: SiteId, seq: number, limit: number) =>
      log.entries
        .flatMap(({ entry }) => (entry.site_id === siteId && entry.seq > seq ? [entry] : []))
        .slice(0, limit),
    apiKeysById: async (ids: readonly string[]) =>
      goodKeys.filter(({ keyId }) => ids.includes(keyId)) as never,
    consoleSessionsBySha256: async () => [],
  }
  const verifiers = {
    admit: async () => 'stream',
    abandoned: () => {},
    opened: () => {},
    closed: (_: unknown, why: StreamEnd) => void ends.push(why),
    mayConfirmHeads: () => mayConfirmHeads,
  }
  feeds = new FeedServer(
    {
      store,
      views,
      clock,
      keys: { feedKey: () => ({ kid: 'feed', key }) },
      ages: { seconds: () => seconds() },
      verifiers,
      log: quiet,
    },
    { ...QUICK, ...options },
  )
}

async function listen(
  siteId = A,
  { keyId = 'one', cursor }: { keyId?: string; cursor?: { epoch: string; seq: number } } = {},
): Promise<Ear> {
  const slot = await feeds.open({ siteId, keyId, cursor, verifier: ANONYMOUS, isProxied: false })
  const before = connections.length
  const ear = new Ear(connect((server.address() as AddressInfo).port, '127.0.0.1'))
  await expect.poll(() => connections.length).toBe(before + 1)
  slot.accept(connections.at(-1) as Socket)
  return ear
}

let users = 0
const revoke = (siteId = A) => {
  const ppid = `did:service:ppid_${String(++users).padStart(12, '0')}` as Ppid
  return log.append(siteId, 'user.revoked', { ppid, revoked_at: time })
}

describe('heartbeats', () => {
  /**
   * Whether one comes in this time. The last ones may still be on their way when they end, and the
   * next ones may be late on a busy machine: ask until it is as it should be.
   */
  const comesIn = async (ms: number, ear: Ear) => {
    const before = ear.heartbeats.length
    await sleep(ms)
    return ear.heartbeats.length > before
  }

  it('are signed once for all who follow a site, and come on and on', async () => {
    begin()
    const all = [await listen(), await listen(), await listen(B)]
    await expect.poll(() => Math.min(...all.map(({ heartbeats }) => heartbeats.length))).toBeGreaterThan(4)
    const [one, two] = all.map(({ text }) =>
      [...text.matchAll(/"signature":"([^"]*)"/g)].map(([, signature]) => signature),
    )
    expect(one?.slice(-3).some((signature) => two?.includes(signature))).toBe(true)
  })

  it.each([1, 17])('that cannot be signed hold back no entry of %i readers', async (count) => {
    begin()
    const all: Ear[] = []
    while (all.length < count) all.push(await listen())
    await expect.poll(() => Math.min(...all.map(({ heartbeats }) => heartbeats.length))).toBeGreaterThan(0)
    seconds = () => Promise.reject(new Error('the store does not answer'))
    await revoke()
    for (const ear of all) await expect.poll(() => ear.seqs).toEqual([2])
    seconds = () => 60
    await revoke()
    for (const ear of all) await expect.poll(() => ear.heartbeats.at(-1)?.seq).toBe(3)
    for (const ear of all) expect(ear.seqs).toEqual([2, 3])
  })

  it.each([
    ['stop', undefined, false],
    ['would go on without the check of its age (control)', Infinity, true],
  ])(
    'of a node that has not reached its store for two seconds %s (A197, I-3)',
    { tags: 'long' },
    async (_, silentMs, goOn) => {
      begin({ staleMs: Infinity, ...(silentMs === undefined ? {} : { silentMs }) })
      // The check of readiness is another protection, with the same bound.
      if (goOn) Object.assign(views, { readiness: () => ({ ready: true }) })
      const ear = await listen()
      await expect.poll(() => ear.heartbeats.length).toBeGreaterThan(1)
      log.isDown = true
      const lastProofMs = views.age().asOfMs
      clock.pass(1500)
      const before = ear.heartbeats.length
      await expect.poll(() => ear.heartbeats.length).toBeGreaterThan(before + 1)
      clock.pass(600)
      await sleep(100)
      await expect.poll(() => comesIn(300, ear)).toBe(goOn)
      // Whatever is sent says how old it is: from before the store was last asked.
      for (const { as_of } of ear.heartbeats) expect(Date.parse(as_of)).toBeLessThanOrEqual(lastProofMs)
      expect(ear.isClosed).toBe(false)
      log.isDown = false
      await expect.poll(() => ear.heartbeats.at(-1)?.as_of).toBe(formatTime(clock.wallMs))
    },
  )

  it('are not sent by a node that does not know the time', async () => {
    begin()
    const ear = await listen()
    await expect.poll(() => ear.heartbeats.length).toBeGreaterThan(1)
    clock.fault = new Error('leapt')
    Object.assign(clock, { problem: () => 'leapt' })
    await sleep(100)
    await expect.poll(() => comesIn(200, ear)).toBe(false)
  })
})

describe('streams end', () => {
  it('when the node has been without its store for long, so that their readers go elsewhere', async () => {
    begin()
    const ear = await listen()
    log.isDown = true
    clock.pass(10_001)
    await expect.poll(() => ear.isClosed).toBe(true)
    expect(ear.text).toMatch(/retry: \d+\n\n$/)
    expect([ends, feeds.size]).toEqual([['stale'], 0])
    await expect(listen()).rejects.toMatchObject({ code: 'revocation_view_stale' })
  })

  it('when the log begins a new epoch, and a place made before is worth nothing', async () => {
    begin()
    const ear = await listen()
    const slot = await feeds.open({
      siteId: A,
      keyId: 'one',
      cursor: undefined,
      verifier: ANONYMOUS,
      isProxied: false,
    })
    log.epoch = 'e0000001'
    log.entries = []
    await log.site(A)
    await expect.poll(() => ear.isClosed).toBe(true)
    await expect.poll(() => ends).toEqual(['log'])
    const before = connections.length
    const late = new Ear(connect((server.address() as AddressInfo).port, '127.0.0.1'))
    await expect.poll(() => connections.length).toBe(before + 1)
    slot.accept(connections.at(-1) as Socket)
    await expect.poll(() => late.isClosed).toBe(true)
    await expect.poll(() => views.readiness().ready).toBe(true)
    const again = await listen()
    await expect.poll(() => again.text).toContain('e0000001.1')
  })

  it('when the log turns out to be damaged', async () => {
    begin()
    const ear = await listen()
    log.entries[1] = { position: 2, entry: { ...log.entries[1]?.entry, hash: '0'.repeat(64) } as never }
    await expect.poll(() => ear.isClosed).toBe(true)
  })

  it('when their key is gone or has ended, and no others', async () => {
    begin()
    const [one, two] = [await listen(A), await listen(A, { keyId: 'two' })]
    goodKeys = goodKeys.filter(({ keyId }) => keyId !== 'one')
    await expect.poll(() => one.isClosed).toBe(true)
    expect([two.isClosed, ends]).toEqual([false, ['key']])
    goodKeys = [{ keyId: 'two', expiresAtMs: clock.wallMs + 1 }]
    await sleep(150)
    expect(two.isClosed).toBe(false)
    clock.pass(1)
    await expect.poll(() => two.isClosed).toBe(true)
  })

  it('not because the keys could not be looked up', async () => {
    begin()
    const ear = await listen()
    Object.defineProperty(goodKeys, 'filter', { value: () => Promise.reject(new Error('down')) })
    await sleep(200)
    expect(ear.isClosed).toBe(false)
  })
})

describe('a reader that does not read', () => {
  /** Until the buffers of the system are full as well. */
  const burst = async (until: () => boolean) => {
    for (let i = 0; i < 400 && !until(); i++) {
      for (let j = 0; j < 100; j++)
        await log.append(
          A,
          'credential.revoked',
          { credential_id: `cred_${'x'.repeat(60)}` as never, revoked_at: time },
          { silent: true },
        )
      await revoke()
      await views.waitFor(await log.logPosition())
      await sleep(1)
    }
  }

  it('is dropped at 256 KiB, and the others do not notice', { tags: 'long' }, async () => {
    begin()
    const [lazy, keen] = [await listen(), await listen()]
    const connection = connections.at(-2) as Socket
    lazy.socket.pause()
    let unreadMax = 0
    await burst(() => {
      unreadMax = Math.max(unreadMax, connection.writableLength)
      return feeds.size === 1
    })
    expect([feeds.size, ends]).toEqual([1, ['slow']])
    expect(unreadMax).toBeGreaterThan(limits.feed_buffer_bytes_max / 2)
    expect(unreadMax).toBeLessThan(limits.feed_buffer_bytes_max * 2)
    const head = views.view(A)?.head.seq
    await expect.poll(() => keen.heartbeats.at(-1)?.seq).toBe(head)
    expect(keen.isClosed).toBe(false)
  })

  it('would hold ever more if it were not (control)', { tags: 'long' }, async () => {
    begin({ unreadBytesMax: Infinity })
    const lazy = await listen()
    const connection = connections.at(-1) as Socket
    lazy.socket.pause()
    await burst(() => connection.writableLength > 4 * limits.feed_buffer_bytes_max)
    expect(connection.writableLength).toBeGreaterThan(4 * limits.feed_buffer_bytes_max)
    expect(feeds.size).toBe(1)
  })

  it('can come back and hears what it missed from the store', async () => {
    begin()
    for (let i = 0; i < 1200; i++) await revoke()
    await views.waitFor(await log.logPosition())
    const ear = await listen(A, { cursor: { epoch: log.epoch, seq: 1 } })
    await expect.poll(() => ear.heartbeats.at(-1)?.seq).toBe(1201)
    expect(ear.seqs).toEqual(Array.from({ length: 1200 }, (_, i) => i + 2))
  })
})

describe('a place', () => {
  it('counts against its key until it is let go or its stream is over', async () => {
    begin()
    const order = { siteId: A, keyId: 'one', cursor: undefined, verifier: ANONYMOUS, isProxied: false }
    const places = await Promise.all(
      Array.from({ length: limits.feed_connections_per_key_max - 1 }, () => feeds.open(order)),
    )
    const ear = await listen()
    await expect(feeds.open(order)).rejects.toMatchObject({ code: 'rate_limited' })
    ear.socket.destroy()
    await expect.poll(() => ends).toEqual(['gone'])
    const again = await feeds.open(order)
    await expect(feeds.open(order)).rejects.toMatchObject({ code: 'rate_limited' })
    for (const place of [...places, again]) place.release()
    await expect(feeds.open({ ...order, siteId: 'nowhere.example' as SiteId })).rejects.toMatchObject({
      code: 'not_found',
    })
    const all = await Promise.all(
      Array.from({ length: limits.feed_connections_per_key_max }, () => feeds.open(order)),
    )
    for (const place of all) place.release()
  })

  it('is not to be had on a node that shuts down', async () => {
    begin()
    const ear = await listen()
    await feeds.close()
    await expect.poll(() => ear.isClosed).toBe(true)
    expect(ends).toEqual(['shutdown'])
    await expect(listen()).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})
