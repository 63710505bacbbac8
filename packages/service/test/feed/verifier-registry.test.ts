import { setTimeout as sleep } from 'node:timers/promises'
import type { SiteId } from '@countersign/core'
import { afterEach, describe, expect, it } from 'vitest'
import type { FeedStream, StreamEnd } from '../../src/feed/feed-stream.ts'
import {
  type VerifierAck,
  VerifierRegistry,
  type VerifierRegistryOptions,
} from '../../src/feed/verifier-registry.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { DepartedReader } from '../../src/store/operations/departed-readers.ts'
import type { Site } from '../../src/store/operations/sites.ts'
import type { Store } from '../../src/store/store.ts'
import { ClockDouble, quiet } from '../log/log-double.ts'
import { forEachSharedStore } from '../stores.ts'

const QUICK: VerifierRegistryOptions = { reportMs: 5, renewMs: 50 }
let made = 0

/** What one node knows, and who is connected to it. */
class Node {
  readonly verifiers: VerifierRegistry
  readonly ends: StreamEnd[]

  private constructor(verifiers: VerifierRegistry, ends: StreamEnd[]) {
    this.verifiers = verifiers
    this.ends = ends
    opened.add(this)
  }

  static async open(store: Store, clock: ClockDouble, options: VerifierRegistryOptions = {}): Promise<Node> {
    const ends: StreamEnd[] = []
    const commits = {
      find: async () => ({ committedAtMs: clock.wallMs, position: 0, appliedAtMs: clock.wallMs }),
    }
    const site = async () => ({ maxStalenessSecondsMax: 60, stalenessBefore: undefined }) as Site
    const parts = {
      store: Object.assign(store, { site }),
      clock,
      log: quiet,
      commits,
      viewAgeMsMax: 2000,
      onEnd: (why: StreamEnd) => void ends.push(why),
    }
    return new Node(await VerifierRegistry.open(parts, { ...QUICK, ...options }), ends)
  }

  connect(
    siteId: SiteId,
    verifierId: string,
    { from = 0, keyId = 'key_1', isNamed = true } = {},
  ): FeedStream {
    const stream = { heard: () => {} } as FeedStream
    this.verifiers.opened(
      { siteId, keyId, verifierId, isNamed, promise: undefined, isObserver: false },
      `stream_${++made}`,
      from,
      stream,
    )
    return stream
  }
}
const opened = new Set<Node>()
afterEach(async () => {
  for (const { verifiers } of opened) await verifiers.close()
  opened.clear()
})

