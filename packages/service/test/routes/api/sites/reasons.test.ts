import type { EndpointId } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import { newSiteId, openAdminNode } from '../../../admin-node.ts'
import { type Ask, keyOf } from '../../../node.ts'
import { newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const REASON = 'Schlüssel von Zoë verloren: 100 % sicher'
const inHeader = (text = REASON) => ({ fields: { 'x-reason': encodeURIComponent(text) } })

forEachSharedStore('Reasons of changes', (open) => {
  const begin = async () => {
    const A = newSiteId()
    const node = await openAdminNode(open(), A)
    const params = { site_id: A }
    const lastAudit = async () =>
      (await node.admin('list_audit', { params, query: 'limit=1' })).body.items[0] as Record<string, unknown>
    return { node, A, params, lastAudit }
  }

  it('are in the audit rows of sites, issuers, keys and webhooks', async () => {
    const { node, A, params, lastAudit } = await begin()
    const { did: issuer, keyId } = await newParty()
    const check = async (action: string, id: EndpointId, ask: Ask) => {
      const answer = await node.admin(id, ask)
      expect([action, answer.code, answer.status < 300]).toEqual([action, undefined, true])
      expect(await lastAudit()).toMatchObject({ action, reason: REASON })
      return answer.body
    }
    const reason = REASON
    await node.admin('create_site', { body: { site_id: A, reason } })
    const { items } = (await node.admin('list_audit', { params })).body
    expect(items).toContainEqual(expect.objectContaining({ action: 'site.create', reason }))
    await check('site.change', 'change_site', { params, body: { name: 'Shop', reason } })
    await check('issuer.add', 'add_issuer', { params, body: { issuer, reason } })
    const ofIssuer = { ...params, issuer }
    await check('issuer.change', 'change_issuer', { params: ofIssuer, body: { label: 'x', reason } })
    const ofKey = { ...ofIssuer, key: keyId }
    await check('issuer_key.change', 'change_issuer_key', {
      params: ofKey,
      body: { status: 'retired', reason },
    })
    const body = { permissions: ['feed:read'], reason }
    const { key_id } = await check('api_key.create', 'create_key', { params, body })
    await check('api_key.change', 'change_key', {
      params: { ...params, key_id },
      body: { label: 'y', reason },
    })
    await check('api_key.delete', 'delete_key', { params: { ...params, key_id }, ...inHeader() })
    const url = 'https://hooks.example/in'
    const { webhook_id } = await check('webhook.create', 'create_webhook', { params, body: { url, reason } })
    await check('webhook.delete', 'delete_webhook', { params: { ...params, webhook_id }, ...inHeader() })
  })

  it('never reach the log, which verifiers and webhooks read', async () => {
    const { node, A, params } = await begin()
    await node.admin('create_site', { body: { site_id: A, reason: REASON } })
    const { did: issuer } = await newParty()
    await node.admin('add_issuer', { params, body: { issuer, reason: REASON } })
    const entries = await node.deps.store.siteEntriesAfter(A, 0, 100)
    expect(entries.map(({ kind }) => kind)).toContain('issuer.trusted')
    expect(JSON.stringify(entries)).not.toContain('Schlüssel')
  })

  it('are one line of at most 256 characters, in percent-encoded UTF-8 in a header', async () => {
    const { node, A, params, lastAudit } = await begin()
    await node.admin('create_site', { body: { site_id: A } })
    const create = () => node.admin('create_key', { params, body: { permissions: ['feed:read'] } })
    const remove = async (fields: Record<string, string>, key_id: string) =>
      node.admin('delete_key', { params: { ...params, key_id }, fields })
    const { key_id } = (await create()).body
    for (const value of [
      '%',
      '%zz',
      '%ff',
      'ä',
      'a%0Ab',
      'a%00b',
      'x'.repeat(257),
      encodeURIComponent('a\u2028b'),
    ]) {
      const answer = await remove({ 'x-reason': value }, key_id)
      expect([value, answer.status, answer.code]).toEqual([value, 422, 'validation_failed'])
    }
    expect((await remove({ 'x-reason': encodeURIComponent('é'.repeat(256)) }, key_id)).status).toBe(204)
    expect(await lastAudit()).toMatchObject({ reason: 'é'.repeat(256) })
    expect((await remove({ 'x-reason': 'plain text' }, (await create()).body.key_id)).status).toBe(204)
    expect(await lastAudit()).toMatchObject({ reason: 'plain text' })
  })

  it('in a header are ignored where the endpoint has none', async () => {
    const { node, A, params, lastAudit } = await begin()
    await node.admin('create_site', { body: { site_id: A } })
    await node.admin('change_site', { params, body: { name: 'Shop' }, ...inHeader() })
    expect(await lastAudit()).toMatchObject({ action: 'site.change', reason: null })
    // An erasure must not store a text about the person.
    await node.admin('erase_user', { params, body: { user_ref: 'alice' }, ...inHeader() })
    expect(await lastAudit()).toMatchObject({ action: 'user.erase', reason: null })
  })

  it('are part of a DELETE that is repeated: another reason with the same Idempotency-Key is a conflict', async () => {
    const { node, A, params } = await begin()
    await node.admin('create_site', { body: { site_id: A } })
    const { key_id } = (await node.admin('create_key', { params, body: { permissions: ['feed:read'] } })).body
    const remove = async (reason: string) =>
      node.ask('delete_key', {
        params: { ...params, key_id },
        caller: keyOf(A),
        fields: { 'x-reason': reason, 'idempotency-key': 'once' },
      })
    expect((await remove('leaked')).status).toBe(204)
    expect((await remove('leaked')).status).toBe(204)
    expect((await remove('other')).code).toBe('idempotency_conflict')
  })
})
