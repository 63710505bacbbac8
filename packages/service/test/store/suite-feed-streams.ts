import type { SiteId } from '@countersign/core'
import { beforeEach, describe, expect, it } from 'vitest'
import type { FeedStreamRow, RemoteAck } from '../../src/store/operations/feed-streams.ts'
import { NOW, siteId as newSiteId } from './fixtures.ts'
import type { TheStore } from './the-store.ts'

const LEASE_MS = 10_000
const VIEW = { ageMsMax: 2000, epoch: 'epoch000', marks: [{ position: 7, atMs: NOW }] }
let made = 0

export function feedStreamSuite(store: TheStore): void {
  describe('streams that follow feeds', () => {
    let siteId: SiteId
    let [here, there] = ['', '']
    beforeEach(() => {
      siteId = newSiteId()
      here = `node_a${++made}`
      there = `node_b${made}`
    })
    const stream = (nodeId: string, fields: Partial<FeedStreamRow> = {}): FeedStreamRow => ({
      streamId: `${nodeId}.${++made}`,
      nodeId,
      siteId,
      keyId: 'key_1',
      verifierId: 'verifier-1',
      isNamed: true,
      connectedAtMs: NOW,
      epoch: 'epoch000',
      seq: 3,
      acks: [],
      ...fields,
    })
    const report = (
      nodeId: string,
      streams: readonly FeedStreamRow[],
      ended: readonly string[] = [],
      nowMs = NOW,
    ) => store().reportStreams({ nodeId, nowMs, expiresAtMs: nowMs + LEASE_MS, view: VIEW, streams, ended })
    const listed = (nowMs = NOW, site = siteId) =>
      store().feedStreams(site, nowMs, { after: undefined, limit: 1000 })
    const ack = (fields: Partial<RemoteAck> = {}): RemoteAck => ({
      siteId,
      keyId: 'key_1',
      verifierId: 'verifier-1',
      epoch: 'epoch000',
      seq: 5,
      atMs: NOW + 1,
      ...fields,
    })

    it('A333: are listed after they ended, also when another key has ended thousands', async () => {
      const depart = (fields: Partial<FeedStreamRow>, endedAtMs: number) => ({
        ...stream(here, fields),
        endedAtMs,
      })
      const quiet = depart({ keyId: 'key_quiet', verifierId: 'relay' }, NOW)
      const loud = Array.from({ length: 1100 }, (_, i) => depart({ keyId: 'key_loud' }, NOW + 1 + i))
      await store().recordDeparted([quiet, ...loud])
      const found = await store().departedReaders(siteId, NOW)
      // Of the loud key, the last ones.
      const kept = [...loud.slice(-500).reverse(), quiet]
      expect(found.map(({ streamId }) => streamId)).toEqual(kept.map(({ streamId }) => streamId))
      expect(await store().departedReaders(newSiteId(), NOW)).toEqual([])
    })

    it('are told of all nodes, as they were reported', async () => {
      const [one, two] = [
        stream(here),
        stream(there, { verifierId: 'verifier-2', isNamed: false, acks: [{ seq: 3, atMs: NOW }] }),
      ]
      await report(here, [one])
      await report(there, [two])
      expect(await listed()).toEqual([one, two])
      expect(await listed(NOW, newSiteId())).toEqual([])
    })

    it('come in pages', async () => {
      const streams = Array.from({ length: 5 }, () => stream(here))
      await report(here, streams)
      const ids: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await store().feedStreams(siteId, NOW, { after, limit: 2 })
        ids.push(...page.map(({ streamId }) => streamId))
        after = page.at(-1)?.streamId
        if (page.length < 2) break
      }
      expect(ids).toEqual(streams.map(({ streamId }) => streamId).sort())
    })

    it('are gone when they are over, and when their node has not been heard of for its lease', async () => {
      const [one, two, three] = [stream(here), stream(here), stream(there)]
      expect(await report(here, [one, two])).toBe('begun')
      await report(there, [three], [], NOW + 5000)
      expect(await report(here, [], [one.streamId])).toBe('kept')
      expect(await listed()).toEqual([two, three])
      expect(await listed(NOW + LEASE_MS)).toEqual([three])
      await store().endFeedNode(there, NOW)
      expect(await listed()).toEqual([two])
    })

    it('are purged with a node that vanished, which learns so when it comes back', async () => {
      const one = stream(here)
      await report(here, [one])
      await store().purgeExpired(NOW + LEASE_MS - 1)
      expect(await report(here, [])).toBe('kept')
      await store().purgeExpired(NOW + LEASE_MS)
      expect(await report(here, [], [], NOW + LEASE_MS)).toBe('begun')
      expect(await listed()).toEqual([])
      expect(await report(here, [one], [], NOW + 3 * LEASE_MS)).toBe('begun')
      expect(await listed()).toEqual([one])
    })

    it('never move back', async () => {
      const one = stream(here)
      await report(here, [one])
      await report(here, [{ ...one, seq: 7, acks: [{ seq: 7, atMs: NOW }] }])
      await report(here, [{ ...one, seq: 6, acks: [] }])
      await store().applyAcks([ack({ seq: 6 })], NOW)
      expect(await listed()).toEqual([{ ...one, seq: 7, acks: [{ seq: 7, atMs: NOW }] }])
    })

    it('are credited with what was acknowledged on another node, under their name, key and site only', async () => {
      const [one, other] = [stream(here), stream(there, { verifierId: 'verifier-2' })]
      await report(here, [one])
      await report(there, [other])
      const foreign = [
        ack({ siteId: newSiteId() }),
        ack({ keyId: 'key_2' }),
        ack({ verifierId: 'verifier-3' }),
      ]
      expect(await store().applyAcks([...foreign, ack()], NOW)).toEqual(foreign)
      expect(await listed()).toEqual([{ ...one, seq: 5, acks: [{ seq: 5, atMs: NOW + 1 }] }, other])
      // In another epoch the number means another entry.
      expect(await store().applyAcks([ack({ seq: 9, epoch: 'epoch001' })], NOW)).toEqual([])
      expect((await listed())[0]?.seq).toBe(5)
    })

    it('keep the last sixteen acknowledgements', async () => {
      await report(here, [stream(here)])
      for (let seq = 4; seq < 24; seq++) await store().applyAcks([ack({ seq, atMs: NOW + seq })], NOW)
      const [found] = await listed()
      expect(found?.acks.map(({ seq }) => seq)).toEqual(Array.from({ length: 16 }, (_, i) => i + 8))
      expect(found?.acks[0]).toEqual({ seq: 8, atMs: NOW + 8 })
    })

    it('without a name are credited when there is one only', async () => {
      const unnamed = ack({ verifierId: undefined })
      expect(await store().applyAcks([unnamed], NOW)).toEqual([unnamed])
      const [one, two] = [
        stream(here, { verifierId: 'conn_1', isNamed: false }),
        stream(there, { verifierId: 'conn_2', isNamed: false }),
      ]
      await report(here, [one, stream(here)])
      expect(await store().applyAcks([unnamed], NOW)).toEqual([])
      expect((await listed()).map(({ seq }) => seq)).toEqual([5, 3])
      await report(there, [two])
      expect(await store().applyAcks([ack({ verifierId: undefined, seq: 8 })], NOW)).toHaveLength(1)
      expect(Math.max(...(await listed()).map(({ seq }) => seq))).toBe(5)
      expect(await store().applyAcks([ack({ verifierId: 'conn_2', seq: 8 })], NOW)).toEqual([])
      expect((await listed()).find(({ verifierId }) => verifierId === 'conn_2')?.seq).toBe(8)
    })

    it('of nodes that are gone are credited with nothing', async () => {
      await report(here, [stream(here)])
      expect(await store().applyAcks([ack()], NOW + LEASE_MS)).toHaveLength(1)
    })

    it('are reported and credited by many at once, in whatever order', async () => {
      const all = Array.from({ length: 150 }, (_, i) =>
        stream(i % 2 === 0 ? here : there, { verifierId: `v-${i}` }),
      )
      const own = (nodeId: string) => all.filter((each) => each.nodeId === nodeId)
      await report(here, own(here))
      await report(there, own(there))
      for (let seq = 4; seq < 8; seq++) {
        const acks = all.map(({ verifierId }) => ack({ verifierId, seq }))
        await Promise.all([
          report(
            here,
            own(here).map((each) => ({ ...each, seq })),
          ),
          store().applyAcks(acks, NOW),
          store().applyAcks([...acks].reverse(), NOW),
          report(
            there,
            own(there).map((each) => ({ ...each, seq })),
          ),
        ])
      }
      expect((await listed()).map(({ seq }) => seq)).toEqual(all.map(() => 7))
    })
  })
}