forEachSharedStore('verifiers of several nodes', (open) => {
  /** Two nodes on one store, whichever it is. */
  async function begin(options: VerifierRegistryOptions = {}) {
    const clock = new ClockDouble()
    const stores = [0, 1].map(() => Object.defineProperty(open(), 'isShared', { value: true }) as Store)
    const [one, two] = (await Promise.all(stores.map((store) => Node.open(store, clock, options)))) as [
      Node,
      Node,
    ]
    const siteId = `v${++made}-${Date.now()}.example` as SiteId
    const entry = (seq: number) => ({ epoch: open().epoch, seq, atMs: clock.wallMs })
    const ack = (seq: number, verifierId: string | undefined, keyId = 'key_1'): VerifierAck => ({
      siteId,
      keyId,
      verifierId,
      instanceId: undefined,
      ...entry(seq),
    })
    const seen = async (node: Node) =>
      Object.fromEntries(
        (await node.verifiers.readers(siteId)).streams.map(({ verifierId, seq }) => [verifierId, seq]),
      )
    return { clock, stores, one, two, siteId, entry, ack, seen }
  }

  it('are seen by each of them', async () => {
    const { one, two, siteId, seen } = await begin()
    const stream = one.connect(siteId, 'a', { from: 3 })
    two.connect(siteId, 'b')
    for (const node of [one, two]) await expect.poll(() => seen(node)).toEqual({ a: 3, b: 0 })
    one.verifiers.closed(stream, 'gone')
    await expect.poll(() => seen(one)).toEqual({ b: 0 })
    await expect.poll(() => seen(two)).toEqual({ b: 0 })
    expect(one.ends).toEqual(['gone'])
  })

  it('acknowledge wherever they like, and every node hears of it', async () => {
    const { one, two, siteId, ack, seen } = await begin()
    one.connect(siteId, 'a')
    two.connect(siteId, 'b')
    await expect.poll(() => seen(one)).toEqual({ a: 0, b: 0 })
    one.verifiers.acknowledge(ack(4, 'a'))
    one.verifiers.acknowledge(ack(5, 'b'))
    for (const node of [one, two]) await expect.poll(() => seen(node)).toEqual({ a: 4, b: 5 })
    // The node that has the connection does not know better when it hears of an older one.
    two.verifiers.acknowledge(ack(3, 'b'))
    two.verifiers.acknowledge(ack(6, 'a'))
    for (const node of [one, two]) await expect.poll(() => seen(node)).toEqual({ a: 6, b: 5 })
  })

  it('may acknowledge before their own node has told of them', async () => {
    const { one, two, siteId, ack, seen } = await begin()
    two.verifiers.acknowledge(ack(4, 'a'))
    await sleep(100)
    one.connect(siteId, 'a')
    await expect.poll(() => seen(two)).toEqual({ a: 4 })
  })

  it('that match no verifier are forgotten, and cost nothing', { tags: 'long' }, async () => {
    const { one, two, siteId, ack, seen, stores } = await begin()
    two.verifiers.acknowledge(ack(4, 'a'))
    let asked = 0
    const applyAcks = stores[1]?.applyAcks.bind(stores[1])
    Object.assign(stores[1] as Store, {
      applyAcks: (...args: Parameters<Store['applyAcks']>) => {
        asked++
        return applyAcks?.(...args)
      },
    })
    await sleep(3300)
    const isQuiet = async () => {
      const before = asked
      await sleep(200)
      return asked === before
    }
    await expect.poll(isQuiet).toBe(true)
    one.connect(siteId, 'a')
    await expect.poll(() => seen(two)).toEqual({ a: 0 })
  })

  it('make a receipt wait, wherever they are connected and wherever they acknowledge', async () => {
    const { one, two, siteId, ack, entry } = await begin()
    one.connect(siteId, 'a')
    two.connect(siteId, 'b')
    two.connect(siteId, 'c')
    await expect.poll(async () => (await one.verifiers.readers(siteId)).streams.length).toBe(3)
    const waiting = one.verifiers.receipt(siteId, entry(7), { ms: 15_000, until: 'acknowledged' })
    two.verifiers.acknowledge(ack(7, 'a'))
    two.verifiers.acknowledge(ack(7, 'b'))
    const early = await Promise.race([waiting, sleep(300)])
    expect(early).toBeUndefined()
    one.verifiers.acknowledge(ack(8, 'c'))
    expect(await waiting).toMatchObject({ connected: 3, acknowledged: 3, pending: [] })
  })

  it('of a node that has gone without a word do not count permanently, nor when it comes back before them', async () => {
    const { clock, one, two, siteId, seen, stores } = await begin({ leaseMs: 10_000 })
    const stream = two.connect(siteId, 'b')
    one.connect(siteId, 'a')
    await expect.poll(() => seen(one)).toEqual({ a: 0, b: 0 })
    const lost = stores[1] as Store
    const { reportStreams } = lost
    Object.assign(lost, { reportStreams: () => Promise.reject(new StoreUnavailable('cut off')) })
    clock.pass(9999)
    // The first goes on renewing.
    await sleep(150)
    expect(await seen(one)).toEqual({ a: 0, b: 0 })
    clock.pass(1)
    await expect.poll(() => seen(one)).toEqual({ a: 0 })
    await one.verifiers.receipt(
      siteId,
      { epoch: open().epoch, seq: 1, atMs: 0 },
      { ms: 50, until: 'acknowledged' },
    )
    await open().purgeExpired(clock.wallMs)
    two.verifiers.closed(stream, 'stale')
    two.connect(siteId, 'c')
    Object.assign(lost, { reportStreams })
    await expect.poll(() => seen(one)).toEqual({ a: 0, c: 0 })
  })

  it('of a node that was cut off and purged are all reported again', async () => {
    const { clock, one, two, siteId, seen, stores } = await begin({ leaseMs: 10_000 })
    two.connect(siteId, 'b')
    await expect.poll(() => seen(one)).toEqual({ b: 0 })
    const lost = stores[1] as Store
    const { reportStreams } = lost
    Object.assign(lost, { reportStreams: () => Promise.reject(new StoreUnavailable('cut off')) })
    await sleep(100)
    clock.pass(20_000)
    await open().purgeExpired(clock.wallMs)
    await expect.poll(() => seen(one)).toEqual({})
    Object.assign(lost, { reportStreams })
    await expect.poll(() => seen(one)).toEqual({ b: 0 })
  })

  it('of a node that shuts down are gone at once', async () => {
    const { one, two, siteId, seen } = await begin()
    two.connect(siteId, 'b')
    await expect.poll(() => seen(one)).toEqual({ b: 0 })
    await two.verifiers.close()
    await expect.poll(() => seen(one)).toEqual({})
  })

  it('without a name are credited only when there is one of them in all', async () => {
    const { one, two, siteId, ack, seen } = await begin()
    one.connect(siteId, 'conn_a', { isNamed: false })
    one.connect(siteId, 'other', { isNamed: false, keyId: 'key_2' })
    await expect.poll(() => seen(two)).toEqual({ conn_a: 0, other: 0 })
    two.verifiers.acknowledge(ack(4, undefined))
    for (const node of [one, two]) await expect.poll(() => seen(node)).toEqual({ conn_a: 4, other: 0 })
    two.connect(siteId, 'conn_b', { isNamed: false })
    await expect.poll(() => seen(one)).toEqual({ conn_a: 4, conn_b: 0, other: 0 })
    one.verifiers.acknowledge(ack(6, undefined))
    await sleep(200)
    expect(await seen(one)).toEqual({ conn_a: 4, conn_b: 0, other: 0 })
  })

  it('are many, and reported in parts', async () => {
    const { one, two, siteId, ack } = await begin()
    const names = Array.from({ length: 1200 }, (_, i) => `v${String(i).padStart(4, '0')}`)
    for (const name of names) one.connect(siteId, name)
    await expect.poll(async () => (await two.verifiers.readers(siteId)).streams.length).toBe(names.length)
    for (const name of names) two.verifiers.acknowledge(ack(2, name))
    await expect
      .poll(async () => (await one.verifiers.readers(siteId)).streams.filter(({ seq }) => seq === 2).length)
      .toBe(names.length)
  })
})

