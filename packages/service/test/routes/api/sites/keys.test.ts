import { permissions } from '@countersign/core/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, NOWHERE } from '../../../node.ts'
import { NOW } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('API keys', (open) => {
  let A = newSiteId()
  let B = newSiteId()
  beforeEach(() => {
    A = newSiteId()
    B = newSiteId()
  })

  const begin = async (): Promise<AdminNode> => {
    const node = await openAdminNode(open(), A)
    for (const site_id of [A, B]) await node.admin('create_site', { body: { site_id } })
    return node
  }
  const create = (
    node: AdminNode,
    body: unknown = { permissions: ['feed:read'] },
    site_id: string = A,
    caller = keyOf(A),
  ) => node.admin('create_key', { params: { site_id }, body, caller })
  const list = (node: AdminNode, query = '') =>
    node.admin('list_keys', { params: { site_id: A }, query, caller: keyOf(A) })
  const remove = (node: AdminNode, key_id: string, caller = keyOf(A), site_id: string = A) =>
    node.admin('delete_key', { params: { site_id, key_id }, caller })

  describe('POST …/keys', () => {
    it('201: makes a key that works', async () => {
      const node = await begin()
      const { status, body } = await create(node, {
        permissions: ['tokens:introspect', 'feed:read'],
        label: 'ci',
      })
      expect(status).toBe(201)
      expect(body).toEqual({
        key_id: expect.stringMatching(/^key_/),
        api_key: expect.stringMatching(/^svc_sk_[0-9A-Za-z]{49}$/),
        permissions: ['tokens:introspect', 'feed:read'],
      })
      expect(await node.deps.apiKeys.find(body.api_key, NOW)).toMatchObject({
        keyId: body.key_id,
        siteId: A,
        permissions: ['tokens:introspect', 'feed:read'],
        label: 'ci',
      })
    })

    it('201: an administrator of a site may give every permission of that site', async () => {
      const node = await begin()
      expect((await create(node, { permissions })).body.permissions).toEqual(permissions)
    })

    it('A152: shows it once; the list has id and last four only', async () => {
      const node = await begin()
      const { body: made } = await create(node, {
        permissions: ['feed:read'],
        label: 'once',
        expires_in_seconds: 60,
      })
      const { body: page } = await list(node)
      expect(page).toEqual({
        items: [
          {
            key_id: made.key_id,
            permissions: ['feed:read'],
            label: 'once',
            last4: made.api_key.slice(-4),
            created_at: '2026-11-14T12:00:00Z',
            created_by: { type: 'api_key', id: `key_${A}` },
            expires_at: '2026-11-14T12:01:00Z',
            last_used_at: null,
          },
        ],
        next_cursor: null,
      })
      const { body: audit } = await node.admin('list_audit', { params: { site_id: A } })
      expect(audit.items[0]).toMatchObject({ action: 'api_key.create', target: made.key_id })
      expect(JSON.stringify([page, audit, node.logged])).not.toContain(made.api_key.slice(7, 20))
    })

    it('A154: ends when it was said to, and not before', async () => {
      const node = await begin()
      const { body } = await create(node, { permissions: ['feed:read'], expires_in_seconds: 2 })
      expect(await node.deps.apiKeys.find(body.api_key, NOW + 1999)).toBeDefined()
      expect(await node.deps.apiKeys.find(body.api_key, NOW + 2000)).toBeUndefined()
    })

    it('404: another site looks like one that does not exist', async () => {
      const node = await begin()
      for (const told of [
        await create(node, undefined, B),
        await create(node, undefined, NOWHERE),
        await node.admin('create_key', {
          params: { site_id: NOWHERE },
          body: { permissions: ['feed:read'] },
        }),
      ]) {
        expect([told.status, told.code]).toEqual([404, 'not_found'])
      }
      expect((await node.admin('list_keys', { params: { site_id: B } })).body.items).toEqual([])
    })

    it('422: no permission, an unknown one, one twice, a bad label or life', async () => {
      const node = await begin()
      const refused = [
        {},
        { permissions: [] },
        { permissions: ['everything'] },
        { permissions: ['feed:read', 'feed:read'] },
        { permissions: ['feed:read'], label: 'a\u0000b' },
        { permissions: ['feed:read'], expires_in_seconds: 0 },
        { permissions: ['feed:read'], expires_in_seconds: 1e12 },
        { permissions: ['feed:read'], site_id: B },
      ]
      for (const body of refused)
        expect(await create(node, body), JSON.stringify(body)).toMatchObject({
          status: 422,
          code: 'validation_failed',
        })
    })
  })

  describe('PATCH …/keys/{key_id}', () => {
    it('200: changes the label only; 404 for keys of other sites', async () => {
      const node = await begin()
      const { body: made } = await create(node, { permissions: ['feed:read'], label: 'old' })
      const change = (body: unknown, key_id = made.key_id, site_id: string = A) =>
        node.admin('change_key', { params: { site_id, key_id }, body, caller: keyOf(A) })
      expect(await change({ label: 'new' })).toMatchObject({
        status: 200,
        body: { key_id: made.key_id, label: 'new', permissions: ['feed:read'] },
      })
      expect(await node.deps.apiKeys.find(made.api_key, NOW)).toMatchObject({ keyId: made.key_id })
      expect((await change({ label: 'x' }, `${made.key_id}x`)).code).toBe('not_found')
      expect((await change({ label: 'x' }, made.key_id, B)).code).toBe('not_found')
      for (const body of [{}, { label: 'a\u0000b' }, { label: 'x', permissions: ['site:admin'] }])
        expect((await change(body)).code).toBe('validation_failed')
    })
  })

  describe('DELETE …/keys/{key_id}', () => {
    it('A148: 204, and the key does not work any more, though it had been used', async () => {
      const node = await begin()
      const { body } = await create(node)
      expect(await node.deps.apiKeys.find(body.api_key, NOW)).toBeDefined()
      expect(await remove(node, body.key_id)).toMatchObject({ status: 204, body: undefined })
      expect(await node.deps.apiKeys.find(body.api_key, NOW)).toBeUndefined()
      expect((await list(node)).body.items).toEqual([])
    })

    it('404: an unknown key, one deleted before, and one of another site', async () => {
      const node = await begin()
      const { body } = await create(node)
      expect(await remove(node, `${body.key_id}x`)).toMatchObject({ status: 404, code: 'not_found' })
      expect(await remove(node, body.key_id, keyOf(B))).toMatchObject({ status: 404 })
      expect(await remove(node, body.key_id, keyOf(B), B)).toMatchObject({ status: 404 })
      expect(await node.deps.apiKeys.find(body.api_key, NOW)).toBeDefined()
      await remove(node, body.key_id)
      expect(await remove(node, body.key_id)).toMatchObject({ status: 404 })
    })
  })

  describe('GET …/keys', () => {
    it('lists page by page, and goes on when a key was deleted in between', async () => {
      const node = await begin()
      const made: string[] = []
      for (let i = 0; i < 5; i++) {
        node.clock.pass(1)
        made.push((await create(node)).body.key_id)
      }
      const { body: first } = await list(node, 'limit=2')
      await remove(node, made[1] as string)
      const { body: second } = await list(node, `limit=2&cursor=${first.next_cursor}`)
      const { body: third } = await list(node, `limit=2&cursor=${second.next_cursor}`)
      expect(
        [first, second, third].flatMap(({ items }) => items.map((row: { key_id: string }) => row.key_id)),
      ).toEqual(made)
      expect(third.next_cursor).toBeNull()
    })
  })
})
