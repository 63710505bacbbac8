import { expect, it } from 'vitest'
import { openNodeReports } from '../../src/feed/node-reports.ts'
import { SERVICE_VERSION } from '../../src/version.ts'
import { type FeedNode, onEachStore, openFeedNode } from './feed-node.ts'
import { follow } from './sse-client.ts'

const HOUR = 3_600_000

onEachStore('Nodes', (home) => {
  const list = async (node: FeedNode) => {
    const { key } = await node.newKey(null)
    const { status, json } = await node.call('GET', '/api/service/nodes?limit=200', { key })
    expect(status).toBe(200)
    return json.items as Record<string, unknown>[]
  }
  const idOf = (node: FeedNode) => node.service.deps.verifiers.nodeId
  const find = async (node: FeedNode, of: FeedNode) =>
    (await list(node)).find(({ node_id }) => node_id === idOf(of))

  it('report their version, position, view and clock as soon as they run', async () => {
    const node = await home().open()
    const found = await find(node, node)
    expect(found).toEqual({
      node_id: idOf(node),
      version: SERVICE_VERSION,
      state: 'ready',
      started_at: expect.any(String),
      reported_at: expect.any(String),
      epoch: node.service.deps.store.epoch,
      position: expect.any(Number),
      view_age_ms: expect.any(Number),
      streams: 0,
      clock_difference_ms: expect.any(Number),
    })
    // The store of the tests runs on the same machine.
    expect(Math.abs(found?.clock_difference_ms as number)).toBeLessThan(1000)
    expect(Math.abs(Date.parse(found?.reported_at as string) - Date.now())).toBeLessThan(60_000)
    expect(found?.view_age_ms as number).toBeLessThan(60_000)
  })

  it('are removed when they are stopped; on SQLite there is one at a time', async () => {
    const node = await home().open()
    const { store, masterKey } = node.service.deps.config
    const before = idOf(node)
    if (home().kind === 'PostgreSQL') {
      const other = await home().open()
      expect((await list(node)).map(({ node_id }) => node_id)).toEqual(
        expect.arrayContaining([before, idOf(other)]),
      )
      await other.service.close()
      expect(await find(node, other)).toBeUndefined()
    }
    // As if it had been killed: its row stays.
    const { deps } = node.service
    const [left] = (await deps.store.nodes({ after: undefined, limit: 200 })).filter(
      ({ nodeId }) => nodeId === before,
    )
    await node.service.close()
    const next = await openFeedNode({ store, masterKey })
    try {
      if (left !== undefined)
        await next.service.deps.store.reportNode({ ...left, nodeId: 'node_killed' }, false)
      const ids = (await list(next)).map(({ node_id }) => node_id)
      expect(ids).not.toContain(before)
      expect(ids).toContain('node_killed')
    } finally {
      await next.close()
    }
  })

  it('that report nothing are silent, then gone; those that cannot serve are not ready', async () => {
    const node = await home().open()
    const { store, clock } = node.service.deps
    const [own] = await store.nodes({ after: undefined, limit: 1 })
    if (own === undefined) throw new Error('a node has reported nothing')
    const nowMs = Math.round(clock.nowMs())
    const report = (nodeId: string, changes: object) =>
      store.reportNode({ ...own, reportedAtMs: nowMs, ...changes, nodeId }, false)
    await report('node_stale', { isReady: false, viewAgeMs: undefined })
    await report('node_silent', { reportedAtMs: nowMs - 40_000 })
    await report('node_gone', { reportedAtMs: nowMs - HOUR })
    await store.purgeExpired(nowMs)
    const states = new Map((await list(node)).map(({ node_id, state }) => [node_id, state]))
    expect(states.get('node_stale')).toBe('not_ready')
    expect(states.get('node_silent')).toBe('silent')
    expect(states.has('node_gone')).toBe(false)
    await Promise.all(['node_stale', 'node_silent'].map((nodeId) => store.endNode(nodeId)))
  })

  it('count their streams, and a node without a view is not ready', async () => {
    const node = await home().open()
    const { store, views, clock, log } = node.service.deps
    const site = await node.newSite()
    const stream = await follow(node.port, site.siteId, { key: site.key })
    await expect.poll(() => node.service.deps.feeds.size).toBe(1)
    const reports = await openNodeReports({
      nodeId: 'node_double',
      store,
      views: {
        age: views.age.bind(views),
        position: views.position,
        readiness: () => ({ ready: false, why: 'test' }),
      },
      clock,
      countStreams: () => node.service.deps.feeds.size,
      log,
    })
    const found = (await list(node)).find(({ node_id }) => node_id === 'node_double')
    expect(found).toMatchObject({ streams: 1, state: 'not_ready' })
    await reports.close()
    expect((await list(node)).some(({ node_id }) => node_id === 'node_double')).toBe(false)
    stream.close()
  })

  it('report the clock of a node that is wrong', async () => {
    const node = await home().open()
    const { store, views, log } = node.service.deps
    const reports = await openNodeReports({
      nodeId: 'node_ahead',
      store,
      views,
      clock: { clocks: () => ({ wallMs: Date.now() + 90_000, monotonicMs: performance.now() }) },
      countStreams: () => 0,
      log,
    })
    const found = (await list(node)).find(({ node_id }) => node_id === 'node_ahead')
    if (home().kind === 'PostgreSQL') {
      expect(Math.abs((found?.clock_difference_ms as number) - 90_000)).toBeLessThan(5000)
      // Reports have the time of the store, so a wrong clock does not make a node look silent.
      expect(found?.state).toBe('ready')
    } else expect(found?.clock_difference_ms).toBe(0)
    await reports.close()
  })

  it('write when a key was last used, at the latest when they stop', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const used = await node.newKey(site.siteId, ['site:read'])
    expect((await node.call('GET', `/api/sites/${site.siteId}/keys`, { key: used.key })).status).toBe(200)
    const { store, masterKey } = node.service.deps.config
    await node.service.close()
    const next = await openFeedNode({ store, masterKey })
    try {
      const { json } = await next.call('GET', `/api/sites/${site.siteId}/keys`, { key: site.key })
      const found = json.items.find(({ key_id }: { key_id: string }) => key_id === used.keyId)
      const usedAtMs = Date.parse(found.last_used_at)
      expect(usedAtMs % HOUR).toBe(0)
      expect(Date.now() - usedAtMs).toBeLessThan(HOUR + 60_000)
      expect(found.created_by).toEqual({ type: 'operator', id: null })
    } finally {
      await next.close()
    }
  })
})