forEachSharedStore('receipts of a node that is behind', (open) => {
  it('state the bound for every guard until its view is too old, or has the entry', async () => {
    const clock = new ClockDouble()
    const store = Object.defineProperty(open(), 'isShared', { value: true }) as Store
    const siteId = `v${++made}-${Date.now()}.example` as SiteId
    const committedAtMs = clock.wallMs
    let appliedAtMs: number | undefined
    const commits = { find: async () => ({ committedAtMs, position: 0, appliedAtMs }) }
    const site = async () => ({ maxStalenessSecondsMax: 60, stalenessBefore: undefined }) as Site
    const parts = {
      store: Object.assign(store, { site, feedNodes: async () => [] }),
      clock,
      log: quiet,
      commits,
      viewAgeMsMax: 2000,
    }
    const verifiers = await VerifierRegistry.open({ ...parts, onEnd: () => undefined }, QUICK)
    const entry = { epoch: store.epoch, seq: 1, atMs: committedAtMs }
    const deniedAfter = async () =>
      ((await verifiers.receipt(siteId, entry)).deniedEverywhereAtMs ?? Number.NaN) - committedAtMs
    expect(await deniedAfter()).toBe(70_000)
    clock.pass(1999)
    expect(await deniedAfter()).toBe(70_000)
    clock.pass(1)
    expect(await deniedAfter()).toBe(2000)
    appliedAtMs = committedAtMs + 120
    expect(await deniedAfter()).toBe(120)
    await verifiers.close()
  })
})

