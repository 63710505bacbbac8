import type { SiteId } from '@countersign/core'
import { beforeEach, describe, expect, it } from 'vitest'
import type { LeaseAcks, LeaseOrder, LeaseRow } from '../../src/store/operations/leases.ts'
import { NOW, siteId as newSiteId } from './fixtures.ts'
import type { TheStore } from './the-store.ts'

const VIEW = { ageMsMax: 2000, epoch: 'epoch000', marks: [] }
let made = 0

export function leaseSuite(store: TheStore): void {
  describe('leases of verifier instances', () => {
    let siteId: SiteId
    let keyId = ''
    beforeEach(() => {
      siteId = newSiteId()
      keyId = `key_${++made}`
    })
    const order = (instanceId: string, fields: Partial<LeaseOrder> = {}): LeaseOrder => ({
      siteId,
      keyId,
      instanceId,
      verifierId: 'web',
      isNamed: true,
      boundMs: 30_000,
      failsOpen: false,
      nodeId: `node_${keyId}`,
      streamId: `node_${keyId}.${++made}`,
      epoch: 'epoch000',
      nowMs: NOW,
      liveMax: 1000,
      ...fields,
    })
    const ack = (instanceId: string, seq: number, fields: Partial<LeaseAcks> = {}): LeaseAcks => ({
      siteId,
      keyId,
      instanceId,
      epoch: 'epoch000',
      acks: [{ seq, atMs: NOW + seq }],
      times: { applied: [], denied: [] },
      heardAtMs: NOW + seq,
      closedAtMs: undefined,
      ...fields,
    })
    const all = () => store().leases(siteId, { after: undefined, limit: 1000 })
    const only = async () => (await all())[0] as LeaseRow

    it('are kept with what was declared', async () => {
      const asked = order('one', { failsOpen: true, boundMs: 5000, version: 'sdk/1.2.3' })
      expect(await store().openLease(asked)).toBe('open')
      expect(await all()).toEqual([
        {
          siteId,
          keyId,
          instanceId: 'one',
          verifierId: 'web',
          isNamed: true,
          boundMs: 5000,
          failsOpen: true,
          openedAtMs: NOW,
          declaredAtMs: NOW,
          nodeId: asked.nodeId,
          streamId: asked.streamId,
          nodeUntilMs: 0,
          connectedAtMs: NOW,
          servedAtMs: NOW,
          epoch: 'epoch000',
          seq: 0,
          acks: [],
          times: { applied: [], denied: [] },
          heardAtMs: 0,
          closedAtMs: undefined,
          version: 'sdk/1.2.3',
          lastNodeId: asked.nodeId,
          isRetired: false,
        },
      ])
      expect(await store().leases(newSiteId(), { after: undefined, limit: 10 })).toEqual([])
    })

    it('are of one instance under one key: another key has its own (A261)', async () => {
      await store().openLease(order('one'))
      await store().openLease(order('one', { keyId: `${keyId}b` }))
      await store().applyLeaseAcks([ack('one', 5)])
      expect((await all()).map(({ keyId: own, seq }) => [own, seq])).toEqual([
        [keyId, 5],
        [`${keyId}b`, 0],
      ])
      await store().applyLeaseAcks([ack('other', 5), ack('one', 9, { keyId: 'key_unknown' })])
      expect(await all()).toHaveLength(2)
    })

    it('keep the worse promise when the same instance declares another', async () => {
      await store().openLease(order('one', { boundMs: 30_000, failsOpen: true }))
      await store().openLease(order('one', { boundMs: 5000, nowMs: NOW + 10 }))
      expect(await only()).toMatchObject({
        boundMs: 30_000,
        failsOpen: true,
        openedAtMs: NOW,
        servedAtMs: NOW + 10,
      })
    })

    it('are moved by the stream of the same instance, and not ended by the one before it', async () => {
      const [first, second] = [order('one'), order('one', { nowMs: NOW + 10 })]
      await store().openLease(first)
      await store().openLease(second)
      await store().endLeaseStreams([
        { siteId, keyId, instanceId: 'one', streamId: first.streamId as string, atMs: NOW + 20 },
      ])
      expect(await only()).toMatchObject({ streamId: second.streamId, connectedAtMs: NOW + 10 })
      await store().endLeaseStreams([
        { siteId, keyId, instanceId: 'one', streamId: second.streamId as string, atMs: NOW + 30 },
      ])
      expect(await only()).toMatchObject({ nodeId: '', streamId: '', servedAtMs: NOW + 30 })
    })

    it('of a snapshot have no stream, and take none away', async () => {
      await store().openLease(order('one', { streamId: undefined }))
      expect(await only()).toMatchObject({ nodeId: '', streamId: '', servedAtMs: NOW })
      const stream = order('one')
      await store().openLease(stream)
      await store().openLease(order('one', { streamId: undefined, nowMs: NOW + 10 }))
      expect(await only()).toMatchObject({ streamId: stream.streamId, servedAtMs: NOW + 10 })
    })

    it('note acknowledgements, of which none moves back and the last few are kept', async () => {
      await store().openLease(order('one'))
      for (let seq = 1; seq <= 20; seq++) await store().applyLeaseAcks([ack('one', seq)])
      await store().applyLeaseAcks([ack('one', 7, { heardAtMs: NOW + 99 })])
      const lease = await only()
      expect([lease.seq, lease.acks.length, lease.acks[0], lease.heardAtMs]).toEqual([
        20,
        16,
        { seq: 5, atMs: NOW + 5 },
        NOW + 99,
      ])
      await store().applyLeaseAcks([ack('one', 2, { epoch: 'epoch001' })])
      expect(await only()).toMatchObject({ epoch: 'epoch001', seq: 2, acks: [{ seq: 2, atMs: NOW + 2 }] })
    })

    it('keep the last times that the instance reported, the first that it said about an entry', async () => {
      await store().openLease(order('one'))
      const time = (seq: number, ms: number) => ({ seq, atMs: NOW + ms })
      for (let seq = 1; seq <= 40; seq++)
        await store().applyLeaseAcks([
          ack('one', seq, { times: { applied: [time(seq, seq)], denied: [time(seq, seq + 1)] } }),
        ])
      const repeated = { applied: [time(40, 999)], denied: [time(40, 999), time(39, 999)] }
      await store().applyLeaseAcks([ack('one', 40, { times: repeated })])
      const { times } = await only()
      expect([times.applied.length, times.applied[0], times.applied.at(-1)]).toEqual([
        32,
        time(9, 9),
        time(40, 40),
      ])
      expect([times.denied.length, times.denied[0], times.denied.at(-1)]).toEqual([
        32,
        time(9, 10),
        time(40, 41),
      ])
      await store().applyLeaseAcks([ack('one', 2, { epoch: 'epoch001' })])
      expect((await only()).times).toEqual({ applied: [], denied: [] })
    })

    it('end when the instance closes, and keep a stream that is open', async () => {
      const stream = order('one')
      await store().openLease(stream)
      await store().applyLeaseAcks([ack('one', 3, { closedAtMs: NOW + 50 })])
      expect(await only()).toMatchObject({ closedAtMs: NOW + 50, streamId: stream.streamId, seq: 3 })
      await store().openLease(order('one', { nowMs: NOW + 60 }))
      expect(await only()).toMatchObject({ closedAtMs: undefined, declaredAtMs: NOW + 60 })
    })

    it('are not ended by a close from before they were opened again', async () => {
      await store().openLease(order('one', { streamId: undefined }))
      await store().openLease(order('one', { streamId: undefined, nowMs: NOW + 60 }))
      await store().applyLeaseAcks([ack('one', 3, { closedAtMs: NOW + 59 })])
      expect(await only()).toMatchObject({ closedAtMs: undefined, seq: 3 })
      await store().applyLeaseAcks([ack('one', 3, { closedAtMs: NOW + 60 })])
      expect(await only()).toMatchObject({ closedAtMs: NOW + 60 })
    })

    it('are not closed any more when the instance acknowledges again', async () => {
      await store().openLease(order('one'))
      await store().applyLeaseAcks([ack('one', 3, { closedAtMs: NOW + 50 })])
      await store().applyLeaseAcks([ack('one', 3, { heardAtMs: NOW + 50 })])
      expect(await only()).toMatchObject({ closedAtMs: NOW + 50 })
      await store().applyLeaseAcks([ack('one', 3, { heardAtMs: NOW + 51 })])
      expect(await only()).toMatchObject({ closedAtMs: undefined, heardAtMs: NOW + 51 })
    })

    it('are bounded for each key while they are live, and renewing one takes no place', async () => {
      const open = (instanceId: string, nowMs = NOW) =>
        store().openLease(order(instanceId, { liveMax: 2, nowMs, streamId: undefined }))
      expect(await Promise.all([open('one'), open('two')])).toEqual(['open', 'open'])
      expect(await open('three')).toBe('full')
      expect(await open('two')).toBe('open')
      expect(await open('three', NOW + 39_999)).toBe('full')
      expect(await open('three', NOW + 40_000)).toBe('open')
    })

    it('take a place again when they are opened again after their end', async () => {
      const open = (instanceId: string, nowMs: number) =>
        store().openLease(order(instanceId, { liveMax: 2, nowMs, streamId: undefined }))
      for (const instanceId of ['one', 'two']) await open(instanceId, NOW)
      const later = NOW + 40_000
      expect([await open('three', later), await open('one', later), await open('two', later)]).toEqual([
        'open',
        'open',
        'full',
      ])
      // One that is live takes none, and neither does the next one after a close.
      expect(await open('one', later)).toBe('open')
      await store().applyLeaseAcks([ack('three', 1, { closedAtMs: later })])
      expect([await open('two', later), await open('three', later)]).toEqual(['open', 'full'])
    })

    it('of instances that fail open stay live until they close, and are never purged', {
      tags: 'long',
    }, async () => {
      const open = (instanceId: string, fields: Partial<LeaseOrder>) =>
        store().openLease(order(instanceId, { streamId: undefined, liveMax: 5000, ...fields }))
      await open('open', { failsOpen: true })
      await open('shut', { failsOpen: false })
      const later = NOW + 2 * 86_400_000
      await store().purgeExpired(later)
      expect((await all()).map(({ instanceId }) => instanceId)).toEqual(['open'])
      expect(await open('one', { nowMs: later, liveMax: 1 })).toBe('full')
      for (let i = 0; i < 1001; i += 100)
        await Promise.all(
          Array.from({ length: Math.min(100, 1001 - i) }, (_, j) =>
            open(`i${i + j}`, { nowMs: later + i + j }),
          ),
        )
      await open('next', { nowMs: later + 3_600_000 })
      // The first of the others is gone, and the older one that fails open is not.
      const kept = [
        ...(await all()),
        ...(await store().leases(siteId, { after: (await all()).at(-1), limit: 1000 })),
      ]
      const names = kept.map(({ instanceId }) => instanceId)
      expect([names.includes('i0'), names.includes('open')]).toEqual([false, true])
      await store().applyLeaseAcks([ack('open', 1, { closedAtMs: later + 3_600_000 })])
      await store().purgeExpired(later + 4 * 86_400_000)
      expect(await all()).toEqual([])
    })

    it('of instances that are gone can be dismissed, with an audit row', async () => {
      const context = { actor: 'operator', atMs: NOW, requestId: undefined }
      await store().openLease(order('open', { failsOpen: true, streamId: undefined }))
      await store().openLease(
        order('open', { failsOpen: true, streamId: undefined, keyId: `${keyId}b`, verifierId: 'api' }),
      )
      await store().openLease(order('shut', { streamId: undefined }))
      const read = [keyId, `${keyId}b`].map((each) => ({ keyId: each, declaredAtMs: NOW }))
      const dismiss = (instanceId: string, at = siteId, leases = read) =>
        store().dismissLease(at, instanceId, leases, NOW + 70, context)
      // The last one was declared again after it was read.
      const older = read.map((each) => ({ ...each, declaredAtMs: NOW - 1 }))
      expect([
        await dismiss('shut', siteId, []),
        await dismiss('other'),
        await dismiss('open', newSiteId()),
        await dismiss('open', siteId, older),
      ]).toEqual([false, false, false, false])
      expect([await dismiss('open'), await dismiss('open')]).toEqual([true, false])
      expect((await all()).map(({ instanceId, closedAtMs }) => [instanceId, closedAtMs])).toEqual([
        ['open', NOW + 70],
        ['shut', undefined],
        ['open', NOW + 70],
      ])
      expect(await store().auditRows(siteId, { after: undefined, limit: 10 })).toMatchObject([
        {
          action: 'verifier.dismiss',
          target: 'open',
          detail: { outcome: 'done', verifiers: ['api', 'web'] },
        },
      ])
    })

    it('stay in the roster for 30 days, by name, with how they ended', async () => {
      const context = { actor: 'operator', atMs: NOW, requestId: undefined }
      for (const [instanceId, verifierId] of [
        ['a', 'web'],
        ['b', 'web'],
        ['c', 'api'],
      ] as const)
        await store().openLease(order(instanceId, { verifierId, version: 'sdk/1.2.3' }))
      await store().applyLeaseAcks([ack('a', 7), ack('b', 3, { closedAtMs: NOW + 5 })])
      await store().endFeedNode(`node_${keyId}`, NOW)
      const DAY = 86_400_000
      const end = NOW + 30_000 + DAY
      await store().purgeExpired(end)
      expect(await all()).toEqual([])
      const list = async (state: 'gone' | 'retired', after?: LeaseRow, limit = 10) =>
        store().formerVerifiers(siteId, state, { after, limit })
      const ids = (found: readonly LeaseRow[]) => found.map(({ instanceId }) => instanceId)
      expect(ids(await list('gone'))).toEqual(['c', 'a'])
      const [first] = await list('gone', undefined, 1)
      expect(ids(await list('gone', first))).toEqual(['a'])
      expect(await list('retired')).toMatchObject([
        {
          instanceId: 'b',
          seq: 3,
          closedAtMs: NOW + 5,
          isRetired: false,
          nodeId: '',
          lastNodeId: `node_${keyId}`,
        },
      ])
      expect(await store().formerVerifiersById(siteId, 'a')).toMatchObject([
        { instanceId: 'a', seq: 7, heardAtMs: NOW + 7, version: 'sdk/1.2.3', isNamed: true },
      ])
      expect(await store().formerVerifiersById(newSiteId(), 'a')).toEqual([])
      expect(await store().dismissLease(siteId, 'a', [], end, context)).toBe(true)
      expect(ids(await list('retired'))).toEqual(['a', 'b'])
      // One that comes back is not gone any more.
      await store().openLease(order('c', { verifierId: 'api', nowMs: end, streamId: undefined }))
      expect(ids(await list('gone'))).toEqual([])
      await store().purgeExpired(NOW + 30 * DAY - 1)
      expect(ids(await list('retired'))).toEqual(['a', 'b'])
      await store().purgeExpired(NOW + 30 * DAY)
      expect(ids(await list('retired'))).toEqual([])
    })

    it('that ended are forgotten above a number, and then count like readers without a lease', {
      tags: 'long',
    }, async () => {
      const later = NOW + 3_600_000
      for (let i = 0; i < 1001; i += 100)
        await Promise.all(
          Array.from({ length: Math.min(100, 1001 - i) }, (_, j) =>
            store().openLease(order(`i${i + j}`, { nowMs: NOW + i + j, streamId: undefined, liveMax: 5000 })),
          ),
        )
      expect(await store().headReadersUntil(siteId)).toBe(0)
      await store().openLease(order('next', { nowMs: later, streamId: undefined }))
      const left = [
        ...(await all()),
        ...(await store().leases(siteId, { after: (await all()).at(-1), limit: 1000 })),
      ]
      expect(left.some(({ instanceId }) => instanceId === 'i0')).toBe(false)
      expect(left).toHaveLength(1001)
      expect(await store().headReadersUntil(siteId)).toBe(NOW + 40_000)
    })

    it('know until when their node counts as there, and are ended with it', async () => {
      const asked = order('one')
      await store().reportStreams({
        nodeId: asked.nodeId,
        nowMs: NOW,
        expiresAtMs: NOW + 10_000,
        view: VIEW,
        streams: [],
        ended: [],
      })
      await store().openLease(asked)
      expect(await only()).toMatchObject({ nodeUntilMs: NOW + 10_000 })
      await store().endFeedNode(asked.nodeId, NOW + 5000)
      expect(await only()).toMatchObject({ nodeId: '', nodeUntilMs: 0, servedAtMs: NOW + 5000 })
    })

    it('of a node that vanished are purged a day after it may have served them', async () => {
      const asked = order('one')
      await store().reportStreams({
        nodeId: asked.nodeId,
        nowMs: NOW,
        expiresAtMs: NOW + 10_000,
        view: VIEW,
        streams: [],
        ended: [],
      })
      await store().openLease(asked)
      await store().purgeExpired(NOW + 10_000 + 3_600_000)
      expect(await only()).toMatchObject({ nodeId: '', servedAtMs: NOW + 10_000 })
      await store().purgeExpired(NOW + 39_999 + 86_400_000)
      expect(await all()).toHaveLength(1)
      await store().purgeExpired(NOW + 40_000 + 86_400_000)
      expect(await all()).toEqual([])
    })
  })

  describe('nodes', () => {
    it('say how far they have applied the log', async () => {
      const nodeId = `node_marks${++made}`
      const view = { ageMsMax: 2000, epoch: 'epoch000', marks: [{ position: 7, atMs: NOW }] }
      await store().reportStreams({
        nodeId,
        nowMs: NOW,
        expiresAtMs: NOW + 10_000,
        view,
        streams: [],
        ended: [],
      })
      const found = (await store().feedNodes()).find((node) => node.nodeId === nodeId)
      expect(found).toEqual({ nodeId, expiresAtMs: NOW + 10_000, view })
    })
  })

  describe('times of the log', () => {
    it('say by when an entry had been committed', async () => {
      const siteId = newSiteId()
      const site = {
        name: undefined,
        returnUrls: [],
        bearer: 'on',
        holderProof: 'optional',
        delegation: 'on',
        credentialTtlSecondsMax: undefined,
      } as const
      const context = { actor: 'operator', atMs: NOW, requestId: undefined }
      const placed = await store().createSite(
        { siteId, ...site, hosts: undefined, pairwiseSecretSealed: 'sealed' },
        context,
      )
      if (placed === 'exists') throw new Error('a random name was taken')
      await store().recordLogTime(store().epoch, placed.position - 1, NOW + 1)
      expect(await store().committedBy(siteId, 1)).toBeUndefined()
      await store().recordLogTime(store().epoch, placed.position + 5, NOW + 20)
      await store().recordLogTime(store().epoch, placed.position, NOW + 10)
      await store().recordLogTime(store().epoch, placed.position, NOW + 15)
      expect(await store().committedBy(siteId, 1)).toEqual({ position: placed.position, atMs: NOW + 10 })
      expect(await store().committedBy(siteId, 2)).toBeUndefined()
    })

    it('of a site change say how old heads of before may become', async () => {
      const siteId = newSiteId()
      const site = {
        name: undefined,
        returnUrls: [],
        bearer: 'on',
        holderProof: 'optional',
        delegation: 'on',
        credentialTtlSecondsMax: undefined,
      } as const
      const context = { actor: 'operator', atMs: NOW, requestId: undefined }
      await store().createSite(
        { siteId, ...site, hosts: undefined, pairwiseSecretSealed: 'sealed', maxStalenessSecondsMax: 300 },
        context,
      )
      const age = async (seconds: number) => {
        await store().changeSite(siteId, { maxStalenessSecondsMax: seconds }, context)
        const found = await store().site(siteId)
        return [found?.maxStalenessSecondsMax, found?.stalenessBefore]
      }
      // Every change is an entry, so that nodes know from which head on it is in force.
      expect(await age(60)).toEqual([60, { seconds: 300, seq: 2 }])
      expect(await age(60)).toEqual([60, { seconds: 300, seq: 2 }])
      expect(await age(120)).toEqual([120, { seconds: 300, seq: 3 }])
      expect(await age(10)).toEqual([10, { seconds: 300, seq: 4 }])
      expect(await age(600)).toEqual([600, undefined])
    })
  })
}
