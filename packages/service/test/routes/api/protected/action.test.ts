import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { begin as beginAt, keyOf, openNode, trust } from '../../../node.ts'
import { delegated, NOW, newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('POST /api/protected/action', (open) => {
  const begin = () => beginAt(open())

  describe('200', () => {
    it('accepts a valid credential and says whose it is and how fresh the revocation data was', async () => {
      const { node, store, A, issued } = await begin()
      const { header, id, ppid } = await issued()
      const { status, body } = await node.context(header, { body: { action: 'pay' } })
      expect(status).toBe(200)
      expect(body).toEqual({
        allowed: true,
        action: 'pay',
        subject: {
          ppid,
          site_id: A,
          scope: ['orders:read', 'orders:write'],
          credential_id: id,
          permission_id: 'perm_orders',
          expires_at: '2026-11-14T13:00:00Z',
        },
        presented: 'credential',
        view: { epoch: store.epoch, seq: 2, age_ms: 0 },
      })
    })

    it('echoes null when there is no action', async () => {
      const { node, issued } = await begin()
      expect((await node.context((await issued()).header)).body.action).toBeNull()
    })

    it('lets a bearer token in on the same road', async () => {
      const { node, issued } = await begin()
      const { document, id } = await issued()
      const { status, body } = await node.bearer(await node.tokenFor(document))
      expect([status, body.presented, body.subject.credential_id]).toEqual([200, 'bearer', id])
    })

    it('records what was shown, in the background', async () => {
      const { node, store, A, issued } = await begin()
      const { header, id } = await issued()
      await node.context(header)
      expect(await store.statuses([id as never], A)).toEqual([])
      await node.deps.seen.flush()
      expect(await store.statuses([id as never], A)).toMatchObject([
        { credentialId: id, source: 'presented' },
      ])
    })

    it('lets a holder in with a proof of this very request', async () => {
      const { node, issued } = await begin()
      const holder = await newParty()
      const { header } = await issued({ holderKey: holder.did })
      expect((await node.context(header, { holder, body: { action: 'pay' } })).status).toBe(200)
    })

    it('gives no more scope than the site lets the issuer grant', async () => {
      const { node, store, A, issued } = await begin()
      const capped = await newParty()
      await trust(store, A, capped, { scope: ['orders:read'] as never })
      await node.deps.views.waitFor(await store.logPosition())
      expect((await node.context((await issued({}, capped)).header)).body.subject.scope).toEqual([
        'orders:read',
      ])
    })
  })

  describe('refusals', () => {
    it('A060, A061, A082, A071, A089: each with the code of what is wrong', async () => {
      const { node, B, issued } = await begin()
      const untrusted = await newParty()
      const codes = {
        issuer_untrusted: await issued({}, untrusted),
        site_mismatch: await issued({ siteId: B }),
        credential_expired: await issued({ validUntilMs: NOW }),
        credential_not_yet_valid: await issued({ validFromMs: NOW + 61_000 }),
        scope_insufficient: await issued({ scope: ['orders:write'] }),
      }
      for (const [code, { header }] of Object.entries(codes))
        expect((await node.context(header)).code).toBe(code)
      expect((await node.context(codes.scope_insufficient.header)).body.required_scope).toEqual([
        'orders:read',
      ])
      expect((await node.context('not-a-credential')).code).toBe('credential_malformed')
      expect((await node.ask('protected_action')).code).toBe('credential_missing')
    })

    it('A096, A097, A101: a bound credential needs a new proof by its own holder each time', async () => {
      const { node, issued } = await begin()
      const holder = await newParty()
      const { header } = await issued({ holderKey: holder.did })
      const nonce = 'n'.repeat(24)
      expect((await node.context(header)).code).toBe('proof_required')
      expect((await node.context(header, { holder: await newParty() })).code).toBe('proof_invalid')
      expect((await node.context(header, { holder, nonce })).status).toBe(200)
      expect((await node.context(header, { holder, nonce })).code).toBe('proof_replayed')
      expect((await node.context(header, { holder, nonce, body: { action: 'other' } })).code).toBe(
        'proof_replayed',
      )
    })

    it('a nonce that was used on one node is used on all (A101, several nodes)', async () => {
      const { node, store, A, issued } = await begin()
      const other = await openNode(store, A)
      const holder = await newParty()
      const { header } = await issued({ holderKey: holder.did })
      const answers = await Promise.all(
        [...Array(10)].map((_, i) =>
          (i % 2 ? node : other).context(header, { holder, nonce: 'n'.repeat(24) }),
        ),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(answers.filter(({ code }) => code === 'proof_replayed')).toHaveLength(9)
    })

    it('A116: a revoked link takes everything below it along', async () => {
      const { node, issued } = await begin()
      const [one, two, three] = [await newParty(), await newParty(), await newParty()]
      const root = await issued({ holderKey: one.did, delegable: true })
      const child = await delegated(root, one, two, { delegable: true })
      const grandchild = await delegated(child, two, three)
      expect((await node.context(grandchild.header, { holder: three })).status).toBe(200)
      await node.revokeCredential(child.id)
      expect((await node.context(grandchild.header, { holder: three })).code).toBe('credential_revoked')
      expect((await node.context(child.header, { holder: two })).code).toBe('credential_revoked')
      expect((await node.context(root.header, { holder: one })).status).toBe(200)
    })

    it('A132: whatever is no token here gets the very same answer', async () => {
      const { node, B, issued } = await begin()
      const token = await node.tokenFor((await issued()).document)
      const foreign = await node.tokenFor((await issued({ siteId: B })).document)
      const ended = await node.tokenFor((await issued()).document, { ttl_seconds: 60 })
      const revoked = await node.tokenFor((await issued()).document)
      await node.revokeToken(revoked)
      const last = token.at(-1) === 'A' ? 'B' : 'A'
      const unknown = [
        token.slice(0, -1),
        `${token}A`,
        token.slice(0, -1) + last,
        token.replace('svc_at_', 'svc_xx_'),
        `svc_sk_${'A'.repeat(49)}`,
        `svc_at_${'A'.repeat(49)}`,
        'svc_at_',
        'x',
      ]
      await node.later(60_000)
      const answers = await Promise.all(
        [...unknown, foreign, ended, revoked].map((text) => node.bearer(text)),
      )
      expect(answers.every(({ status }) => status === 401)).toBe(true)
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    })

    it('A133: an ended token stays ended when the clock is set back', async () => {
      const { node, issued } = await begin()
      const token = await node.tokenFor((await issued()).document, { ttl_seconds: 60 })
      await node.later(59_999)
      await node.deps.views.waitFor(await node.deps.store.logPosition())
      expect((await node.bearer(token)).status).toBe(200)
      node.clock.pass(1)
      expect((await node.bearer(token)).code).toBe('token_invalid')
    })

    it('403 bearer_disabled once the site takes none, for tokens already out as well', async () => {
      const { node, store, A, issued } = await begin()
      const token = await node.tokenFor((await issued()).document)
      const changed = await store.changeSite(
        A,
        { bearer: 'off' },
        { actor: 'operator', atMs: NOW, requestId: undefined },
      )
      await node.deps.views.waitFor(changed?.position ?? 0)
      expect((await node.bearer(token)).code).toBe('bearer_disabled')
    })

    it('S9: 401 proof_required for every bearer token once the site requires holder proofs, also for one from a bound credential', async () => {
      const { node, store, A, issued } = await begin()
      const holder = await newParty()
      const { document } = await issued({ holderKey: holder.did })
      const { access_token: token } = (await node.exchange(document, {}, { holder })).body
      const become = async (holderProof: 'required' | 'optional') => {
        const changed = await store.changeSite(
          A,
          { holderProof },
          { actor: 'operator', atMs: NOW, requestId: undefined },
        )
        await node.deps.views.waitFor(changed?.position ?? 0)
      }
      expect((await node.bearer(token)).status).toBe(200)
      await become('required')
      expect((await node.bearer(token)).code).toBe('proof_required')
      expect((await node.bearer(`svc_at_${'0'.repeat(49)}`)).code).toBe('proof_required')
      const forwarded = await node.ask('forward_auth', {
        caller: keyOf(A),
        fields: { authorization: `Bearer ${token}` },
      })
      expect(forwarded.code).toBe('proof_required')
      expect((await node.introspect(token)).body).toEqual({ active: false })
      expect((await node.exchange(document, {}, { holder })).code).toBe('bearer_disabled')
      await become('optional')
      expect((await node.bearer(token)).status).toBe(200)
    })

    it('says so when a credential comes as a bearer token; the code stays', async () => {
      const { node, issued } = await begin()
      const { header } = await issued()
      const asCredential = await node.bearer(header)
      expect([asCredential.code, asCredential.body.detail]).toEqual([
        'token_invalid',
        expect.stringContaining('in X-Service-Credential'),
      ])
    })

    it('404 when the service has no site to protect', async () => {
      const { node, issued } = await begin()
      Object.assign(node.deps.config, { protectedSite: undefined })
      expect((await node.context((await issued()).header)).code).toBe('not_found')
    })
  })

  describe('503', () => {
    it('I-3: rejects every caller while the store has not been heard of for two seconds, and none before', async () => {
      const { node, store, issued } = await begin()
      const { header, document } = await issued()
      const token = await node.tokenFor(document)
      expect((await node.bearer(token)).status).toBe(200)
      const entriesAfter = store.entriesAfter
      store.entriesAfter = async () => {
        throw new StoreUnavailable('cut off')
      }
      await new Promise((resolve) => setTimeout(resolve, 300))
      node.clock.pass(2000)
      expect((await node.context(header)).status).toBe(200)
      node.clock.pass(1)
      for (const answer of [
        await node.context(header),
        await node.bearer(token),
        await node.context('junk'),
      ]) {
        expect([answer.code, answer.body.retry_after]).toEqual(['revocation_view_stale', 1])
      }
      store.entriesAfter = entriesAfter
      await expect.poll(async () => (await node.context(header)).status).toBe(200)
    })

    it('refuses a holder when its nonce cannot be used up', async () => {
      const { node, store, issued } = await begin()
      const holder = await newParty()
      const { header } = await issued({ holderKey: holder.did })
      store.consumeOnce = async () => {
        throw new StoreUnavailable('down')
      }
      expect((await node.context(header, { holder })).code).toBe('store_unavailable')
    })
  })
})
