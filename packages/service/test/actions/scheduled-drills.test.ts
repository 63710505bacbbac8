import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { startScheduledDrills } from '../../src/actions/scheduled-drills.ts'
import type { Deps } from '../../src/deps.ts'
import { type FeedNode, type FeedSite, onEachStore } from '../feed/feed-node.ts'
import { follow } from '../feed/sse-client.ts'

const HOUR = 3_600_000
const ASK_MS = 20

onEachStore('scheduled drills', (home) => {
  const drillsOf = async (node: FeedNode, { siteId, key }: FeedSite) =>
    (await node.call('GET', `/api/sites/${siteId}/drills`, { key })).json.items
  const listen = ({ port }: FeedNode, { siteId, key }: FeedSite, instance: string) =>
    follow(port, siteId, {
      key,
      headers: {
        'x-verifier-id': 'web',
        'x-verifier-instance': instance,
        'x-verifier-max-staleness': '30',
      },
    })
  /** The job of a node whose clock is `aheadMs()` ahead. */
  const start = ({ service: { deps } }: FeedNode, drillEveryMs: number | undefined, aheadMs = () => 0) =>
    startScheduledDrills(
      {
        ...deps,
        config: { ...deps.config, drillEveryMs },
        clock: { ...deps.clock, nowMs: () => deps.clock.nowMs() + aheadMs() } as Deps['clock'],
      },
      ASK_MS,
    )

  it('one node starts one at each site with a verifier, and again when it is time', async () => {
    const node = await home().open()
    const other = home().kind === 'PostgreSQL' ? await home().open() : node
    const [followed, idle] = [await node.newSite(), await node.newSite()]
    const stream = await listen(node, followed, 'inst_scheduled')
    let aheadMs = 0
    const jobs = [node, other].map((each) => start(each, HOUR, () => aheadMs))
    try {
      await expect.poll(() => drillsOf(node, followed)).toHaveLength(1)
      // Time for many more turns.
      await sleep(20 * ASK_MS)
      const [drill] = await drillsOf(node, followed)
      expect(await drillsOf(node, followed)).toHaveLength(1)
      expect(await drillsOf(node, idle)).toEqual([])
      const { key, siteId } = followed
      const { items } = (await node.call('GET', `/api/sites/${siteId}/audit?action=drill.start`, { key }))
        .json
      expect(items).toMatchObject([{ actor: { type: 'service' }, reason: 'scheduled', seq: drill.seq }])
      await node.call('POST', `/api/sites/${siteId}/feed/ack`, {
        key,
        body: { epoch: drill.epoch, seq: drill.seq },
        headers: { 'x-verifier-instance': 'inst_scheduled' },
      })
      const ends = async () =>
        (await drillsOf(node, followed)).map(({ ended_at }: { ended_at: unknown }) => ended_at)
      await expect.poll(async () => (await ends())[0]).not.toBeNull()
      aheadMs = HOUR
      await expect.poll(() => drillsOf(node, followed)).toHaveLength(2)
    } finally {
      for (const job of jobs) await job.close()
      stream.close()
    }
  })

  it('starts none when they are off, or while a node is not ready', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const stream = await listen(node, site, 'inst_off')
    const { deps } = node.service
    const views = { ...deps.views, readiness: () => ({ ready: false }) } as unknown as Deps['views']
    const jobs = [
      start(node, undefined),
      startScheduledDrills({ ...deps, views, config: { ...deps.config, drillEveryMs: HOUR } }, ASK_MS),
    ]
    await sleep(20 * ASK_MS)
    expect(await drillsOf(node, site)).toEqual([])
    for (const job of jobs) await job.close()
    stream.close()
  })
})
