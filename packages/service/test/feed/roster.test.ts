import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { type FeedNode, type FeedSite, newPpid, onEachStore, type Told } from './feed-node.ts'
import { follow } from './sse-client.ts'

const path = (siteId: string, rest: string) => `/api/sites/${siteId}/${rest}`
const promise = (instance: string, more: Readonly<Record<string, string>> = {}) => ({
  'x-verifier-id': 'web',
  'x-verifier-instance': instance,
  'x-verifier-max-staleness': '1',
  'x-verifier-version': 'sdk/1.2.3',
  ...more,
})
const listen = (node: FeedNode, { siteId, key }: FeedSite, headers: Readonly<Record<string, string>>) =>
  follow(node.port, siteId, { key, headers })
const list = async (node: FeedNode, { siteId, key }: FeedSite, query = '') =>
  (await node.call('GET', path(siteId, `verifiers?${query}`), { key })).json.items
const states = async (...of: Parameters<typeof list>) =>
  (await list(...of)).map(({ verifier_id, instance_id, state }: Record<string, string>) => [
    verifier_id,
    instance_id,
    state,
  ])
const ack = (node: FeedNode, { siteId, key }: FeedSite, instance: string, body: object) =>
  node.call('POST', path(siteId, 'feed/ack'), { key, body, headers: { 'x-verifier-instance': instance } })
const revoke = async (node: FeedNode, { siteId, key }: FeedSite) =>
  (await node.call('POST', '/api/wallet/revoke-user', { key, body: { ppid: newPpid(), site_id: siteId } }))
    .json

afterEach(() => {
  vi.restoreAllMocks()
})

