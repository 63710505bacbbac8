import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { withoutHandOver } from '../../../log/without-hand-over.ts'
import { anonymous, begin as beginAt, createSite, keyOf, NOWHERE, openNode, operator } from '../../../node.ts'
import { delegated, NOW, newParty, newPpid } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('POST /api/wallet/revoke-user', (open) => {
  const begin = () => beginAt(open())

  describe('200', () => {
    it('A175: takes all credentials and tokens of the user, also those never seen', async () => {
      const { node, store, issued } = await begin()
      const ppid = newPpid()
      const [one, two, unseen] = [await issued({ ppid }), await issued({ ppid }), await issued({ ppid })]
      const token = await node.tokenFor(one.document)
      node.clock.pass(10)
      await node.context(two.header)
      await node.deps.seen.flush()
      const { status, body } = await node.revokeUser(ppid, { reason: 'left' })
      expect(status).toBe(200)
      expect(body).toEqual({
        success: true,
        credential_id: two.id,
        revocation_type: 'user',
        credential_ids: [two.id, one.id],
        already_revoked: false,
        revoked_at: '2026-11-14T12:00:00.010Z',
        tokens_revoked: 1,
        entries: [{ ppid, seq: 3, already_revoked: false }],
        epoch: store.epoch,
        seq: 3,
      })
      for (const { header } of [one, two, unseen])
        expect((await node.context(header)).code).toBe('credential_revoked')
      expect((await node.bearer(token)).code).toBe('token_invalid')
    })

    it('A174: a user never seen is revoked all the same', async () => {
      const { node, issued } = await begin()
      const ppid = newPpid()
      const { body } = await node.revokeUser(ppid)
      expect([body.credential_id, body.credential_ids, body.tokens_revoked]).toEqual([null, [], 0])
      const later = await issued({ ppid })
      expect((await node.context(later.header)).code).toBe('credential_revoked')
      expect((await node.exchange(later.document)).code).toBe('credential_revoked')
    })

    it('I-17: again gives the whole first answer, and adds nothing to the log', async () => {
      const { node, store, issued } = await begin()
      const { ppid, document } = await issued()
      await node.tokenFor(document)
      const first = await node.revokeUser(ppid, { reason: 'first' })
      const position = await store.logPosition()
      node.clock.pass(1000)
      const again = await node.revokeUser(ppid, { reason: 'second' })
      const entries = [{ ppid, seq: first.body.seq, already_revoked: true }]
      expect(again.body).toEqual({ ...first.body, already_revoked: true, entries })
      expect(await store.logPosition()).toBe(position)
    })

    it('does not touch the same user at another site, nor other users', async () => {
      const { node, B, issued } = await begin()
      const ppid = newPpid()
      await node.revokeUser(ppid, { siteId: B, caller: keyOf(B) })
      expect((await node.context((await issued({ ppid })).header)).status).toBe(200)
    })

    it('the operator revokes at any site', async () => {
      const { node, issued } = await begin()
      const { ppid, header } = await issued()
      expect((await node.revokeUser(ppid, { caller: operator })).status).toBe(200)
      expect((await node.context(header)).code).toBe('credential_revoked')
    })

    it('with Prefer: wait says how far it has got', async () => {
      const { node } = await begin()
      const { body, headers } = await node.revokeUser(newPpid(), { preferWaitSeconds: 5 })
      expect(body.propagation).toMatchObject({ connected: 0, acknowledged: 0, elapsed_ms: 0, laggards: [] })
      expect(headers['preference-applied']).toBe('wait=5')
      expect((await node.revokeUser(newPpid())).body.propagation).toBeUndefined()
    })

    it('leaves an audit row that names the key and the reason', async () => {
      const { node, store, A } = await begin()
      const ppid = newPpid()
      await node.revokeUser(ppid, { reason: 'left' })
      const [row] = await store.auditRows(A, { after: undefined, limit: 1 })
      expect(row).toMatchObject({
        target: ppid,
        context: { actor: `key:key_${A}`, atMs: NOW, requestId: 'req_1' },
      })
      expect(JSON.stringify(row)).toContain('left')
    })
  })

  describe('by the user', () => {
    const self = (header: string) => ({ caller: anonymous, fields: { 'x-service-credential': header } })

    it('works with a root credential of that user at that site', async () => {
      const { node, store, A, issued } = await begin()
      const { ppid, header, document, id } = await issued()
      const token = await node.tokenFor(document)
      expect((await node.revokeUser(ppid, self(header))).status).toBe(200)
      expect((await node.context(header)).code).toBe('credential_revoked')
      expect((await node.bearer(token)).code).toBe('token_invalid')
      const [row] = await store.auditRows(A, { after: undefined, limit: 1 })
      expect(row?.context.actor).toBe(`holder:${id}`)
    })

    it('needs the holder proof when the credential is bound', async () => {
      const { node, issued } = await begin()
      const holder = await newParty()
      const { ppid, header } = await issued({ holderKey: holder.did })
      expect((await node.revokeUser(ppid, self(header))).code).toBe('proof_required')
      expect((await node.revokeUser(ppid, { ...self(header), holder: await newParty() })).code).toBe(
        'proof_invalid',
      )
      expect((await node.context(header, { holder })).status).toBe(200)
      expect((await node.revokeUser(ppid, { ...self(header), holder })).status).toBe(200)
    })

    it('does not work for another user, elsewhere, or with a delegated credential', async () => {
      const { node, store, B, issued } = await begin()
      const [one, two] = [await newParty(), await newParty()]
      const root = await issued({ holderKey: one.did, delegable: true })
      const child = await delegated(root, one, two)
      const plain = await issued()
      const position = await store.logPosition()
      expect((await node.revokeUser(newPpid(), self(plain.header))).code).toBe('revocation_forbidden')
      expect((await node.revokeUser(root.ppid, { ...self(child.header), holder: two })).code).toBe(
        'revocation_forbidden',
      )
      expect((await node.revokeUser(plain.ppid, { ...self(plain.header), siteId: B })).code).toBe(
        'site_mismatch',
      )
      expect((await node.revokeUser(plain.ppid, { ...self(plain.header), siteId: NOWHERE })).code).toBe(
        'issuer_untrusted',
      )
      expect(
        (
          await node.revokeUser(
            plain.ppid,
            self((await issued({ ppid: plain.ppid }, await newParty())).header),
          )
        ).code,
      ).toBe('issuer_untrusted')
      expect(await store.logPosition()).toBe(position)
    })

    it('takes no bearer token, and no key beside the credential', async () => {
      const { node, A, issued } = await begin()
      const { ppid, header, document } = await issued()
      const token = await node.tokenFor(document)
      expect(
        (await node.revokeUser(ppid, { caller: anonymous, fields: { authorization: `Bearer ${token}` } }))
          .code,
      ).toBe('api_key_missing')
      expect(
        (await node.revokeUser(ppid, { caller: keyOf(A), fields: { 'x-service-credential': header } })).code,
      ).toBe('auth_ambiguous')
      expect((await node.context(header)).status).toBe(200)
    })
  })

  it('A170: 401 without key and credential', async () => {
    const { node } = await begin()
    expect((await node.revokeUser(newPpid(), { caller: anonymous })).code).toBe('api_key_missing')
  })

  it('A171: 403 for a key of another site, alike for sites that do not exist, and the log stays as it is', async () => {
    const { node, store, B, issued } = await begin()
    const { ppid, header } = await issued()
    const position = await store.logPosition()
    const there = await node.revokeUser(ppid, { caller: keyOf(B) })
    const nowhere = await node.revokeUser(ppid, { caller: keyOf(B), siteId: NOWHERE })
    expect([there.status, there.code]).toEqual([403, 'revocation_forbidden'])
    expect(nowhere.body).toEqual(there.body)
    expect(await store.logPosition()).toBe(position)
    expect((await node.context(header)).status).toBe(200)
  })

  it('400 site_unknown for the operator only', async () => {
    const { node } = await begin()
    expect((await node.revokeUser(newPpid(), { caller: operator, siteId: NOWHERE })).code).toBe(
      'site_unknown',
    )
  })

  it('the operator revokes at a site that another node has only just made', async () => {
    const { node, store, A } = await begin()
    const fresh = 'fresh.example' as typeof A
    await createSite(store, fresh, [])
    expect((await node.revokeUser(newPpid(), { caller: operator, siteId: fresh })).status).toBe(200)
  })

  it('422 for what the schema refuses (A173, A178)', async () => {
    const { node } = await begin()
    for (const ppid of [
      'did:service:ppid_',
      'did:service:ppid_../../x',
      'ppid_aaaaaaaaaaaa',
      "did:service:ppid_' OR 1=1 --",
    ]) {
      expect((await node.revokeUser(ppid)).code).toBe('validation_failed')
    }
    for (const reason of ['x'.repeat(257), 'a\r\nb', '\u001b[31m'])
      expect((await node.revokeUser(newPpid(), { reason })).code).toBe('validation_failed')
  })

  describe('I-16, A180: when the store fails', () => {
    it('answers 503, and nothing is half done', async () => {
      const { node, store, issued } = await begin()
      const { ppid, header, document } = await issued()
      const token = await node.tokenFor(document)
      const { revokeUsers } = store
      store.revokeUsers = async () => {
        throw new StoreUnavailable('full')
      }
      expect((await node.revokeUser(ppid)).code).toBe('store_unavailable')
      expect((await node.context(header)).status).toBe(200)
      expect((await node.bearer(token)).status).toBe(200)
      store.revokeUsers = revokeUsers
      expect((await node.revokeUser(ppid)).body.already_revoked).toBe(false)
    })

    it('answers 503 when the revocation stands but this node cannot see it yet; the next try says so', async () => {
      withoutHandOver()
      const { store, A, issued } = await begin()
      const node = await openNode(store, A, { waitMsMax: 50 })
      const { ppid, header } = await issued()
      const { entriesAfter } = store
      store.entriesAfter = async () => {
        throw new StoreUnavailable('cut off')
      }
      expect((await node.revokeUser(ppid)).code).toBe('revocation_view_stale')
      expect((await node.revokeUser(ppid)).code).toBe('revocation_view_stale')
      store.entriesAfter = entriesAfter
      await expect.poll(async () => (await node.revokeUser(ppid)).body.already_revoked).toBe(true)
      expect((await node.context(header)).code).toBe('credential_revoked')
    })
  })

  it('I-1 across nodes: a user who is "already revoked" by another node is denied there at once', async () => {
    const { node, store, A, issued } = await begin()
    const other = await openNode(store, A)
    for (let i = 0; i < 5; i++) {
      const { ppid, header } = await issued()
      await other.context(header)
      await node.revokeUser(ppid)
      expect((await other.revokeUser(ppid)).body.already_revoked).toBe(true)
      expect((await other.context(header)).code).toBe('credential_revoked')
    }
  })
})
