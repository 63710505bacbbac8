import { beforeEach, describe, expect, it } from 'vitest'
import type { EndedAttempt } from '../../../../src/store/operations/deliveries.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf } from '../../../node.ts'
import { NOW, newPpid } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const DAY = 86_400_000
const at = (ms: number) => new Date(ms).toISOString()

forEachSharedStore('changes of webhooks', (open) => {
  let A = newSiteId()
  let B = newSiteId()
  beforeEach(() => {
    A = newSiteId()
    B = newSiteId()
  })

  const begin = async () => {
    const node = await openAdminNode(open(), A)
    Object.assign(node.deps.config, { mode: 'production' })
    for (const site_id of [A, B]) await node.admin('create_site', { body: { site_id } })
    const url = 'https://hooks.example/in?token=canary'
    const { body } = await node.admin('create_webhook', { params: { site_id: A }, body: { url } })
    return { node, id: body.webhook_id as string }
  }
  type Begun = Awaited<ReturnType<typeof begin>>
  const change = ({ node, id }: Begun, body: object, caller = keyOf(A), site_id: string = A) =>
    node.admin('change_webhook', { params: { site_id, webhook_id: id }, body, caller })
  const recover = ({ node, id }: Begun, body: object, caller = keyOf(A), site_id: string = A) =>
    node.admin('recover_webhook', { params: { site_id, webhook_id: id }, body, caller })
  const list = (node: AdminNode, query = '', caller = keyOf(A), site_id: string = A) =>
    node.admin('list_site_deliveries', { params: { site_id }, query, caller })
  const revoke = async (node: AdminNode, times = 1) => {
    for (let i = 0; i < times; i++) expect((await node.revokeUser(newPpid())).status).toBe(200)
  }
  const next = ({ node, id }: Begun, ended?: EndedAttempt, owner = 'test') =>
    node.deps.store.nextDelivery({ webhookId: id, owner, nowMs: node.clock.nowMs(), leaseMs: 20_000 }, ended)
  /** Sends everything that is due, and ends each attempt in this way. */
  const send = async (
    begun: Begun,
    end: EndedAttempt['end'] = 'delivered',
    more: Partial<EndedAttempt> = {},
  ) => {
    const seqs: number[] = []
    for (let due = await next(begun); due !== undefined; ) {
      seqs.push(due.seq)
      const lastStatus = end === 'delivered' ? 204 : 500
      due = await next(begun, { deliveryId: due.deliveryId, end, lastStatus, ...more })
    }
    return seqs
  }
  const isDue = async ({ node, id }: Begun) =>
    (await node.deps.store.dueWebhooks(node.clock.nowMs(), 10_000)).includes(id)
  const lastAudit = async (node: AdminNode) =>
    (await node.admin('list_audit', { params: { site_id: A }, query: 'limit=1' })).body.items[0]

  describe('PATCH …/webhooks/{webhook_id}', () => {
    it('200: changes URL, kinds and status, and writes why', async () => {
      const begun = await begin()
      const { node, id } = begun
      const wanted = { url: 'https://other.example/in', kinds: ['user.revoked'], status: 'paused' }
      expect(await change(begun, { ...wanted, reason: 'moved' })).toMatchObject({
        status: 200,
        body: { webhook_id: id, ...wanted },
      })
      expect(await lastAudit(node)).toMatchObject({
        action: 'webhook.change',
        target: id,
        outcome: 'done',
        reason: 'moved',
      })
      expect((await change(begun, { kinds: null })).body).toMatchObject({ ...wanted, kinds: null })
      expect((await change(begun, {})).body).toMatchObject({ ...wanted, kinds: null })
      expect(await lastAudit(node)).toMatchObject({ outcome: 'unchanged' })
    })

    it('200: the audit does not have the URL, which may contain a secret', async () => {
      const begun = await begin()
      await change(begun, { url: 'https://other.example/in?token=canary' })
      const rows = await begun.node.deps.store.auditRows(A, { after: undefined, limit: 100 })
      expect(JSON.stringify(rows)).not.toContain('canary')
    })

    it('200: a paused one is sent nothing, and continues where it stopped', async () => {
      const begun = await begin()
      const { node } = begun
      await revoke(node, 2)
      expect(await isDue(begun)).toBe(true)
      const first = await next(begun)
      await change(begun, { status: 'paused' })
      // What was being sent is still recorded.
      const ended = { deliveryId: first?.deliveryId ?? '', end: 'delivered', lastStatus: 204 } as const
      expect(await next(begun, ended)).toBeUndefined()
      await revoke(node, 2)
      expect(await isDue(begun)).toBe(false)
      expect(await next(begun)).toBeUndefined()
      node.clock.pass(DAY)
      expect(await isDue(begun)).toBe(false)
      await change(begun, { status: 'on' })
      expect(await isDue(begun)).toBe(true)
      const seq = first?.seq ?? 0
      expect(await send(begun)).toEqual([seq + 1, seq + 2, seq + 3])
    })

    it('200: what a paused one keeps does not count as late', async () => {
      const begun = await begin()
      const before = (await begun.node.deps.store.webhookLoad()).pending
      await revoke(begun.node, 2)
      const due = await next(begun)
      const again = { againAtMs: begun.node.clock.nowMs() + 1000 }
      await next(begun, { deliveryId: due?.deliveryId ?? '', end: again, lastStatus: 500 })
      expect((await begun.node.deps.store.webhookLoad()).pending).toBe(before + 2)
      await change(begun, { status: 'paused' })
      expect((await begun.node.deps.store.webhookLoad()).pending).toBe(before)
    })

    it('200: a disabled one is on again, with what came since, and is not disabled again at once', async () => {
      const begun = await begin()
      const { node } = begun
      await revoke(node)
      await send(begun, { againAtMs: NOW + 1 }, { disable: 'because' })
      await revoke(node, 2)
      expect(await send(begun)).toEqual([])
      expect((await change(begun, { status: 'on' })).body.status).toBe('on')
      const due = await next(begun)
      expect(due?.failingSinceMs).toBeUndefined()
      const seq = due?.seq ?? 0
      const sent = { deliveryId: due?.deliveryId ?? '', end: 'delivered', lastStatus: 204 } as const
      expect((await next(begun, sent))?.seq).toBe(seq + 1)
      expect((await list(node, 'status=failed')).body.items).toHaveLength(1)
    })

    it('200: with a new URL the running attempt has no effect, and pending ones go there at once', async () => {
      const begun = await begin()
      const { node } = begun
      await revoke(node, 2)
      const first = await next(begun)
      const later = { againAtMs: node.clock.nowMs() + DAY / 4 }
      await next(begun, { deliveryId: first?.deliveryId ?? '', end: later, lastStatus: 500 })
      expect(await next(begun)).toBeUndefined()
      node.clock.pass(DAY / 4)
      const running = await next(begun)
      await change(begun, { url: 'https://other.example/in' })
      const gone = { deliveryId: running?.deliveryId ?? '', end: 'failed', lastStatus: 410 } as const
      expect(await next(begun, { ...gone, disable: 'the receiver answered 410 Gone' })).toBeUndefined()
      const again = await next(begun, undefined, 'other')
      expect(again).toMatchObject({ url: 'https://other.example/in', deliveryId: running?.deliveryId })
      expect((await node.deps.store.webhook(A, begun.id))?.status).toBe('on')
    })

    it('A200, A206: 422 for a URL that is not allowed, and nothing is changed', async () => {
      const begun = await begin()
      for (const url of ['https://127.0.0.1/', 'https://10.0.0.1/', 'https://[::1]/', 'https://localhost/'])
        expect(await change(begun, { url, status: 'paused' })).toMatchObject({
          status: 422,
          code: 'webhook_url_forbidden',
        })
      expect((await begun.node.deps.store.webhook(A, begun.id))?.status).toBe('on')
    })

    it('404: an unknown one, a deleted one, and one of another site', async () => {
      const begun = await begin()
      const unknown = { ...begun, id: 'wh_unknown' }
      expect((await change(unknown, { status: 'on' })).code).toBe('not_found')
      expect((await recover(unknown, { since: at(NOW) })).code).toBe('not_found')
      for (const site_id of [A, B]) {
        expect((await change(begun, { status: 'paused' }, keyOf(B), site_id)).code).toBe('not_found')
        expect((await recover(begun, { since: at(NOW) }, keyOf(B), site_id)).code).toBe('not_found')
      }
      expect((await begun.node.deps.store.webhook(A, begun.id))?.status).toBe('on')
      await begun.node.admin('delete_webhook', { params: { site_id: A, webhook_id: begun.id } })
      expect((await change(begun, { status: 'on' })).code).toBe('not_found')
    })
  })

  describe('POST …/webhooks/{webhook_id}/recover', () => {
    it('202: sends what has failed since a time again, oldest first, and nothing else', async () => {
      const begun = await begin()
      const { node } = begun
      await revoke(node, 2)
      const old = await send(begun, 'failed')
      node.clock.pass(1000)
      const since = at(node.clock.nowMs())
      await revoke(node, 3)
      const failed = await send(begun, 'failed')
      await revoke(node)
      const delivered = await send(begun)
      expect(await recover(begun, { since, reason: 'it was down' })).toMatchObject({
        status: 202,
        body: { webhook_id: begun.id, recovered: 3, next_cursor: null },
      })
      expect(await lastAudit(node)).toMatchObject({ action: 'webhook.recover', reason: 'it was down' })
      expect(await send(begun)).toEqual(failed)
      expect((await recover(begun, { since })).body).toMatchObject({ recovered: 0, next_cursor: null })
      expect((await recover(begun, { since, deliveries: 'all' })).body.recovered).toBe(4)
      expect(await send(begun)).toEqual([...failed, ...delivered])
      expect((await recover(begun, { since: at(NOW) })).body.recovered).toBe(2)
      expect(await send(begun)).toEqual(old)
    })

    it('202: 500 at a time, with a cursor; 429 when a thousand wait', async () => {
      const begun = await begin()
      const { node, id } = begun
      const { store, clock } = node.deps
      await revoke(node)
      await send(begun)
      const real = store.recoverDeliveries
      const seen: (string | undefined)[] = []
      store.recoverDeliveries = async (siteId, webhookId, recovery, context) => {
        seen.push(recovery.after)
        return seen.length === 1 ? { count: 500, next: '17 4' } : real(siteId, webhookId, recovery, context)
      }
      const body = { since: at(0), deliveries: 'all' }
      const { next_cursor } = (await recover(begun, body)).body
      expect((await recover(begun, { ...body, cursor: next_cursor })).body.recovered).toBe(1)
      expect(seen).toEqual([undefined, '17 4'])
      for (const other of [{ since: at(1) }, { deliveries: 'failed' }])
        expect((await recover(begun, { ...body, ...other, cursor: next_cursor })).code).toBe(
          'cursor_malformed',
        )
      store.recoverDeliveries = async () => 'too_many'
      expect(await recover(begun, body)).toMatchObject({ status: 429, code: 'rate_limited' })
      store.recoverDeliveries = real
      expect(id).toBeTypeOf('string')
      expect(clock.nowMs()).toBeGreaterThan(0)
    })
  })

  describe('GET …/deliveries', () => {
    it('200: of all webhooks, newest first, by status, kind and webhook', async () => {
      const begun = await begin()
      const { node, id } = begun
      const { body } = await node.admin('create_webhook', {
        params: { site_id: A },
        body: { url: 'https://second.example/', kinds: ['user.revoked'] },
      })
      const second = { node, id: body.webhook_id as string }
      await revoke(node, 3)
      await send(begun, 'failed')
      node.clock.pass(1)
      await send(second)
      await node.admin('change_site', { params: { site_id: A }, body: { bearer: 'off' } })
      node.clock.pass(1)
      await send(begun)
      const kinds = async (query: string) =>
        (await list(node, query)).body.items.map(
          ({ webhook_id, kind, status }: { webhook_id: string; kind: string; status: string }) =>
            `${webhook_id === id ? 'first' : 'second'} ${kind} ${status}`,
        )
      const [failed, fine] = ['first user.revoked failed', 'second user.revoked delivered']
      const changed = 'first site.changed delivered'
      expect(await kinds('')).toEqual([changed, fine, fine, fine, failed, failed, failed])
      expect(await kinds('status=failed')).toEqual([failed, failed, failed])
      expect(await kinds('status=delivered')).toEqual([changed, fine, fine, fine])
      expect(await kinds('status=pending')).toEqual([])
      expect(await kinds('kind=site.changed')).toEqual([changed])
      expect(await kinds(`webhook_id=${second.id}`)).toEqual([fine, fine, fine])
      expect(await kinds(`webhook_id=${id}&status=delivered&kind=site.changed`)).toEqual([changed])
      for (const query of ['', '&status=failed', `&webhook_id=${id}`, '&status=delivered']) {
        const all = (await list(node, `limit=200${query}`)).body.items
        const seen: unknown[] = []
        for (let cursor: string | null = ''; cursor !== null; ) {
          const { body: page } = await list(node, `limit=1${query}${cursor && `&cursor=${cursor}`}`)
          seen.push(...page.items)
          cursor = page.next_cursor
        }
        expect(seen).toEqual(all)
      }
      const { next_cursor } = (await list(node, 'limit=1&status=failed')).body
      expect((await list(node, `cursor=${next_cursor}`)).code).toBe('cursor_malformed')
    })

    it('I-15: nothing of another site, also by the name of its webhook or delivery', async () => {
      const begun = await begin()
      const { node, id } = begun
      await revoke(node)
      await send(begun)
      const [{ delivery_id }] = (await list(node)).body.items
      expect((await list(node, '', keyOf(B), B)).body.items).toEqual([])
      expect((await list(node, `webhook_id=${id}`, keyOf(B), B)).code).toBe('not_found')
      expect((await list(node, '', keyOf(B), A)).code).toBe('not_found')
      for (const site_id of [A, B])
        expect(
          (await node.admin('read_delivery', { params: { site_id, delivery_id }, caller: keyOf(B) })).code,
        ).toBe('not_found')
      expect(
        await node.deps.store.siteDeliveries(
          B,
          { column: 'webhook_id', value: id },
          { after: undefined, limit: 9 },
        ),
      ).toEqual([])
    })
  })

  describe('GET …/deliveries/{delivery_id}', () => {
    it('200: the last twenty attempts, newest first, also those before a replay', {
      tags: 'long',
    }, async () => {
      const begun = await begin()
      const { node } = begun
      await revoke(node)
      const due = await next(begun)
      const deliveryId = due?.deliveryId ?? ''
      const params = { site_id: A, delivery_id: deliveryId }
      const read = async () => (await node.admin('read_delivery', { params, caller: keyOf(A) })).body
      expect((await read()).attempt_history).toEqual([])
      const nowMs = node.clock.nowMs()
      const silent = { atMs: nowMs, ms: null, failure: 'no_answer' } as const
      await next(begun, { deliveryId, end: { againAtMs: nowMs }, lastStatus: undefined, attempt: silent })
      const slow = { atMs: nowMs + 5, ms: 31, failure: 'status' } as const
      await next(begun, { deliveryId, end: 'failed', lastStatus: 500, attempt: slow })
      expect(await read()).toMatchObject({
        delivery_id: deliveryId,
        status: 'failed',
        attempts: 2,
        attempt_history: [
          { at: expect.any(String), ms: 31, status: 500, failure: 'status' },
          { at: expect.any(String), ms: null, status: null, failure: 'no_answer' },
        ],
      })
      for (let i = 0; i < 25; i++) {
        await node.admin('replay_delivery', { params })
        await next(begun)
        const attempt = { atMs: nowMs + i, ms: i, failure: null }
        await next(begun, { deliveryId, end: 'delivered', lastStatus: 204, attempt })
      }
      const { attempt_history } = await read()
      expect(attempt_history).toHaveLength(20)
      expect(attempt_history[0]).toMatchObject({ ms: 24, status: 204, failure: null })
      expect((await node.admin('read_delivery', { params: { ...params, delivery_id: 'dlv_x' } })).code).toBe(
        'not_found',
      )
    })
  })
})