onEachStore('the roster', (home) => {
  it('says of each instance what it declared, where it is and how far it is', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await listen(node, site, promise('one'))
    const { epoch, seq } = await revoke(node, site)
    await ack(node, site, 'one', { epoch, seq: seq - 1 })
    await expect.poll(async () => (await list(node, site))[0]?.seq).toBe(seq - 1)
    const one = (await node.call('GET', path(site.siteId, 'verifiers/one'), site)).json
    expect(one).toMatchObject({
      verifier_id: 'web',
      instance_id: 'one',
      key_id: site.keyId,
      state: 'connected',
      expected: true,
      node_id: expect.stringMatching(/^node_/),
      version: 'sdk/1.2.3',
      max_staleness_seconds: 1,
      fails_open: false,
      seq: seq - 1,
      lag: 1,
      rejects_everything_since: null,
      retired_at: null,
      retired_by: null,
    })
    const found = await node.call('GET', path(site.siteId, 'verifiers/two'), site)
    expect(found.json.code).toBe('not_found')
    stream.close()
  })

  it('a named guard that vanished stays expected, with the time since which it rejects everything; others leave', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const named = await listen(node, site, promise('one'))
    const { 'x-verifier-id': _, ...nameless } = promise('two')
    const unnamed = await listen(node, site, nameless)
    await expect.poll(async () => (await states(node, site)).length).toBe(2)
    for (const stream of [named, unnamed]) stream.close()
    // The unnamed one is listed until its lease has ended.
    const gone = [
      ['two', 'two', 'gone'],
      ['web', 'one', 'gone'],
    ]
    await expect.poll(() => states(node, site)).toEqual(gone)
    const passedMs = 12_000
    node.passTime(passedMs)
    await expect.poll(() => states(node, site)).toEqual([['web', 'one', 'gone']])
    const [one] = await list(node, site)
    expect(one).toMatchObject({ expected: true, state: 'gone', node_id: expect.any(String) })
    const since = Date.parse(one.rejects_everything_since)
    expect(since).toBeGreaterThan(Date.parse(one.connected_at) + 10_000)
    expect(since).toBeLessThanOrEqual(Date.now() + passedMs)
    expect(await states(node, site, 'state=gone')).toEqual(gone)
    expect(await list(node, site, 'state=connected')).toEqual([])
    const { seq } = await revoke(node, site)
    const receipt = () => node.call('GET', path(site.siteId, `propagation?seq=${seq}`), site)
    expect((await receipt()).json).toMatchObject({ connected: 0, expected: 1 })

    const retire = (instance: string, key = site.key) =>
      node.call('DELETE', path(site.siteId, `verifiers/${instance}`), { key })
    const reader = await node.newKey(site.siteId, ['site:read'])
    expect((await retire('one', reader.key)).status).toBe(403)
    expect((await retire('one')).status).toBe(204)
    await expect.poll(async () => (await receipt()).json.expected).toBe(0)
    expect(await list(node, site)).toEqual([])
    expect(await list(node, site, 'state=retired')).toMatchObject([
      {
        instance_id: 'one',
        state: 'retired',
        retired_by: 'operator',
        retired_at: expect.any(String),
        rejects_everything_since: one.rejects_everything_since,
      },
    ])
    expect((await retire('one')).json.code).toBe('not_found')
  })

  it('retires nothing that may still accept: a receipt would say too early that all deny (I-22)', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await listen(node, site, promise('one', { 'x-verifier-max-staleness': '30' }))
    const retire = () => node.call('DELETE', path(site.siteId, 'verifiers/one'), site)
    expect((await retire()).json.code).toBe('verifier_active')
    stream.close()
    await expect.poll(async () => (await states(node, site))[0]?.[2]).toBe('gone')
    const active = await retire()
    expect([active.status, active.json.code]).toEqual([409, 'verifier_active'])
    expect(active.json.detail).toMatch(/until 20\d\d-/)
    const [one] = await list(node, site)
    expect(Date.parse(one.rejects_everything_since)).toBeGreaterThan(Date.now())
  })

  it('knows that a stream has ended also when that is written while leases are being read', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { store } = node.service.deps
    const [readLeases, endLeaseStreams] = [store.leases.bind(store), store.endLeaseStreams.bind(store)]
    const [write, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const written = Promise.withResolvers<void>()
    const stream = await listen(node, site, promise('one', { 'x-verifier-max-staleness': '30' }))
    vi.spyOn(store, 'endLeaseStreams').mockImplementation(async (...ends) => {
      await write.promise
      await endLeaseStreams(...ends)
      written.resolve()
    })
    stream.close()
    await expect.poll(() => states(node, site)).toEqual([['web', 'one', 'gone']])
    const hasRead = Promise.withResolvers<void>()
    vi.spyOn(store, 'leases').mockImplementation(async (...of) => {
      const page = await readLeases(...of)
      hasRead.resolve()
      await read.promise
      return page
    })
    const retiring = node.call('DELETE', path(site.siteId, 'verifiers/one'), site)
    await hasRead.promise
    write.resolve()
    await written.promise
    await nextTurn()
    read.resolve()
    expect((await retiring).json.detail).toMatch(/until 20\d\d-/)
  })

  it('a guard that closes leaves at once, and is retired', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await listen(node, site, promise('one', { 'x-verifier-fail-open': '1' }))
    const { epoch, seq } = await revoke(node, site)
    await ack(node, site, 'one', { epoch, seq, closed: true })
    stream.close()
    await expect.poll(() => list(node, site)).toEqual([])
    const [one] = await list(node, site, 'state=retired')
    expect(one).toMatchObject({ instance_id: 'one', retired_by: 'verifier', expected: false })
    expect(one.rejects_everything_since).not.toBeNull()
    // It comes back.
    const back = await listen(node, site, promise('one'))
    await expect.poll(() => states(node, site)).toEqual([['web', 'one', 'connected']])
    expect(await list(node, site, 'state=retired')).toEqual([])
    back.close()
  })

  it('pages over those of the last day and those before', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { store } = node.service.deps
    const open = (instanceId: string, nowMs: number) =>
      store.openLease({
        siteId: site.siteId,
        keyId: site.keyId,
        instanceId,
        verifierId: 'web',
        isNamed: true,
        boundMs: 1000,
        failsOpen: false,
        nodeId: 'node_x',
        streamId: undefined,
        epoch: store.epoch,
        nowMs,
        liveMax: 1000,
      })
    const DAY = 86_400_000
    for (let i = 0; i < 6; i++) await open(`i${i}`, Date.now() - (i % 2 === 0 ? 2 : 0.5) * DAY)
    await store.purgeExpired(Date.now())
    expect(await store.leases(site.siteId, { after: undefined, limit: 10 })).toHaveLength(3)
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = `state=gone&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`
      const page: Told['json'] = (await node.call('GET', path(site.siteId, `verifiers?${query}`), site)).json
      seen.push(...page.items.map(({ instance_id }: { instance_id: string }) => instance_id))
      cursor = page.next_cursor
    }
    expect(seen).toEqual(['i0', 'i1', 'i2', 'i3', 'i4', 'i5'])
    expect((await states(node, site)).map(([, id]: string[]) => id)).toEqual(['i1', 'i3', 'i5'])
    const old = (await node.call('GET', path(site.siteId, 'verifiers/i0'), site)).json
    expect(old).toMatchObject({ state: 'gone', expected: false })
    const retired = await node.call('DELETE', path(site.siteId, 'verifiers/i0'), site)
    expect(retired.status).toBe(204)
    expect((await states(node, site, 'state=retired')).map(([, id]: string[]) => id)).toEqual(['i0'])
    const wrong = await node.call('GET', path(site.siteId, 'verifiers?state=lost'), site)
    expect(wrong.status).toBe(422)
  })

  it('rejects a version that is no short plain text (A214)', async () => {
    const node = await home().node()
    const site = await node.newSite()
    for (const version of ['<script>', 'x'.repeat(65), 'a b', ''])
      expect(
        (
          await node.call('GET', path(site.siteId, 'snapshot'), {
            key: site.key,
            headers: promise('one', { 'x-verifier-version': version }),
          })
        ).status,
      ).toBe(422)
  })
})
