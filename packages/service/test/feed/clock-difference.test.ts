import { formatTime } from '@countersign/core'
import { expect, it } from 'vitest'
import { onEachStore } from './feed-node.ts'

onEachStore('B8: the clock of a verifier', (home) => {
  it('that disagrees is a log line and a metric, and does not end readiness', { tags: 'long' }, async () => {
    const node = await home().open()
    const { siteId, key } = await node.newSite()
    const { store, views } = node.service.deps
    const seq = views.view(siteId)?.head.seq
    const acknowledge = (sentMs: number) =>
      node.call('POST', `/api/sites/${siteId}/feed/ack`, {
        key,
        headers: { 'x-verifier-id': 'web', 'x-verifier-instance': 'one' },
        body: { epoch: store.epoch, seq, sent_at: formatTime(sentMs) },
      })
    const difference = async () =>
      Number(
        /^countersign_verifier_clock_difference_seconds (\S+)/m.exec(
          await node.service.deps.meters.text(),
        )?.[1],
      )
    expect((await acknowledge(Date.now())).status).toBe(204)
    expect(Math.abs(await difference())).toBeLessThan(20)
    expect(node.logged.join('')).not.toContain('clocks')

    await new Promise((resolve) => setTimeout(resolve, 1100))
    expect((await acknowledge(Date.now() - 3_600_000)).status).toBe(204)
    expect(await difference()).toBeGreaterThan(3000)
    expect(node.logged.join('')).toContain(
      'the clock of this node is ahead, or the clocks of the verifiers are behind',
    )
    expect((await node.call('GET', '/readyz')).status).toBe(200)
  })
})
