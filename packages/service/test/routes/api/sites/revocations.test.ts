import { createHash } from 'node:crypto'
import type { Ppid } from '@countersign/core'
import type { Permission } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import type { Caller } from '../../../../src/answer.ts'
import type { Deps } from '../../../../src/deps.ts'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, openNode, type Told, trust } from '../../../node.ts'
import { issued, NOW, newCredentialId, newParty, newPpid } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

forEachSharedStore('POST /api/sites/{site_id}/revocations', (open) => {
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
    const make = async () => {
      const made = await issued(issuer, { siteId: A })
      const token = await node.tokenFor(made.document)
      const tokenId = (await store.token(sha256(token)))?.jti ?? ''
      return { ...made, token, tokenId }
    }
    const revoke = (
      targets: unknown,
      {
        caller = keyOf(A),
        site_id = A,
        ...more
      }: { caller?: Caller; site_id?: string; reason?: string } = {},
    ) => node.ask('revoke_targets', { params: { site_id }, caller, body: { targets, ...more } })
    const entries = async (after: number) => store.siteEntriesAfter(A, after, 1000)
    const headSeq = () => node.deps.views.view(A)?.head.seq ?? 0
    return { store, A, B, node, issuer, make, revoke, entries, headSeq }
  }

  it('revokes users, credentials and tokens together, each with its entry and audit row', async () => {
    const { store, A, node, make, revoke, entries, headSeq } = await begin()
    const [one, two, three, other] = [await make(), await make(), await make(), await make()]
    const before = headSeq()
    const unseen = newCredentialId()
    const { body } = await revoke(
      [{ ppid: one.ppid }, { credential_id: two.id }, { token_id: three.tokenId }, { credential_id: unseen }],
      { reason: 'breach' },
    )
    expect(body).toEqual({
      success: true,
      site_id: A,
      results: [
        { type: 'user', ids: [one.ppid], outcome: 'revoked', seq: before + 1 },
        { type: 'credential', ids: [two.id], outcome: 'revoked', seq: before + 2 },
        { type: 'token', ids: [three.tokenId], outcome: 'revoked', seq: before + 4 },
        { type: 'credential', ids: [unseen], outcome: 'revoked', seq: before + 3 },
      ],
      revoked: 4,
      already_revoked: 0,
      not_found: 0,
      tokens_revoked: 3,
      revoked_at: '2026-11-14T12:00:00Z',
      epoch: store.epoch,
      seq: before + 4,
    })
    // The node denies before it answers.
    for (const { header } of [one, two]) expect((await node.context(header)).code).toBe('credential_revoked')
    for (const { token } of [one, two, three]) expect((await node.bearer(token)).code).toBe('token_invalid')
    for (const { header } of [three, other]) expect((await node.context(header)).status).toBe(200)
    expect((await entries(before)).map(({ kind }) => kind)).toEqual([
      'user.revoked',
      'credential.revoked',
      'credential.revoked',
      'token.revoked',
    ])
    const rows = await store.auditRows(A, { after: undefined, limit: 4 })
    expect(rows.map(({ detail }) => detail.reason)).toEqual(Array(4).fill('breach'))
  })

  it('names users as revoke-user does, and revokes each id once', async () => {
    const { node, A, revoke, entries, headSeq } = await begin()
    const resolved = await node.admin('resolve_user', { params: { site_id: A }, body: { user_ref: 'alice' } })
    const ids = resolved.body.users.map(({ ppid }: { ppid: string }) => ppid)
    const before = headSeq()
    const { body } = await revoke([{ user_ref: 'alice' }, { ppid: ids[0] }, { user_ref: 'alice' }])
    expect(body).toMatchObject({ revoked: 3, results: [{ ids }, { ids: [ids[0]] }, { ids }] })
    expect(await entries(before)).toHaveLength(2)
    const again = await revoke([{ user_ref: 'alice' }, { user_ref: 'bob' }])
    expect(again.body.results.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'already_revoked',
      'revoked',
    ])
  })

  it('a repeated request changes nothing, and unknown, foreign and expired tokens are not found', async () => {
    const { B, node, make, revoke, headSeq } = await begin()
    const [one, two] = [await make(), await make()]
    const targets = [{ ppid: one.ppid }, { token_id: two.tokenId }]
    const first = await revoke(targets)
    const seq = headSeq()
    const { body } = await revoke(targets)
    expect(body).toMatchObject({ revoked: 0, already_revoked: 2, tokens_revoked: 0 })
    expect(body.results[0].seq).toBe(first.body.results[0].seq)
    const nothing = { revoked: 0, not_found: 1 }
    expect((await revoke([{ token_id: 'tok_unknown' }])).body).toMatchObject({ ...nothing, seq })
    const foreign = await make()
    expect(
      (await revoke([{ token_id: foreign.tokenId }], { caller: keyOf(B), site_id: B })).body,
    ).toMatchObject(nothing)
    expect((await node.bearer(foreign.token)).status).toBe(200)
    expect(headSeq()).toBe(seq)
    await node.later(3_600_000)
    expect((await revoke([{ token_id: foreign.tokenId }])).body).toMatchObject(nothing)
  })

  it('is all or nothing (A144)', async () => {
    const { store, A, node, make, headSeq } = await begin()
    const [one, two] = [await make(), await make()]
    const seq = headSeq()
    // The last target cannot be written: no entry can have such an id.
    const order = {
      siteId: A,
      ppids: [one.ppid as Ppid],
      credentialIds: [two.id as never, 'not an id' as never],
      jtis: [],
      reason: undefined,
    }
    await expect(
      store.revokeAll(order, { actor: 'operator', atMs: NOW, requestId: undefined }),
    ).rejects.toThrow()
    await node.later(1)
    expect(headSeq()).toBe(seq)
    for (const { header, token } of [one, two]) {
      expect((await node.context(header)).status).toBe(200)
      expect((await node.bearer(token)).status).toBe(200)
    }
    expect(
      (await node.ask('get_user', { params: { site_id: A, ppid: one.ppid }, caller: keyOf(A) })).body,
    ).toMatchObject({ status: 'active', history: [] })
  })

  it('a store error is 503, never 200', async () => {
    const { store, revoke } = await begin()
    store.revokeAll = async () => {
      throw new StoreUnavailable('full')
    }
    expect((await revoke([{ ppid: newPpid() }])).code).toBe('store_unavailable')
  })

  it('rows that say "already revoked" are not believed against the log (A271)', async () => {
    const { store, node, make, revoke } = await begin()
    const [one, two] = [await make(), await make()]
    const { revokeAll } = store
    let calls = 0
    // As if another program had written the row of the first user.
    store.revokeAll = async (order, context, unconfirmed) => {
      if (calls++ > 0) return revokeAll(order, context, unconfirmed)
      const rest = await revokeAll({ ...order, ppids: order.ppids.slice(1) }, context)
      const planted = { ...rest.users[0], ppid: one.ppid as Ppid, seq: 1, alreadyRevoked: true }
      return { ...rest, users: [planted as never, ...rest.users], alreadyRevoked: true, position: 0 }
    }
    const { body } = await revoke([{ ppid: one.ppid }, { ppid: two.ppid }])
    expect(body).toMatchObject({ revoked: 2, already_revoked: 0 })
    for (const { header } of [one, two]) expect((await node.context(header)).code).toBe('credential_revoked')
  })

  it('revokes 200 at a time, also while others revoke the same', { tags: 'long' }, async () => {
    const { store, A, node, make, revoke, entries, headSeq } = await begin()
    const made = await Promise.all(Array.from({ length: 3 }, make))
    const ppids = [...made.map(({ ppid }) => ppid), ...Array.from({ length: 197 }, newPpid)]
    const before = headSeq()
    const other = await openNode(store, A)
    // On a machine with much else to do a database may take too long: a client tries again.
    let tries = 0
    const untilDone = async (ask: () => Promise<Told>): Promise<Told> => {
      for (;;) {
        tries++
        const answer = await ask()
        if (answer.code !== 'store_unavailable') return answer
      }
    }
    const [all, reversed, ...single] = await Promise.all([
      untilDone(() => revoke(ppids.map((ppid) => ({ ppid })))),
      untilDone(() =>
        other.ask('revoke_targets', {
          params: { site_id: A },
          caller: keyOf(A),
          body: { targets: ppids.toReversed().map((ppid) => ({ ppid })) },
        }),
      ),
      ...made.map(({ token }) => untilDone(() => other.revokeToken(token))),
      ...made.map(({ id }) => untilDone(() => other.revokeCredential(id))),
    ])
    expect([all.status, reversed.status, ...single.map(({ status }) => status)]).toEqual(Array(8).fill(200))
    // The answer to a try that was not waited for is not known.
    if (tries === 8) expect(all.body.revoked + reversed.body.revoked).toBe(200)
    const kinds = (await entries(before)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'user.revoked')).toHaveLength(200)
    for (const { header } of made) expect((await node.context(header)).code).toBe('credential_revoked')
    expect((await revoke([...ppids, newPpid()].map((ppid) => ({ ppid })))).code).toBe('validation_failed')
  })

  it('runs one at a time; a site that sends many delays no other site', async () => {
    const { store, B, node, revoke, entries, headSeq } = await begin()
    const before = headSeq()
    const { revokeAll } = store
    const gate = Promise.withResolvers<void>()
    const running = { now: 0, most: 0, begun: 0 }
    store.revokeAll = async (...order) => {
      running.begun++
      running.most = Math.max(running.most, ++running.now)
      await gate.promise
      return revokeAll(...order).finally(() => running.now--)
    }
    const answered: number[] = []
    const many = Array.from({ length: 40 }, async () => {
      const answer = await revoke([{ ppid: newPpid() }, { ppid: newPpid() }])
      answered.push(answer.status)
      return answer
    })
    await expect.poll(() => answered.length).toBe(39)
    const atB = { caller: keyOf(B), site_id: B }
    const waiting = revoke([{ ppid: newPpid() }], atB)
    await expect.poll(() => node.deps.bulkRevocations.size).toBe(2)
    // One runs and one waits; single revocations wait for neither.
    const single = await node.revokeUser(newPpid(), { siteId: B, caller: keyOf(B) })
    expect([single.status, running.begun]).toEqual([200, 1])
    const rejected = await revoke([{ ppid: newPpid() }], atB)
    expect([rejected.code, rejected.headers['retry-after']]).toEqual(['rate_limited', '1'])
    gate.resolve()
    expect((await waiting).status).toBe(200)
    const answers = await Promise.all(many)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ code }) => code === 'rate_limited')).toHaveLength(39)
    expect(running).toEqual({ now: 0, most: 1, begun: 2 })
    expect(await entries(before)).toHaveLength(2)
    expect(node.deps.bulkRevocations.size).toBe(0)
    expect((await revoke([{ ppid: newPpid() }])).status).toBe(200)
  })

  it('one that is rejected does not use its Idempotency-Key, and one that fails ends', async () => {
    const { store, A, node, revoke } = await begin()
    const { beginIdempotent, revokeAll } = store
    let begun = 0
    store.beginIdempotent = (...key) => {
      begun++
      return beginIdempotent(...key)
    }
    const end = node.deps.bulkRevocations.begin(A)
    const body = { targets: [{ ppid: newPpid() }] }
    const fields = { 'idempotency-key': 'incident-1' }
    const ask = () => node.ask('revoke_targets', { params: { site_id: A }, caller: keyOf(A), body, fields })
    expect([(await ask()).code, begun]).toEqual(['rate_limited', 0])
    end()
    store.revokeAll = () => Promise.reject(new StoreUnavailable('full'))
    expect([(await ask()).code, begun]).toEqual(['store_unavailable', 1])
    store.revokeAll = revokeAll
    expect((await revoke(body.targets)).status).toBe(200)
  })

  it('counts as many requests as it has targets against the limit of the key', async () => {
    const { A, node, revoke } = await begin()
    const counted: unknown[] = []
    const record: Deps['rateLimiter']['record'] = (name, caller, _, times) =>
      counted.push([name, caller, times])
    Object.assign(node.deps, { rateLimiter: { ...node.deps.rateLimiter, record } })
    await revoke(Array.from({ length: 5 }, () => ({ ppid: newPpid() })))
    expect(counted).toEqual([['key', `key_${A}`, 4]])
  })

  it('waits for verifiers with Prefer: wait', async () => {
    const { node, A } = await begin()
    const body = { targets: [{ ppid: newPpid() }] }
    const params = { site_id: A }
    const told = await node.ask('revoke_targets', { params, caller: keyOf(A), body, preferWaitSeconds: 1 })
    expect(told.body.propagation).toMatchObject({ connected: 0 })
  })

  it('A149: needs a key of the site with credentials:revoke', async () => {
    const { A, B, revoke } = await begin()
    const targets = [{ ppid: newPpid() }]
    const allowed = (...permissions: Permission[]) => ({ ...keyOf(A), permissions }) as Caller
    expect((await revoke(targets, { caller: keyOf(B) })).code).toBe('not_found')
    const others: Permission[] = ['site:admin', 'site:read', 'tokens:revoke', 'credentials:reinstate']
    expect((await revoke(targets, { caller: allowed(...others) })).code).toBe('api_key_forbidden')
    expect((await revoke(targets, { caller: allowed('credentials:revoke') })).status).toBe(200)
  })
})
