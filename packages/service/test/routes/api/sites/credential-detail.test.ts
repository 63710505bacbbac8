import type { Permission } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import type { Caller } from '../../../../src/answer.ts'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, trust } from '../../../node.ts'
import { delegated, issued, NOW, newParty } from '../../../party.ts'
import { credentialId, seen } from '../../../store/fixtures.ts'
import { forEachSharedStore } from '../../../stores.ts'

const HOUR = 3_600_000

forEachSharedStore('a credential', (open) => {
  const begin = async () => {
    const store = open()
    const [A, B] = [newSiteId(), newSiteId()]
    const node = await openAdminNode(store, A)
    const issuer = await newParty()
    for (const site_id of [A, B]) {
      await node.admin('create_site', { body: { site_id } })
      await trust(store, site_id, issuer)
    }
    await node.deps.views.waitFor(await store.logPosition())
    const get = async (id: string, caller: Caller = keyOf(A), site_id = A) =>
      node.ask('get_credential', { params: { site_id, credential_id: id }, caller })
    const list = async (query: string) =>
      node.ask('list_credentials', { params: { site_id: A }, query, caller: keyOf(A) })
    return { store, A, B, node, issuer, get, list }
  }

  it('is shown with its key, chain and descendants, and their status', async () => {
    const { A, node, issuer, get } = await begin()
    const [holder, agent, helper] = [await newParty(), await newParty(), await newParty()]
    const root = await issued(issuer, { siteId: A, holderKey: holder.did, delegable: true })
    const child = await delegated(root, holder, agent, { delegable: true })
    const leaf = await delegated(child, agent, helper)
    expect((await node.exchange(leaf.document, {}, { holder: helper })).status).toBe(200)
    // The root was never presented itself.
    expect((await get(root.id)).code).toBe('not_found')
    expect((await get(leaf.id)).body).toMatchObject({
      credential_id: leaf.id,
      issuer: issuer.did,
      issuer_key: issuer.keyId,
      source: 'exchanged',
      status: 'active',
      parents: [
        { credential_id: child.id, status: 'unknown', holder_bound: true },
        { credential_id: root.id, status: 'unknown', holder_bound: true },
      ],
      descendants: [],
      descendants_complete: true,
    })
    for (const [made, by] of [
      [child, agent],
      [root, holder],
    ] as const)
      expect((await node.exchange(made.document, {}, { holder: by })).status).toBe(200)
    const tree = (await get(root.id)).body
    expect(tree).toMatchObject({ parents: [], holder_bound: true })
    expect(tree.descendants).toHaveLength(2)
    expect(tree.descendants).toContainEqual(
      expect.objectContaining({ credential_id: child.id, parent_id: root.id, status: 'active' }),
    )
    expect(tree.descendants).toContainEqual(
      expect.objectContaining({ credential_id: leaf.id, parent_id: child.id, status: 'active' }),
    )
    await node.revokeCredential(child.id, { reason: 'lost' })
    expect((await get(leaf.id)).body).toMatchObject({
      status: 'revoked',
      parents: [{ status: 'revoked' }, { status: 'active' }],
    })
    expect((await get(root.id)).body.descendants.map(({ status }: { status: string }) => status)).toEqual([
      'revoked',
      'revoked',
    ])
  })

  it('shows a bounded number of descendants, and says so', async () => {
    const { A, store, get } = await begin()
    const root = seen(A)
    const parent = root.chain[0]
    if (parent === undefined) throw new Error('there is no chain')
    const children = Array.from({ length: 51 }, () => {
      const child = seen(A)
      return { ...child, chain: [...child.chain, parent] }
    })
    await store.recordCredentials([root, ...children.slice(0, 50)], NOW)
    expect((await get(root.credentialId)).body).toMatchObject({
      descendants_complete: true,
      issuer_key: null,
    })
    await store.recordCredentials(children, NOW)
    const { body } = await get(root.credentialId)
    expect(body.descendants).toHaveLength(50)
    expect(body.descendants_complete).toBe(false)
  })

  it('needs a key of its site that may read, and fresh data', async () => {
    const { A, B, node, issuer, get } = await begin()
    const made = await issued(issuer, { siteId: A })
    await node.exchange(made.document)
    const reader = { ...keyOf(A), permissions: ['site:read'] as Permission[] } as Caller
    const other = { ...keyOf(A), permissions: ['credentials:revoke', 'feed:read'] as Permission[] } as Caller
    expect((await get(made.id, reader)).status).toBe(200)
    expect((await get(made.id, other)).code).toBe('api_key_forbidden')
    expect((await get(made.id, keyOf(B))).code).toBe('not_found')
    expect((await get(made.id, keyOf(B), B)).code).toBe('not_found')
    expect((await get(credentialId())).code).toBe('not_found')
    expect((await get('nonsense')).code).toBe('not_found')
    node.deps.store.entriesAfter = () => Promise.reject(new StoreUnavailable('down'))
    node.clock.pass(2001)
    expect((await get(made.id)).code).toBe('store_unavailable')
  })

  it('is found by its issuer and issuer key, with a status', async () => {
    const { A, node, store, issuer, list } = await begin()
    const other = await newParty()
    await trust(store, A, other)
    await node.deps.views.waitFor(await store.logPosition())
    const [one, two] = [await issued(issuer, { siteId: A }), await issued(issuer, { siteId: A })]
    const third = await issued(other, { siteId: A })
    for (const { document } of [one, two, third]) await node.exchange(document)
    await node.revokeCredential(two.id)
    const find = async (query: string) =>
      (await list(query)).body.items.map(({ credential_id }: { credential_id: string }) => credential_id)
    const name = encodeURIComponent(issuer.did)
    expect(await find(`issuer=${name}&status=active`)).toEqual([one.id])
    expect(await find(`issuer=${name}&status=revoked`)).toEqual([two.id])
    expect(await find(`issuer=${name}&issuer_key=${issuer.keyId}&status=active`)).toEqual([one.id])
    expect(await find(`issuer=${name}&issuer_key=key-2&status=active`)).toEqual([])
    for (const query of [
      `issuer=${name}`,
      'issuer_key=key-1&status=active',
      `issuer=${name}&status=active&ppid=${one.ppid}`,
    ])
      expect((await list(query)).code).toBe('validation_failed')
  })

  it('is found by its source, with a status, and by its end', async () => {
    const { A, node, store, issuer, list } = await begin()
    const known = async (source: 'issued' | 'exchanged' | 'presented', endsInMs: number) => {
      const made = seen(A, { issuer: issuer.did, source, validUntilMs: NOW + endsInMs, createdMs: NOW })
      await store.recordCredentials([made], NOW + order++)
      return made.credentialId
    }
    let order = 0
    const late = await known('issued', 9 * HOUR)
    const soon = await known('issued', HOUR)
    const other = await known('exchanged', 2 * HOUR)
    const over = await known('exchanged', -HOUR)
    await node.revokeCredential(soon)
    const find = async (query: string) =>
      (await list(query)).body.items.map(({ credential_id }: { credential_id: string }) => credential_id)
    expect(await find('source=issued&status=active')).toEqual([late])
    expect(await find('source=issued&status=revoked')).toEqual([soon])
    expect(await find('source=presented&status=active')).toEqual([])
    expect(await find(`source=issued&status=active&issuer=${encodeURIComponent(issuer.did)}`)).toEqual([late])
    const before = (ms: number) => `expires_before=${new Date(NOW + ms).toISOString()}`
    // The first to expire first.
    expect(await find(before(99 * HOUR))).toEqual([over, soon, other, late])
    expect(await find(before(2 * HOUR))).toEqual([over, soon])
    expect(await find(`${before(99 * HOUR)}&status=active`)).toEqual([other, late])
    expect(await find(`${before(99 * HOUR)}&status=expired`)).toEqual([over])
    expect(await find(`${before(99 * HOUR)}&status=revoked`)).toEqual([soon])
    expect(await find(`${before(99 * HOUR)}&status=active&source=issued`)).toEqual([late])
    const { body } = await list(`${before(99 * HOUR)}&limit=2`)
    expect(await find(`${before(99 * HOUR)}&limit=2&cursor=${body.next_cursor}`)).toEqual([other, late])
    // A cursor is for one order.
    expect((await list(`cursor=${body.next_cursor}`)).code).toBe('cursor_malformed')
    for (const query of ['source=issued', 'source=x&status=active', 'expires_before=soon'])
      expect((await list(query)).code).toBe('validation_failed')
  })
})