describe('verifiers of a store that is not shared', () => {
  it('are looked up for a key 8 times at once, and each counts longer the more leases there are', async () => {
    const withLeases = async (count: number) => {
      const leases = Array.from({ length: count }, (_, i) => ({ instanceId: `i${i}`, nodeId: '', acks: [] }))
      const unwritten = {
        endLeaseStreamsOfOthers: async () => {},
        headReadersUntil: async () => 0,
        departedReaders: async () => [],
      }
      const store = {
        isShared: false,
        epoch: 'epoch000',
        ...unwritten,
        leases: async () => leases,
      } as unknown as Store
      const { verifiers } = await Node.open(store, new ClockDouble(), { queryRestMsPerLease: 1_000_000 })
      const siteId = 'a.example' as SiteId
      const ask = (keyId: string) =>
        verifiers.query(keyId, siteId, () => verifiers.readers(siteId)).then(() => 'answered')
      for (let i = 0; i < 8; i++) await ask('key_1')
      const ninth = await ask('key_1').catch(({ code }: { code: string }) => code)
      return [ninth, await ask('key_2')]
    }
    expect(await withLeases(1)).toEqual(['rate_limited', 'answered'])
    expect(await withLeases(0)).toEqual(['answered', 'answered'])
  })

  it('are dropped when they said that they close and are silent since', async () => {
    const ends: string[] = []
    const store = {
      isShared: false,
      epoch: 'epoch000',
      openLease: async () => 'open',
      applyLeaseAcks: async () => {},
      endLeaseStreams: async () => {},
      endLeaseStreamsOfOthers: async () => {},
      leases: async () => [],
    }
    const options = { silenceCheckMs: 5, silentMs: 1000, droppedMs: Infinity }
    const { verifiers } = await Node.open(store as unknown as Store, new ClockDouble(), options)
    const siteId = 'a.example' as SiteId
    const streams = ['closing', 'lying', 'silent'].map((instanceId, i) => {
      const stream = {
        // Never silent, however long this test takes to get to the next step.
        heardAtMs: Infinity,
        unheardBytes: 0,
        heard: () => {},
        close: () => void ends.push(instanceId),
      }
      const promise = { instanceId, boundMs: 30_000, failsOpen: false }
      const verifier = {
        siteId,
        keyId: 'key_1',
        verifierId: 'web',
        isNamed: true,
        promise,
        isObserver: false,
      }
      verifiers.opened(verifier, `stream_${i}`, 0, stream as unknown as FeedStream)
      return stream
    })
    const ack = (instanceId: string, isClosing: boolean) =>
      verifiers.acknowledge({
        siteId,
        keyId: 'key_1',
        verifierId: 'web',
        instanceId,
        epoch: 'epoch000',
        seq: 1,
        atMs: 1,
        isClosing,
      })
    ack('closing', true)
    // Another holder of the key said it for this one, which goes on acknowledging.
    ack('lying', true)
    ack('lying', false)
    await sleep(50)
    expect(ends).toEqual([])
    for (const stream of streams) stream.heardAtMs = -Infinity
    await expect.poll(() => new Set(ends)).toEqual(new Set(['closing']))
  })

  it('are written down only when they leave', async () => {
    const clock = new ClockDouble()
    const left: DepartedReader[] = []
    const never = () => Promise.reject(new Error('asked the store'))
    const streams = { reportStreams: never, applyAcks: never, feedStreams: never, endFeedNode: never }
    const store = {
      isShared: false,
      epoch: 'epoch000',
      ...streams,
      endLeaseStreamsOfOthers: async () => {},
      leases: async () => [],
      headReadersUntil: async () => 0,
      departedReaders: async () => [],
      recordDeparted: async (readers: readonly DepartedReader[]) => void left.push(...readers),
    }
    const node = await Node.open(store as unknown as Store, clock)
    const siteId = 'a.example' as SiteId
    const stream = node.connect(siteId, 'a')
    node.verifiers.acknowledge({
      siteId,
      keyId: 'key_1',
      verifierId: 'a',
      instanceId: undefined,
      epoch: 'epoch000',
      seq: 2,
      atMs: 1,
    })
    await expect
      .poll(async () => (await node.verifiers.readers(siteId)).streams)
      .toMatchObject([{ verifierId: 'a', seq: 2, acknowledgedAtMs: 1 }])
    await sleep(100)
    expect(node.verifiers.lag(() => 5)).toBe(3)
    expect(left).toEqual([])
    node.verifiers.closed(stream, 'gone')
    await expect.poll(async () => (await node.verifiers.readers(siteId)).streams).toEqual([])
    await expect.poll(() => left).toMatchObject([{ verifierId: 'a', keyId: 'key_1', seq: 2 }])
    // A key that connects and disconnects in a loop does not fill the store.
    for (let i = 0; i < 1000; i++) node.verifiers.closed(node.connect(siteId, `b${i}`), 'gone')
    await expect.poll(() => left.length).toBeGreaterThanOrEqual(200)
    await sleep(400)
    expect(left).toHaveLength(200)
    expect(node.verifiers.lag(() => 5)).toBe(0)
  })
})
