import { createHash } from 'node:crypto'
import type { Permission } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import type { Caller } from '../../../../src/answer.ts'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { AUDIT_REJECTED } from '../../../../src/store/operations/shared/record-audit.ts'
import { begin as beginAt, keyOf, openNode, operator, type Told } from '../../../node.ts'
import { forEachSharedStore } from '../../../stores.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

forEachSharedStore('POST /api/sites/{site_id}/tokens/{token_id}/revoke', (open) => {
  const begin = async () => {
    const begun = await beginAt(open())
    const { node, A, store } = begun
    const { document, header, ppid } = await begun.issued()
    const [token, other] = [await node.tokenFor(document), await node.tokenFor(document)]
    const found = await store.token(sha256(token))
    if (found === undefined) throw new Error('there is no token')
    const revoke = (
      token_id = found.jti,
      { caller = keyOf(A), site_id = A, ...more }: { caller?: Caller; site_id?: string; body?: object } = {},
    ): Promise<Told> => node.ask('revoke_token_by_id', { params: { site_id, token_id }, caller, ...more })
    return { ...begun, header, ppid, token, other, tokenId: found.jti, revoke }
  }

  it('revokes one token without the token; its credential and other tokens stay valid', async () => {
    const { node, token, other, header, tokenId, revoke, store, A } = await begin()
    const { body } = await revoke(tokenId, { body: { reason: 'lost laptop' } })
    const { seq } = node.deps.views.view(A)?.head ?? {}
    expect(body).toEqual({ success: true, token_id: tokenId, revoked: true, epoch: store.epoch, seq })
    expect((await node.bearer(token)).code).toBe('token_invalid')
    expect((await node.bearer(other)).status).toBe(200)
    expect((await node.context(header)).status).toBe(200)
    const [audit] = await store.auditRows(A, { after: undefined, limit: 1 })
    expect(audit).toMatchObject({
      action: 'token.revoke',
      target: tokenId,
      detail: { outcome: 'done', reason: 'lost laptop', seq },
    })
  })

  it('has the same entry and receipt as a revocation with the token itself', async () => {
    const { node, token, other, revoke, store, A } = await begin()
    const { body } = await node.ask('revoke_token_by_id', {
      params: { site_id: A, token_id: (await store.token(sha256(token)))?.jti ?? '' },
      caller: keyOf(A),
      preferWaitSeconds: 1,
    })
    expect(body.propagation).toMatchObject({ connected: 0 })
    await node.revokeToken(other)
    const entries = await store.siteEntriesAfter(A, body.seq - 1, 2)
    expect(entries).toMatchObject([
      { kind: 'token.revoked', body: { token_sha256: sha256(token) } },
      { kind: 'token.revoked', body: { token_sha256: sha256(other) } },
    ])
    expect((await revoke()).body.revoked).toBe(false)
  })

  it('a second time there is nothing to revoke, nor when the user was revoked', async () => {
    const { node, other, ppid, revoke, tokenId, store } = await begin()
    await revoke()
    const position = await store.logPosition()
    const nothing = { success: true, token_id: tokenId, revoked: false, epoch: null, seq: null }
    expect((await revoke()).body).toEqual(nothing)
    expect(await store.logPosition()).toBe(position)
    await node.revokeUser(ppid)
    const second = await store.token(sha256(other))
    expect((await revoke(second?.jti)).body.revoked).toBe(false)
  })

  it('A143: unknown, foreign and expired tokens are answered alike, nothing happens, and it is in the audit', async () => {
    const { node, token, tokenId, revoke, store, A, B } = await begin()
    const position = await store.logPosition()
    expect((await revoke('tok_unknown')).body).toMatchObject({ revoked: false })
    expect((await revoke(tokenId, { caller: keyOf(B), site_id: B })).body).toMatchObject({ revoked: false })
    expect((await revoke(tokenId, { caller: operator, site_id: B })).body).toMatchObject({ revoked: false })
    expect((await node.bearer(token)).status).toBe(200)
    const [audit] = await store.auditRows(A, { after: undefined, limit: 1 })
    expect(audit).toMatchObject({ target: 'tok_unknown', detail: { outcome: AUDIT_REJECTED } })
    await node.later(3_600_000)
    expect((await revoke()).body).toMatchObject({ revoked: false })
    expect(await store.logPosition()).toBe(position)
  })

  it('A149: a key of another site, or without tokens:revoke, is rejected', async () => {
    const { node, token, tokenId, revoke, A, B } = await begin()
    expect((await revoke(tokenId, { caller: keyOf(B) })).code).toBe('not_found')
    const reader = {
      ...keyOf(A),
      permissions: ['site:admin', 'credentials:revoke'] as Permission[],
    } as Caller
    expect((await revoke(tokenId, { caller: reader })).code).toBe('api_key_forbidden')
    expect((await revoke('no id', {})).code).toBe('not_found')
    expect((await revoke(tokenId, { body: { reason: 'a\nb' } })).code).toBe('validation_failed')
    expect((await revoke(tokenId, { body: { token } })).code).toBe('validation_failed')
    expect((await node.bearer(token)).status).toBe(200)
    expect((await revoke(tokenId, { caller: operator })).body.revoked).toBe(true)
  })

  it('A144: a store error is 503, never 200', async () => {
    const { node, token, revoke, store } = await begin()
    store.revokeTokenById = async () => {
      throw new StoreUnavailable('full')
    }
    expect((await revoke()).code).toBe('store_unavailable')
    expect((await node.bearer(token)).status).toBe(200)
  })

  it('returns when this node denies, also if another node has just revoked it', async () => {
    const { node, token, tokenId, revoke, store, A } = await begin()
    const other = await openNode(store, A)
    await node.bearer(token)
    const params = { site_id: A, token_id: tokenId }
    const [one, two] = await Promise.all([
      revoke(),
      other.ask('revoke_token_by_id', { params, caller: keyOf(A) }),
    ])
    expect([one.body.revoked, two.body.revoked].sort()).toEqual([false, true])
    expect((await node.bearer(token)).code).toBe('token_invalid')
    expect((await other.bearer(token)).code).toBe('token_invalid')
  })

  it('the list finds a token by its hash, at its own site only', async () => {
    const { node, token, tokenId, A, B } = await begin()
    const list = async (site_id: string, hash: string) => {
      const query = `token_sha256=${hash}`
      return node.ask('list_tokens', { params: { site_id }, query, caller: operator })
    }
    expect((await list(A, sha256(token))).body).toMatchObject({
      items: [{ token_id: tokenId, status: 'active' }],
      next_cursor: null,
    })
    expect((await list(B, sha256(token))).body.items).toEqual([])
    expect((await list(A, sha256('x'))).body.items).toEqual([])
    expect((await list(A, token)).code).toBe('validation_failed')
  })
})
