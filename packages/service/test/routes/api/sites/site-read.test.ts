import { type EndpointId, endpointList, type Permission } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import type { Caller } from '../../../../src/answer.ts'
import { newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, trust } from '../../../node.ts'
import { issued, newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const withOnly = (caller: Caller, ...permissions: Permission[]) => ({ ...caller, permissions }) as Caller

forEachSharedStore('A key with site:read', (open) => {
  const begin = async () => {
    const A = newSiteId()
    const store = open()
    const node = await openAdminNode(store, A)
    await node.admin('create_site', { body: { site_id: A } })
    const issuer = await newParty()
    await trust(store, A, issuer)
    await node.deps.views.waitFor(await store.logPosition())
    const params = { site_id: A, issuer: issuer.did }
    return { node, params, issuer, A, reader: withOnly(keyOf(A), 'site:read') }
  }

  it('reads sites, issuers, keys, webhooks, deliveries, credentials, tokens and the audit log', async () => {
    const { node, params, issuer, A, reader } = await begin()
    const key = await node.admin('create_key', { params, body: { permissions: ['feed:read'] } })
    const webhook = await node.admin('create_webhook', { params, body: { url: 'https://hooks.example/in' } })
    const one = await issued(issuer, { siteId: A })
    const token = await node.tokenFor(one.document)
    await node.deps.seen.flush()
    const { webhook_id, secret } = webhook.body
    const read = async (id: EndpointId) => {
      const answer = await node.ask(id, { params: { ...params, webhook_id }, caller: reader })
      expect([id, answer.status]).toEqual([id, 200])
      return JSON.stringify(answer.body)
    }
    expect(await read('list_sites')).toContain(A)
    expect(await read('read_site')).toContain(A)
    expect(await read('list_issuers')).toContain(issuer.did)
    expect(await read('get_issuer')).toContain(issuer.did)
    expect(await read('list_credentials')).toContain(one.id)
    const shown = [
      await read('list_keys'),
      await read('list_webhooks'),
      await read('list_deliveries'),
      await read('list_tokens'),
      await read('list_audit'),
    ]
    expect(shown[0]).toContain(key.body.key_id)
    expect(shown[1]).toContain(webhook_id)
    expect(shown[3]).toContain(one.ppid)
    expect(shown[4]).toContain('webhook.create')
    // No secret, not even a part of one except the last four characters of a key.
    for (const hidden of [key.body.api_key.slice(0, 30), secret.slice(6, 30), token.slice(0, 30)])
      for (const text of shown) expect(text).not.toContain(hidden)
  })

  it('changes nothing and reads no feed: every other endpoint of keys is api_key_forbidden', async () => {
    const { node, params, reader } = await begin()
    const others = endpointList.filter(
      ({ auth, permissions = [] }) =>
        /key|oauth_client/.test(auth) && auth !== 'api_key_optional' && !permissions.includes('site:read'),
    )
    expect(others.length).toBeGreaterThan(20)
    for (const { id, path, bodyTypes } of others) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
      const inPath = { ...Object.fromEntries(names.map((name) => [name, '1'])), ...params }
      const body = bodyTypes.length === 0 ? {} : { body: {} }
      const answer = await node.ask(id, { params: inPath, caller: reader, ...body })
      expect([id, answer.code]).toEqual([id, 'api_key_forbidden'])
    }
  })

  it('reads its own site only, and no other permission includes it but site:admin', async () => {
    const { node, params, A } = await begin()
    const list = async (caller: Caller) => (await node.ask('list_credentials', { params, caller })).code
    expect(await list(withOnly(keyOf(newSiteId()), 'site:read'))).toBe('not_found')
    const rest = ['tokens:introspect', 'tokens:revoke', 'credentials:issue', 'feed:read'] as const
    const revoking = ['credentials:revoke', 'credentials:reinstate'] as const
    expect(await list(withOnly(keyOf(A), ...rest, ...revoking))).toBe('api_key_forbidden')
    expect(await list(withOnly(keyOf(A), 'site:admin'))).toBe(undefined)
  })
})
