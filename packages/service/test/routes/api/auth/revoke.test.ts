import { expect, it } from 'vitest'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { begin as beginAt, keyOf, openNode, operator } from '../../../node.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('POST /api/auth/revoke', (open) => {
  const begin = async () => {
    const begun = await beginAt(open())
    const { document, header } = await begun.issued()
    return {
      ...begun,
      header,
      token: await begun.node.tokenFor(document),
      other: await begun.node.tokenFor(document),
    }
  }

  it('revokes one token; its credential and other tokens live on', async () => {
    const { node, token, other, header, A } = await begin()
    expect((await node.revokeToken(token, keyOf(A), { reason: 'lost laptop' })).body).toEqual({
      success: true,
      revoked: true,
    })
    expect((await node.bearer(token)).code).toBe('token_invalid')
    expect((await node.bearer(other)).status).toBe(200)
    expect((await node.context(header)).status).toBe(200)
  })

  it('a second time there is nothing to revoke', async () => {
    const { node, token, store } = await begin()
    await node.revokeToken(token)
    const position = await store.logPosition()
    expect((await node.revokeToken(token)).body).toEqual({ success: true, revoked: false })
    expect(await store.logPosition()).toBe(position)
  })

  it('A143: unknown and foreign tokens are answered alike, nothing happens, and it is in the audit', async () => {
    const { node, token, store, B } = await begin()
    const position = await store.logPosition()
    for (const text of ['x', 'svc_at_nothing', `svc_at_${'B'.repeat(49)}`]) {
      expect((await node.revokeToken(text)).body).toEqual({ success: true, revoked: false })
    }
    expect((await node.revokeToken(token, keyOf(B))).body).toEqual({ success: true, revoked: false })
    expect(await store.logPosition()).toBe(position)
    expect((await node.bearer(token)).status).toBe(200)
    const rows = await store.auditRows(B, { after: undefined, limit: 10 })
    expect(rows.some(({ action }) => action.startsWith('token.'))).toBe(true)
  })

  it('the operator revokes tokens of any site', async () => {
    const { node, token } = await begin()
    expect((await node.revokeToken(token, operator)).body.revoked).toBe(true)
    expect((await node.introspect(token)).body).toEqual({ active: false })
  })

  it('A144: a store error is 503, never 200', async () => {
    const { node, token, store } = await begin()
    const { revokeToken } = store
    store.revokeToken = async () => {
      throw new StoreUnavailable('full')
    }
    expect((await node.revokeToken(token)).code).toBe('store_unavailable')
    expect((await node.revokeToken('x')).code).toBe('store_unavailable')
    store.revokeToken = revokeToken
    expect((await node.bearer(token)).status).toBe(200)
  })

  it('a token that another node has just revoked is not acknowledged before this node denies it', async () => {
    const { node, token, store, A } = await begin()
    const other = await openNode(store, A)
    await node.bearer(token)
    const [one, two] = await Promise.all([node.revokeToken(token), other.revokeToken(token)])
    expect([one.body.revoked, two.body.revoked].sort()).toEqual([false, true])
    expect((await node.bearer(token)).code).toBe('token_invalid')
    expect((await other.bearer(token)).code).toBe('token_invalid')
  })
})
