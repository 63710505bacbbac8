import { describe, expect, it } from 'vitest'
import { anonymous, begin as beginAt, keyOf, NOWHERE, operator, trust } from '../../../node.ts'
import { delegated, newCredentialId, newParty, newPpid } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('POST /api/wallet/revoke', (open) => {
  const begin = () => beginAt(open())

  describe('200', () => {
    it('takes one credential and its tokens; the user’s others live on', async () => {
      const { node, store, issued } = await begin()
      const ppid = newPpid()
      const [one, two] = [await issued({ ppid }), await issued({ ppid })]
      const token = await node.tokenFor(one.document)
      const { body } = await node.revokeCredential(one.id, { reason: 'rotated' })
      expect(body).toEqual({
        success: true,
        credential_id: one.id,
        revocation_type: 'credential',
        credential_ids: [one.id],
        already_revoked: false,
        revoked_at: '2026-11-14T12:00:00Z',
        tokens_revoked: 1,
        epoch: store.epoch,
        seq: 3,
      })
      expect((await node.context(one.header)).code).toBe('credential_revoked')
      expect((await node.bearer(token)).code).toBe('token_invalid')
      expect((await node.context(two.header)).status).toBe(200)
    })

    it('of an id never seen is recorded', async () => {
      const { node, issued } = await begin()
      const { id, header } = await issued()
      expect((await node.revokeCredential(id)).body.already_revoked).toBe(false)
      expect((await node.context(header)).code).toBe('credential_revoked')
    })

    it('again gives the first answer', async () => {
      const { node, issued } = await begin()
      const { id } = await issued()
      const first = await node.revokeCredential(id, { reason: 'first' })
      node.clock.pass(5)
      expect((await node.revokeCredential(id, { reason: 'second' })).body).toEqual({
        ...first.body,
        already_revoked: true,
      })
    })

    it('I-5, M07: kills the tokens of what was delegated from it', async () => {
      const { node, issued } = await begin()
      const [one, two] = [await newParty(), await newParty()]
      const root = await issued({ holderKey: one.did, delegable: true })
      const child = await delegated(root, one, two)
      const token = await node.tokenFor(child.document, {}, { holder: two })
      expect((await node.revokeCredential(root.id)).body.tokens_revoked).toBe(1)
      expect((await node.bearer(token)).code).toBe('token_invalid')
      expect((await node.introspect(token)).body).toEqual({ active: false })
    })

    it('A069: refuses every credential with that id, of every issuer', async () => {
      const { node, store, A, issued } = await begin()
      const other = await newParty()
      await trust(store, A, other)
      await node.deps.views.waitFor(await store.logPosition())
      const credentialId = newCredentialId()
      const [one, two] = [await issued({ credentialId }), await issued({ credentialId }, other)]
      await node.revokeCredential(credentialId)
      for (const { header } of [one, two])
        expect((await node.context(header)).code).toBe('credential_revoked')
    })

    it('counts at its own site only', async () => {
      const { node, B, issued } = await begin()
      const { id, header } = await issued()
      await node.revokeCredential(id, { siteId: B, caller: keyOf(B) })
      expect((await node.context(header)).status).toBe(200)
    })
  })

  describe('with the credential itself', () => {
    it.each(['shown before', 'exchanged before'])(
      'does not reach the credential of another user whose id was given to a delegated one, %s',
      async (how) => {
        const { node, store, A, issued } = await begin()
        const [mallory, helper] = [await newParty(), await newParty()]
        const root = await issued({ holderKey: mallory.did, delegable: true })
        const victim = await issued()
        if (how === 'exchanged before') await node.tokenFor(victim.document)
        else await node.context(victim.header)
        await node.deps.seen.flush()
        const position = await store.logPosition()
        const forged = await delegated(root, mallory, helper, { credentialId: victim.id })
        const fields = { 'x-service-credential': forged.header }
        // It is as good as any that was delegated.
        expect((await node.context(forged.header, { holder: helper })).status).toBe(200)
        expect(
          (await node.revokeCredential(victim.id, { caller: anonymous, fields, holder: helper })).code,
        ).toBe('revocation_forbidden')
        expect(await store.logPosition()).toBe(position)
        expect((await node.context(victim.header)).status).toBe(200)
        // With an id of its own it can be revoked by its holder.
        const own = await delegated(root, mallory, helper)
        const ask = { caller: anonymous, fields: { 'x-service-credential': own.header }, holder: helper }
        expect((await node.revokeCredential(own.id, ask)).status).toBe(200)
        expect((await node.status(own.id, keyOf(A))).body.statuses[own.id].status).toBe('revoked')
      },
    )

    it('works, delegated or not, with the holder proof if bound', async () => {
      const { node, issued } = await begin()
      const [one, two] = [await newParty(), await newParty()]
      const plain = await issued()
      const root = await issued({ holderKey: one.did, delegable: true })
      const child = await delegated(root, one, two)
      const self = (header: string) => ({ caller: anonymous, fields: { 'x-service-credential': header } })
      expect((await node.revokeCredential(plain.id, self(plain.header))).status).toBe(200)
      expect((await node.revokeCredential(child.id, self(child.header))).code).toBe('proof_required')
      expect((await node.revokeCredential(root.id, { ...self(child.header), holder: two })).code).toBe(
        'revocation_forbidden',
      )
      expect((await node.revokeCredential(child.id, { ...self(child.header), holder: two })).status).toBe(200)
      expect((await node.context(child.header, { holder: two })).code).toBe('credential_revoked')
      expect((await node.context(root.header, { holder: one })).status).toBe(200)
    })
  })

  it('rejects every other caller', async () => {
    const { node, B } = await begin()
    expect((await node.revokeCredential(newCredentialId(), { caller: anonymous })).code).toBe(
      'api_key_missing',
    )
    const there = await node.revokeCredential(newCredentialId(), { caller: keyOf(B) })
    const nowhere = await node.revokeCredential(newCredentialId(), { caller: keyOf(B), siteId: NOWHERE })
    expect([there.code, nowhere.code]).toEqual(['revocation_forbidden', 'revocation_forbidden'])
    expect((await node.revokeCredential(newCredentialId(), { caller: operator, siteId: NOWHERE })).code).toBe(
      'site_unknown',
    )
  })
})
