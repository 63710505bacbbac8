import { expect, it } from 'vitest'
import type { Caller } from '../../../../src/answer.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { anonymous, keyOf, operator } from '../../../node.ts'
import { NOW } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('Operator keys over HTTP', (open) => {
  const begin = () => openAdminNode(open(), newSiteId())
  const create = async (node: AdminNode, body: object = {}) =>
    (await node.admin('create_operator_key', { body })).body as { key_id: string; api_key: string }
  const asKey = (keyId: string) => ({ ...operator, keyId })
  const remove = (node: AdminNode, key_id: string, caller: Caller = operator) =>
    node.ask('delete_operator_key', { params: { key_id }, caller })
  /** Others that share the store may have operator keys, so all are deleted first. */
  const deleteAll = async ({ deps }: AdminNode) => {
    const context = { actor: 'operator', atMs: NOW }
    for (const { keyId } of await deps.store.apiKeys(null, { after: undefined, limit: 1000 }))
      await deps.store.deleteApiKey(null, keyId, context)
  }
  const list = async (node: AdminNode) => {
    const { status, body } = await node.admin('list_operator_keys', { query: 'limit=200' })
    expect(status).toBe(200)
    return body.items as { key_id: string }[]
  }

  it('201: creates a key that may do everything, and shows it once', async () => {
    const node = await begin()
    await deleteAll(node)
    const made = await create(node, { label: 'deployment', expires_in_seconds: 60, reason: 'second one' })
    expect(made).toEqual({
      key_id: expect.stringMatching(/^key_/),
      api_key: expect.stringMatching(/^svc_sk_[0-9A-Za-z]{49}$/),
    })
    expect(await node.deps.apiKeys.find(made.api_key, NOW)).toMatchObject({ siteId: null, permissions: [] })
    expect(await node.deps.apiKeys.find(made.api_key, NOW + 60_000)).toBeUndefined()
    const keys = await list(node)
    expect(keys).toEqual([
      {
        key_id: made.key_id,
        label: 'deployment',
        last4: made.api_key.slice(-4),
        created_at: '2026-11-14T12:00:00Z',
        created_by: { type: 'operator', id: operator.kind === 'operator' ? operator.keyId : '' },
        expires_at: '2026-11-14T12:01:00Z',
        last_used_at: null,
      },
    ])
    const [audit] = await node.deps.store.auditRows(null, { after: undefined, limit: 1 })
    expect(audit).toMatchObject({
      action: 'api_key.create',
      target: made.key_id,
      detail: { reason: 'second one' },
    })
    expect(JSON.stringify([keys, audit, node.logged])).not.toContain(made.api_key.slice(7, 20))
  })

  it('200: changes and removes the label, and nothing else', async () => {
    const node = await begin()
    const { key_id, api_key } = await create(node, { label: 'old' })
    const change = (body: object, id = key_id) =>
      node.admin('change_operator_key', { params: { key_id: id }, body })
    expect((await change({ label: 'new', reason: 'renamed' })).body).toMatchObject({ key_id, label: 'new' })
    expect((await change({ label: null })).body).toMatchObject({ label: null })
    expect(await node.deps.apiKeys.find(api_key, NOW)).toMatchObject({ siteId: null, permissions: [] })
    expect((await change({ label: 'x' }, `${key_id}x`)).code).toBe('not_found')
    expect((await change({ label: 'x', permissions: [] })).code).toBe('validation_failed')
    expect((await change({})).code).toBe('validation_failed')
  })

  it('204: deletes another key, which stops working immediately', async () => {
    const node = await begin()
    const [one, two] = [await create(node), await create(node)]
    expect(await node.deps.apiKeys.find(one.api_key, NOW)).toBeDefined()
    expect((await remove(node, one.key_id, asKey(two.key_id))).status).toBe(204)
    expect(await node.deps.apiKeys.find(one.api_key, NOW)).toBeUndefined()
    expect((await remove(node, one.key_id, asKey(two.key_id))).code).toBe('not_found')
  })

  it('409: neither the key of the request nor the last valid key can be deleted', async () => {
    const node = await begin()
    await deleteAll(node)
    const one = await create(node)
    // An expired key does not replace it.
    const expiring = await create(node, { expires_in_seconds: 1 })
    await node.later(2000)
    const own = await remove(node, one.key_id, asKey(one.key_id))
    expect([own.status, own.code]).toEqual([409, 'key_in_use'])
    expect(own.body.detail).toContain('key of the request itself')
    const last = await remove(node, one.key_id, asKey(expiring.key_id))
    expect([last.status, last.code]).toEqual([409, 'key_in_use'])
    expect(last.body.detail).toContain('countersign delete-operator-key')
    expect(await node.deps.apiKeys.find(one.api_key, node.clock.nowMs())).toBeDefined()
    const other = await create(node)
    expect((await remove(node, one.key_id, asKey(other.key_id))).status).toBe(204)
  })

  it('two operators that delete each other at the same time do not both succeed', async () => {
    const node = await begin()
    await deleteAll(node)
    const [one, two] = [await create(node), await create(node)]
    const answers = await Promise.all([
      remove(node, one.key_id, asKey(two.key_id)),
      remove(node, two.key_id, asKey(one.key_id)),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409])
    expect(await list(node)).toHaveLength(1)
  })

  it('is for operators only: keys of sites cannot see or touch them', async () => {
    const node = await begin()
    const { key_id } = await create(node)
    const site = newSiteId()
    await node.admin('create_site', { body: { site_id: site } })
    const { body: ofSite } = await node.admin('create_key', {
      params: { site_id: site },
      body: { permissions: ['feed:read'] },
    })
    for (const caller of [keyOf(site), anonymous]) {
      const codes = [
        await node.ask('list_operator_keys', { caller }),
        await node.ask('create_operator_key', { caller, body: {} }),
        await node.ask('change_operator_key', { caller, params: { key_id }, body: { label: 'x' } }),
        await remove(node, key_id, caller),
        await node.ask('list_nodes', { caller }),
      ].map(({ code }) => code)
      const code = caller === anonymous ? 'api_key_missing' : 'api_key_forbidden'
      expect(codes).toEqual([code, code, code, code, code])
    }
    // And the keys of a site are no operator keys, in either direction.
    expect((await remove(node, ofSite.key_id)).code).toBe('not_found')
    const params = { key_id: ofSite.key_id }
    expect((await node.admin('change_operator_key', { params, body: { label: 'x' } })).code).toBe('not_found')
    const atSite = { site_id: site, key_id }
    expect((await node.admin('delete_key', { params: atSite })).code).toBe('not_found')
    expect((await node.admin('change_key', { params: atSite, body: { label: 'x' } })).code).toBe('not_found')
    expect((await list(node)).map((key) => key.key_id)).not.toContain(ofSite.key_id)
  })
})
