import { describe, expect, it } from 'vitest'
import { unreadableEntry } from '../../../../src/store/log-corrupted.ts'
import { begin as beginAt, NOWHERE, openNode, trust } from '../../../node.ts'
import { delegated, NOW, newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('POST /api/auth/exchange-proof', (open) => {
  const begin = () => beginAt(open())

  describe('200', () => {
    it('gives a token with all that the credential has, for 15 minutes', async () => {
      const { node, A, issued } = await begin()
      const { status, body } = await node.exchange((await issued()).document)
      expect(status).toBe(200)
      expect(body).toEqual({
        access_token: expect.stringMatching(/^svc_at_[0-9A-Za-z]{49}$/),
        token_type: 'Bearer',
        expires_in: 900,
        site_id: A,
        scope: ['orders:read', 'orders:write'],
        permission_id: 'perm_orders',
      })
    })

    it('A122, A124: gives less when less is asked for', async () => {
      const { node, A, issued } = await begin()
      const { body } = await node.exchange((await issued()).document, {
        site_id: A,
        requested_scope: ['orders:write'],
        ttl_seconds: 60,
      })
      expect([body.scope, body.expires_in]).toEqual([['orders:write'], 60])
    })

    it('A125: never outlives the credential', async () => {
      const { node, issued } = await begin()
      const { document } = await issued({ validUntilMs: NOW + 120_900 })
      expect((await node.exchange(document, { ttl_seconds: 3600 })).body.expires_in).toBe(120)
    })

    it('I-11: gives no more than the site lets the issuer grant', async () => {
      const { node, store, A, issued } = await begin()
      const capped = await newParty()
      await trust(store, A, capped, { scope: ['orders:read'] as never })
      await node.deps.views.waitFor(await store.logPosition())
      const { document } = await issued({}, capped)
      expect((await node.exchange(document)).body.scope).toEqual(['orders:read'])
      expect((await node.exchange(document, { requested_scope: ['orders:write'] })).code).toBe(
        'scope_insufficient',
      )
    })

    it('makes the credential known at once', async () => {
      const { node, store, A, issued } = await begin()
      const { document, id } = await issued()
      await node.tokenFor(document)
      expect(await store.statuses([id as never], A)).toMatchObject([{ source: 'exchanged' }])
    })

    it('takes a delegated credential, and the token remembers the chain', async () => {
      const { node, issuer, issued } = await begin()
      const [one, two] = [await newParty(), await newParty()]
      const root = await issued({ holderKey: one.did, delegable: true })
      const child = await delegated(root, one, two)
      const token = await node.tokenFor(child.document, {}, { holder: two })
      const { body } = await node.introspect(token)
      expect([body.credential_chain, body.issuer, body.credential_id]).toEqual([
        [child.id, root.id],
        issuer.did,
        child.id,
      ])
    })
  })

  describe('400', () => {
    it('site_unknown for a site that does not exist, named in the body or by the credential', async () => {
      const { node, issued } = await begin()
      expect((await node.exchange((await issued()).document, { site_id: NOWHERE })).code).toBe('site_unknown')
      expect((await node.exchange((await issued({ siteId: NOWHERE })).document)).code).toBe('site_unknown')
    })

    it('A017: credential_malformed for anything but an object', async () => {
      const { node, issued } = await begin()
      expect((await node.exchange((await issued()).header as never)).code).toBe('credential_malformed')
      expect((await node.exchange({})).code).toMatch(/^credential_/)
    })
  })

  describe('401', () => {
    it('A127: a revoked credential or user gets no token', async () => {
      const { node, issued } = await begin()
      const [one, two] = [await issued(), await issued()]
      await node.revokeCredential(one.id)
      await node.revokeUser(two.ppid)
      for (const { document } of [one, two])
        expect((await node.exchange(document)).code).toBe('credential_revoked')
    })

    it('no downgrade: a bound credential needs its holder proof, of this very body', async () => {
      const { node, issued } = await begin()
      const holder = await newParty()
      const { document } = await issued({ holderKey: holder.did })
      expect((await node.exchange(document)).code).toBe('proof_required')
      expect((await node.exchange(document, {}, { holder: await newParty() })).code).toBe('proof_invalid')
      const nonce = 'n'.repeat(24)
      expect((await node.exchange(document, {}, { holder, nonce })).status).toBe(200)
      expect((await node.exchange(document, {}, { holder, nonce })).code).toBe('proof_replayed')
    })

    it('an unbound credential gets none where the site wants holder proofs', async () => {
      const { node, store, A, issued } = await begin()
      const changed = await store.changeSite(
        A,
        { holderProof: 'required' },
        { actor: 'operator', atMs: NOW, requestId: undefined },
      )
      await node.deps.views.waitFor(changed?.position ?? 0)
      expect((await node.exchange((await issued()).document)).code).toBe('proof_required')
    })

    it('a broken signature is told before anything that it claims', async () => {
      const { node, issued } = await begin()
      const { document } = await issued()
      const forged = { ...document, validUntil: '2020-01-01T00:00:00Z', validFrom: '2019-12-31T00:00:00Z' }
      expect((await node.exchange(forged, { requested_scope: ['orders:admin'] })).code).toBe(
        'credential_signature_invalid',
      )
    })
  })

  describe('403', () => {
    it('A088: site_mismatch for another site than the credential’s', async () => {
      const { node, B, issued } = await begin()
      expect((await node.exchange((await issued()).document, { site_id: B })).code).toBe('site_mismatch')
    })

    it('A122: scope_insufficient for more than the credential has', async () => {
      const { node, issued } = await begin()
      const { document } = await issued({ scope: ['orders:read'] })
      for (const requested_scope of [['orders:write'], ['orders:read', 'orders:write']]) {
        expect((await node.exchange(document, { requested_scope })).code).toBe('scope_insufficient')
      }
    })

    it('bearer_disabled where the site wants none', async () => {
      const { node, store, A, issued } = await begin()
      const changed = await store.changeSite(
        A,
        { bearer: 'off' },
        { actor: 'operator', atMs: NOW, requestId: undefined },
      )
      await node.deps.views.waitFor(changed?.position ?? 0)
      expect((await node.exchange((await issued()).document)).code).toBe('bearer_disabled')
    })
  })

  it('422 for what the schema refuses (A123, A124, A129)', async () => {
    const { node, issued } = await begin()
    const { document } = await issued()
    for (const more of [{ requested_scope: [] }, { is_admin: true }, { requested_scope: null }]) {
      expect((await node.exchange(document, more)).code).toBe('validation_failed')
    }
    for (const ttl_seconds of [0, -1, 59, 3601, 1.5, '300', null]) {
      expect((await node.exchange(document, { ttl_seconds })).code).toBe('ttl_out_of_range')
    }
  })

  it('401 for a credential that ends while its holder proof is used up', async () => {
    const { node, issued } = await begin()
    const holder = await newParty()
    const { document } = await issued({ holderKey: holder.did, validUntilMs: NOW + 2000 })
    const { nonces } = node.deps
    const slow = async (ms: number) => {
      Object.assign(node.deps, {
        nonces: {
          consume: async (use: Parameters<typeof nonces.consume>[0]) => {
            await node.later(ms)
            return nonces.consume(use)
          },
        },
      })
      return node.exchange(document, {}, { holder })
    }
    expect((await slow(1000)).body.expires_in).toBe(1)
    expect((await slow(1000)).code).toBe('credential_expired')
  })

  it('503, and not that there is no such site, from a node that may not believe its log', async () => {
    const { store, A, issued } = await begin()
    const damaged = Object.create(store) as typeof store
    damaged.entriesAfter = () => Promise.reject(unreadableEntry(1))
    const blind = await openNode(damaged, A)
    expect((await blind.exchange((await issued()).document)).code).toBe('revocation_view_stale')
  })

  it('429 is not brought upon a user by giving the id of their credential to a delegated one', async () => {
    const { node, issued } = await begin()
    const [mallory, helper] = [await newParty(), await newParty()]
    const victim = await issued()
    const forged = await delegated(
      await issued({ holderKey: mallory.did, delegable: true }),
      mallory,
      helper,
      { credentialId: victim.id },
    )
    for (let i = 0; i < 20; i++) await node.tokenFor(forged.document, {}, { holder: helper })
    expect((await node.exchange(forged.document, {}, { holder: helper })).code).toBe('rate_limited')
    expect((await node.exchange(victim.document)).status).toBe(200)
  })

  it('429 for the 21st live token of a credential, until one has ended', async () => {
    const { node, issued } = await begin()
    const { document } = await issued()
    const first = await node.tokenFor(document, { ttl_seconds: 60 })
    for (let i = 1; i < 20; i++) await node.tokenFor(document)
    const refused = await node.exchange(document)
    expect([refused.code, refused.body.retry_after]).toEqual(['rate_limited', 60])
    expect((await node.exchange((await issued()).document)).status).toBe(200)
    await node.revokeToken(first)
    expect((await node.exchange(document)).status).toBe(200)
  })
})
