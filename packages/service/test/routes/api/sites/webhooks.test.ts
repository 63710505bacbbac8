import { entryKinds, limits } from '@countersign/core/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import { webhookPurpose } from '../../../../src/sealing/purposes.ts'
import { SealBroken } from '../../../../src/sealing/sealer.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, NOWHERE } from '../../../node.ts'
import { NOW } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const DAY = 86_400_000
const PPID = 'did:service:ppid_12345678'

forEachSharedStore('webhooks', (open) => {
  let A = newSiteId()
  let B = newSiteId()
  beforeEach(() => {
    A = newSiteId()
    B = newSiteId()
  })

  const begin = async (mode: 'production' | 'development' = 'production'): Promise<AdminNode> => {
    const node = await openAdminNode(open(), A)
    Object.assign(node.deps.config, { mode })
    for (const site_id of [A, B]) await node.admin('create_site', { body: { site_id } })
    return node
  }
  const create = (
    node: AdminNode,
    body: unknown = { url: 'https://hooks.example/in' },
    site_id: string = A,
    caller = keyOf(A),
  ) => node.admin('create_webhook', { params: { site_id }, body, caller })
  const list = (node: AdminNode, query = '') =>
    node.admin('list_webhooks', { params: { site_id: A }, query, caller: keyOf(A) })
  const remove = (node: AdminNode, webhook_id: string, caller = keyOf(A), site_id: string = A) =>
    node.admin('delete_webhook', { params: { site_id, webhook_id }, caller })
  const rotate = (node: AdminNode, webhook_id: string, caller = keyOf(A), site_id: string = A) =>
    node.admin('rotate_webhook_secret', { params: { site_id, webhook_id }, caller })
  const deliveries = (
    node: AdminNode,
    webhook_id: string,
    query = '',
    caller = keyOf(A),
    site_id: string = A,
  ) => node.admin('list_deliveries', { params: { site_id, webhook_id }, query, caller })
  const replay = (node: AdminNode, delivery_id: string, caller = keyOf(A), site_id: string = A) =>
    node.admin('replay_delivery', { params: { site_id, delivery_id }, caller })
  /** As a sender would take it. */
  const next = (
    node: AdminNode,
    webhookId: string,
    more?: Parameters<typeof node.deps.store.nextDelivery>[1],
  ) =>
    node.deps.store.nextDelivery(
      { webhookId, owner: 'test', nowMs: node.clock.nowMs(), leaseMs: 20_000 },
      more,
    )
  const delivered = async (node: AdminNode, webhookId: string, count: number) => {
    for (let i = 0; i < count; i++) {
      expect((await node.revokeUser(`${PPID}${A}${i}`.replaceAll('.', '-'))).status).toBe(200)
      const due = await next(node, webhookId)
      await next(node, webhookId, { deliveryId: due?.deliveryId ?? '', end: 'delivered', lastStatus: 204 })
    }
  }

  describe('POST …/webhooks', () => {
    it('201: gives a secret, and keeps it sealed for this webhook alone', async () => {
      const node = await begin()
      const { status, body } = await create(node, {
        url: 'https://hooks.example:8443/in?a=b',
        kinds: ['user.revoked'],
      })
      expect(status).toBe(201)
      expect(body).toEqual({
        webhook_id: expect.stringMatching(/^wh_[0-9a-z]{26}$/),
        secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      })
      await node.revokeUser(PPID)
      const sealed = (await next(node, body.webhook_id))?.secretsSealed[0] ?? ''
      expect(node.deps.keys.open(webhookPurpose(A, body.webhook_id), sealed)).toBe(body.secret)
      for (const purpose of [webhookPurpose(B, body.webhook_id), webhookPurpose(A, 'wh_other')]) {
        expect(() => node.deps.keys.open(purpose, sealed)).toThrow(SealBroken)
      }
    })

    it('201: the secret is shown once, and is neither in the list, nor in the audit, nor in the log (I-20)', async () => {
      const node = await begin()
      const { body: made } = await create(node)
      const { body: page } = await list(node)
      const { body: audit } = await node.admin('list_audit', { params: { site_id: A } })
      expect(audit.items[0]).toMatchObject({
        action: 'webhook.create',
        target: made.webhook_id,
        actor: { type: 'api_key' },
      })
      expect(JSON.stringify([page, audit, node.logged])).not.toContain(made.secret.slice(6, 20))
    })

    it('201: takes every kind by name, and all of them without', async () => {
      const node = await begin()
      await create(node, { url: 'https://hooks.example/in', kinds: entryKinds })
      node.clock.pass(1)
      await create(node)
      expect((await list(node)).body.items.map(({ kinds }: { kinds: unknown }) => kinds)).toEqual([
        entryKinds,
        null,
      ])
    })

    it('201: a public address in its plain spelling', async () => {
      const node = await begin()
      for (const url of ['https://8.8.8.8/in', 'https://[2606:4700::1111]:8443/in'])
        expect(await create(node, { url })).toMatchObject({ status: 201 })
    })

    it.each([
      [
        '127.0.0.1',
        '127.8.8.8',
        '10.0.0.1',
        '172.16.0.1',
        '192.168.1.1',
        '169.254.169.254',
        '100.64.0.1',
        '0.0.0.0',
        '224.0.0.1',
        '255.255.255.255',
      ],
      [
        '[::1]',
        '[::]',
        '[fc00::1]',
        '[fd00:ec2::254]',
        '[fe80::1]',
        '[ff02::1]',
        '[2002:7f00:1::]',
        '[2001:db8::1]',
      ],
      [
        '[::ffff:7f00:1]',
        '[::ffff:a00:1]',
        '[64:ff9b::7f00:1]',
        '[64:ff9b:1::a00:1]',
        '[::7f00:1]',
        '[::ffff:0:7f00:1]',
      ],
      ['localhost', 'x.localhost'],
    ])('A200: 422 for inner addresses: %s …', async (...hosts) => {
      const node = await begin()
      for (const host of hosts) {
        const url = `https://${host}/in`
        expect(await create(node, { url }), url).toMatchObject({ status: 422, code: 'webhook_url_forbidden' })
      }
      expect((await list(node)).body.items).toEqual([])
    })

    it('A201: 422 for odd spellings of addresses and names', async () => {
      const hosts = [
        '0x7f.1',
        '2130706433',
        '127.1',
        '0177.0.0.1',
        '①②⑦.0.0.1',
        '⑩.0.0.1',
        '0xa9.0xfe.0xa9.0xfe',
        '2852039166',
        '169.254.43518',
      ]
      const names = [
        'localhost.',
        'LOCALHOST',
        'HOOKS.example',
        'hooks.example.',
        '[::ffff:127.0.0.1]',
        '[0:0:0:0:0:0:0:1]',
        'hooks%2eexample',
        'ｈooks.example',
      ]
      for (const mode of ['production', 'development'] as const) {
        const node = await begin(mode)
        for (const host of [...hosts, ...names]) {
          const url = `https://${host}/in`
          expect(await create(node, { url }), url).toMatchObject({
            status: 422,
            code: 'webhook_url_forbidden',
          })
        }
        ;[A, B] = [newSiteId(), newSiteId()]
      }
    })

    it('A206: 422 for other schemes, ports, user names and fragments', async () => {
      const node = await begin()
      const refused = [
        'http://hooks.example/in',
        'ftp://hooks.example/',
        'file:///etc/passwd',
        'gopher://hooks.example/',
        'javascript:alert(1)',
        'hooks.example',
        '//hooks.example/',
        'https://',
        ...[1, 22, 25, 80, 3306, 6379, 8080].map((port) => `https://hooks.example:${port}/`),
        'https://user:pw@hooks.example/',
        'https://user@hooks.example/',
        'https://hooks.example/#x',
        'https://hooks.example\\@10.0.0.1/',
        ' https://hooks.example/',
        `https://hooks.example/${'x'.repeat(2048)}`,
      ]
      for (const url of refused)
        expect(await create(node, { url }), url).toMatchObject({ status: 422, code: 'webhook_url_forbidden' })
    })

    it('201 and 422: in development this machine is allowed, by http and on any port, and nothing else that was forbidden', async () => {
      const node = await begin('development')
      for (const url of [
        'http://127.0.0.1:9/in',
        'http://localhost:3000/',
        'https://x.localhost/',
        'http://[::1]:8080/',
      ]) {
        expect(await create(node, { url }), url).toMatchObject({ status: 201 })
      }
      for (const url of [
        'http://10.0.0.1/',
        'https://10.0.0.1/',
        'http://hooks.example/',
        'https://169.254.169.254/',
        'ftp://127.0.0.1/',
      ]) {
        expect(await create(node, { url }), url).toMatchObject({ status: 422, code: 'webhook_url_forbidden' })
      }
    })

    it('422: one more than a site may have, until one is deleted', async () => {
      const node = await begin()
      const made: string[] = []
      for (let i = 0; i < limits.webhooks_per_site_max; i++) made.push((await create(node)).body.webhook_id)
      expect(await create(node)).toMatchObject({
        status: 422,
        code: 'validation_failed',
        body: { detail: expect.stringContaining('16 webhooks') },
      })
      await remove(node, made[0] ?? '')
      expect((await create(node)).status).toBe(201)
    })

    it('422: unknown kinds, none, one twice, unknown members, no URL', async () => {
      const node = await begin()
      const url = 'https://hooks.example/in'
      for (const body of [
        {},
        { url, kinds: [] },
        { url, kinds: ['heartbeat'] },
        { url, kinds: ['user.revoked', 'user.revoked'] },
        { url, secret: 'x' },
      ]) {
        expect(await create(node, body), JSON.stringify(body)).toMatchObject({
          status: 422,
          code: 'validation_failed',
        })
      }
    })

    it('404: another site looks like one that does not exist', async () => {
      const node = await begin()
      const url = { url: 'https://hooks.example/in' }
      for (const told of [
        await create(node, url, B),
        await create(node, url, NOWHERE),
        await node.admin('create_webhook', { params: { site_id: NOWHERE }, body: url }),
      ]) {
        expect([told.status, told.code]).toEqual([404, 'not_found'])
      }
    })
  })

  describe('GET …/webhooks', () => {
    it('200: lists page by page', async () => {
      const node = await begin()
      const made: string[] = []
      for (let i = 0; i < 3; i++) {
        node.clock.pass(1)
        made.push((await create(node, { url: `https://hooks.example/${i}` })).body.webhook_id)
      }
      const { body: first } = await list(node, 'limit=2')
      expect(first.items[0]).toEqual({
        webhook_id: made[0],
        url: 'https://hooks.example/0',
        kinds: null,
        status: 'on',
        created_at: '2026-11-14T12:00:00.001Z',
      })
      const { body: second } = await list(node, `limit=2&cursor=${first.next_cursor}`)
      expect([...first.items, ...second.items].map(({ webhook_id }) => webhook_id)).toEqual(made)
      expect(second.next_cursor).toBeNull()
    })

    it('400: a cursor of another list', async () => {
      const node = await begin()
      expect(await list(node, 'cursor=AAAA')).toMatchObject({ status: 400, code: 'cursor_malformed' })
    })

    it('404: another site', async () => {
      const node = await begin()
      for (const site_id of [B, NOWHERE]) {
        expect(await node.admin('list_webhooks', { params: { site_id }, caller: keyOf(A) })).toMatchObject({
          status: 404,
        })
      }
    })
  })

  describe('DELETE …/webhooks/{webhook_id}', () => {
    it('204, and 404 from then on', async () => {
      const node = await begin()
      const { body } = await create(node)
      expect(await remove(node, body.webhook_id)).toMatchObject({ status: 204, body: undefined })
      expect((await list(node)).body.items).toEqual([])
      expect(await remove(node, body.webhook_id)).toMatchObject({ status: 404, code: 'not_found' })
      expect(await deliveries(node, body.webhook_id)).toMatchObject({ status: 404 })
      expect(await rotate(node, body.webhook_id)).toMatchObject({ status: 404 })
      const { body: audit } = await node.admin('list_audit', { params: { site_id: A } })
      expect(audit.items[0]).toMatchObject({ action: 'webhook.delete', target: body.webhook_id })
    })

    it('404: an unknown one, and one of another site', async () => {
      const node = await begin()
      const { body } = await create(node)
      expect(await remove(node, `${body.webhook_id}x`)).toMatchObject({ status: 404, code: 'not_found' })
      expect(await remove(node, body.webhook_id, keyOf(B))).toMatchObject({ status: 404 })
      expect(await remove(node, body.webhook_id, keyOf(B), B)).toMatchObject({ status: 404 })
      expect((await list(node)).body.items).toHaveLength(1)
    })
  })

  describe('POST …/webhooks/{webhook_id}/rotate-secret', () => {
    it('A212: 200 with a new secret; the old one signs for another day, then only the new one', async () => {
      const node = await begin()
      const { body: made } = await create(node)
      const { status, body } = await rotate(node, made.webhook_id)
      expect([status, body.webhook_id, body.previous_valid_until]).toEqual([
        200,
        made.webhook_id,
        '2026-11-15T12:00:00Z',
      ])
      expect(body.secret).not.toBe(made.secret)
      await node.revokeUser(PPID)
      const opened = async (nowMs: number) => {
        const turn = { webhookId: made.webhook_id, owner: 'test', nowMs, leaseMs: 1000 }
        const due = await node.deps.store.nextDelivery(turn)
        await node.deps.store.nextDelivery(
          { ...turn, release: true },
          { deliveryId: due?.deliveryId ?? '', end: 'aborted', lastStatus: undefined },
        )
        return due?.secretsSealed.map((sealed) =>
          node.deps.keys.open(webhookPurpose(A, made.webhook_id), sealed),
        )
      }
      expect(await opened(NOW + DAY - 1)).toEqual([body.secret, made.secret])
      expect(await opened(NOW + DAY)).toEqual([body.secret])
      const { body: audit } = await node.admin('list_audit', { params: { site_id: A } })
      expect(audit.items.map(({ action }: { action: string }) => action)).toContain('webhook.rotate_secret')
      expect(JSON.stringify([audit, node.logged])).not.toContain(body.secret.slice(6, 20))
    })

    it('404: an unknown one, and one of another site', async () => {
      const node = await begin()
      const { body } = await create(node)
      expect(await rotate(node, `${body.webhook_id}x`)).toMatchObject({ status: 404, code: 'not_found' })
      expect(await rotate(node, body.webhook_id, keyOf(B), B)).toMatchObject({ status: 404 })
      expect(await rotate(node, body.webhook_id, keyOf(B))).toMatchObject({ status: 404 })
    })
  })

  describe('GET …/webhooks/{webhook_id}/deliveries', () => {
    it('200: the newest first, page by page', async () => {
      const node = await begin()
      const { body: made } = await create(node)
      await delivered(node, made.webhook_id, 3)
      const { body: first } = await deliveries(node, made.webhook_id, 'limit=2')
      const { body: second } = await deliveries(node, made.webhook_id, `limit=2&cursor=${first.next_cursor}`)
      expect([...first.items, ...second.items].map(({ seq }) => seq)).toEqual([5, 4, 3])
      expect(second.next_cursor).toBeNull()
      expect(first.items[0]).toEqual({
        delivery_id: expect.stringMatching(/^dlv_/),
        webhook_id: made.webhook_id,
        kind: 'user.revoked',
        epoch: node.deps.store.epoch,
        seq: 5,
        status: 'delivered',
        attempts: 1,
        created_at: '2026-11-14T12:00:00Z',
        next_attempt_at: null,
        delivered_at: '2026-11-14T12:00:00Z',
        last_status: 204,
      })
    })

    it('200: says of one that waits when it will be tried, and of a receiver that did not answer nothing at all (A211)', async () => {
      const node = await begin()
      const { body: made } = await create(node)
      await node.revokeUser(PPID)
      const due = await next(node, made.webhook_id)
      await next(node, made.webhook_id, {
        deliveryId: due?.deliveryId ?? '',
        end: { againAtMs: NOW + 5000 },
        lastStatus: undefined,
      })
      expect((await deliveries(node, made.webhook_id)).body.items).toMatchObject([
        {
          status: 'pending',
          attempts: 1,
          next_attempt_at: '2026-11-14T12:00:05Z',
          delivered_at: null,
          last_status: null,
        },
      ])
    })

    it('400: a cursor of another webhook', async () => {
      const node = await begin()
      const [one, two] = [(await create(node)).body.webhook_id, (await create(node)).body.webhook_id]
      await delivered(node, one, 2)
      const { body } = await deliveries(node, one, 'limit=1')
      expect(await deliveries(node, two, `cursor=${body.next_cursor}`)).toMatchObject({
        status: 400,
        code: 'cursor_malformed',
      })
    })

    it('404: an unknown webhook, and one of another site', async () => {
      const node = await begin()
      const { body } = await create(node)
      expect(await deliveries(node, `${body.webhook_id}x`)).toMatchObject({ status: 404, code: 'not_found' })
      expect(await deliveries(node, body.webhook_id, '', keyOf(B), B)).toMatchObject({ status: 404 })
      expect(await deliveries(node, body.webhook_id, '', keyOf(B))).toMatchObject({ status: 404 })
    })
  })

  describe('POST …/deliveries/{delivery_id}/replay', () => {
    it('202: pending again, and in the audit', async () => {
      const node = await begin()
      const { body: made } = await create(node)
      await delivered(node, made.webhook_id, 1)
      const { body: page } = await deliveries(node, made.webhook_id)
      const { status, body } = await replay(node, page.items[0].delivery_id)
      expect(status).toBe(202)
      expect(body).toEqual({
        ...page.items[0],
        status: 'pending',
        attempts: 0,
        delivered_at: null,
        next_attempt_at: '2026-11-14T12:00:00Z',
      })
      const { body: audit } = await node.admin('list_audit', { params: { site_id: A } })
      expect(audit.items[0]).toMatchObject({ action: 'webhook.replay', target: body.delivery_id })
    })

    it('429: when very many wait already', async () => {
      const node = await begin()
      Object.assign(node.deps.store, { replayDelivery: async () => 'too_many' })
      const { status, body } = await replay(node, 'dlv_1')
      expect([status, body.retry_after]).toEqual([429, 60])
    })

    it('404: an unknown delivery, and one of another site', async () => {
      const node = await begin()
      const { body: made } = await create(node)
      await delivered(node, made.webhook_id, 1)
      const { delivery_id } = (await deliveries(node, made.webhook_id)).body.items[0]
      expect(await replay(node, `${delivery_id}x`)).toMatchObject({ status: 404, code: 'not_found' })
      expect(await replay(node, delivery_id, keyOf(B), B)).toMatchObject({ status: 404 })
      expect(await replay(node, delivery_id, keyOf(B))).toMatchObject({ status: 404 })
      expect((await deliveries(node, made.webhook_id)).body.items[0].status).toBe('delivered')
    })
  })
})
