import { randomBytes } from 'node:crypto'
import { checkIntrospection, type IntrospectionProof, parseFeedKey, sha256Hex } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { openServiceKeys } from '../../../../src/keys/service-keys.ts'
import { createSecrets } from '../../../keys/secrets-double.ts'
import { begin as beginAt, keyOf, operator, trust } from '../../../node.ts'
import { NOW, newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const INACTIVE = { active: false }
const NONCE = 'q83vEjRWeJCrze8SNFZ4kA'

forEachSharedStore('POST /api/auth/introspect', (open) => {
  const begin = () => beginAt(open())

  it('describes an active token', async () => {
    const { node, issuer, A, issued } = await begin()
    const { document, id, ppid } = await issued()
    const token = await node.tokenFor(document)
    const { body } = await node.introspect(token)
    expect(body).toEqual({
      active: true,
      scope: 'orders:read orders:write',
      scopes: ['orders:read', 'orders:write'],
      client_id: A,
      token_type: 'Bearer',
      exp: NOW / 1000 + 900,
      iat: NOW / 1000,
      nbf: NOW / 1000,
      sub: ppid,
      aud: A,
      iss: 'https://service.example',
      jti: expect.stringMatching(/^tok_/),
      site_id: A,
      permission_id: 'perm_orders',
      credential_id: id,
      credential_chain: [id],
      holder_thumbprints: [],
      issuer: issuer.did,
      issuer_key: issuer.keyId,
      root_created_at: (document as { proof: { created: string } }).proof.created,
      oldest_created_at: (document as { proof: { created: string } }).proof.created,
    })
  })

  it('does not bring a token back that was out while its site had switched bearer tokens off', async () => {
    const { node, store, A, issued } = await begin()
    const { document } = await issued()
    const token = await node.tokenFor(document)
    const switched = async (bearer: 'on' | 'off') => {
      node.clock.pass(1000)
      const changed = await store.changeSite(
        A,
        { bearer },
        { actor: 'operator', atMs: node.clock.nowMs(), requestId: undefined },
      )
      await node.deps.views.waitFor(changed?.position ?? 0)
    }
    expect((await node.introspect(token)).body.active).toBe(true)
    await switched('off')
    expect((await node.introspect(token)).body).toEqual(INACTIVE)
    expect((await node.bearer(token)).code).toBe('bearer_disabled')
    await switched('on')
    expect((await node.introspect(token)).body).toEqual(INACTIVE)
    expect((await node.bearer(token)).code).toBe('token_invalid')
    node.clock.pass(1000)
    expect((await node.introspect(await node.tokenFor(document))).body.active).toBe(true)
  })

  it('A141: a key sees tokens of its own site only; the operator sees all and can narrow', async () => {
    const { node, A, B, issued } = await begin()
    const token = await node.tokenFor((await issued()).document)
    expect((await node.introspect(token, keyOf(B))).body).toEqual(INACTIVE)
    expect((await node.introspect(token, keyOf(A), { site_id: B })).body).toEqual(INACTIVE)
    expect((await node.introspect(token, keyOf(B), { site_id: A })).body).toEqual(INACTIVE)
    expect((await node.introspect(token, operator, { site_id: B })).body).toEqual(INACTIVE)
    expect((await node.introspect(token, keyOf(A), { site_id: A })).body.active).toBe(true)
    expect((await node.introspect(token, operator)).body.active).toBe(true)
    expect(
      (await node.introspect(token, operator, { site_id: A, token_type_hint: 'refresh_token' })).body.active,
    ).toBe(true)
  })

  describe('says nothing but that it is not active', () => {
    it('of what is no token', async () => {
      const { node } = await begin()
      for (const token of ['x', 'svc_at_', `svc_at_${'A'.repeat(49)}`])
        expect((await node.introspect(token)).body).toEqual(INACTIVE)
    })

    it('of a token that has ended, at that very millisecond', async () => {
      const { node, issued } = await begin()
      const token = await node.tokenFor((await issued()).document, { ttl_seconds: 60 })
      await node.later(60_000)
      await expect.poll(async () => (await node.introspect(token)).body).toEqual(INACTIVE)
    })

    it('I-5: of a token whose credential, user, issuer, key or self is revoked, or whose site takes none', async () => {
      const context = { actor: 'operator', atMs: NOW, requestId: undefined }
      const { node, issuer, store, A, issued } = await begin()
      const [distrusted, leaked] = [await newParty(), await newParty()]
      await trust(store, A, distrusted)
      await trust(store, A, leaked)
      await node.deps.views.waitFor(await store.logPosition())
      const credentials = await Promise.all(
        [issuer, issuer, distrusted, leaked, issuer, issuer].map((by) => issued({}, by)),
      )
      const tokens: string[] = []
      for (const { document } of credentials) tokens.push(await node.tokenFor(document))
      const active = async () =>
        (await Promise.all(tokens.map((token) => node.introspect(token)))).map(({ body }) => body.active)
      expect(await active()).toEqual([true, true, true, true, true, true])
      await node.revokeCredential(credentials[0]?.id ?? '')
      await node.revokeUser(credentials[1]?.ppid ?? '')
      await store.changeIssuer(A, distrusted.did, { status: 'distrusted' }, context)
      await store.changeIssuerKey(A, leaked.did, leaked.keyId, 'compromised', context)
      await node.revokeToken(tokens[4] ?? '')
      await node.deps.views.waitFor(await store.logPosition())
      expect(await active()).toEqual([false, false, false, false, false, true])
      await store.changeSite(A, { bearer: 'off' }, context)
      await node.deps.views.waitFor(await store.logPosition())
      expect(await active()).toEqual([false, false, false, false, false, false])
    })
  })

  it('503, not "inactive", when this node cannot know', async () => {
    const { node, issued } = await begin()
    const token = await node.tokenFor((await issued()).document)
    node.clock.fault = undefined
    node.deps.views.readiness = () => ({ ready: false, why: 'stale' })
    expect((await node.introspect(token)).code).toBe('revocation_view_stale')
    expect((await node.introspect('x')).code).toBe('revocation_view_stale')
  })

  describe('S1 with a nonce', () => {
    const signing = async () => {
      const begun = await begin()
      const keys = await openServiceKeys(createSecrets(), randomBytes(32), 'https://service.example', NOW)
      Object.assign(begun.node.deps, { keys })
      return { ...begun, keys }
    }
    const isSigned = async (
      { proof, ...facts }: { proof: IntrospectionProof },
      keys: Awaited<ReturnType<typeof signing>>['keys'],
    ) => {
      const published = keys.feedKeys.find(({ kid }) => kid === proof.kid)?.key
      return checkIntrospection(facts, proof, published ?? (parseFeedKey(proof.kid) as never))
    }

    it('signs the description of an active token, with the head that it was judged by', async () => {
      const { node, A, issued, keys } = await signing()
      const token = await node.tokenFor((await issued()).document)
      const plain = await node.introspect(token)
      const { body } = await node.introspect(token, keyOf(A), { nonce: NONCE })
      const { proof, ...facts } = body
      expect(facts).toEqual(plain.body)
      const { epoch, seq, hash } = node.deps.views.view(A)?.head ?? {}
      expect(proof).toMatchObject({
        nonce: NONCE,
        site_id: A,
        token_sha256: await sha256Hex(token),
        head: { epoch, seq, hash },
      })
      expect(proof.kid).toBe(keys.feedKey(NOW).kid)
      expect(await isSigned(body, keys)).toBe(true)
      expect(await isSigned({ ...body, exp: facts.exp + 1 }, keys)).toBe(false)
    })

    it('signs that a token is not active, whatever the reason', async () => {
      const { node, A, B, issued, keys } = await signing()
      const token = await node.tokenFor((await issued()).document)
      const refused = [
        await node.introspect('x', keyOf(A), { nonce: NONCE }),
        await node.introspect(token, keyOf(B), { nonce: NONCE }),
        await node.introspect(token, keyOf(A), { nonce: NONCE, site_id: B }),
        await node.introspect(token, operator, { nonce: NONCE, site_id: B }),
      ]
      expect(refused.map(({ body }) => [body.active, body.proof.site_id])).toEqual([
        [false, A],
        [false, B],
        [false, A],
        [false, B],
      ])
      for (const { body } of refused) {
        expect(Object.keys(body)).toEqual(['active', 'proof'])
        expect(await isSigned(body, keys)).toBe(true)
      }
    })

    it('needs a site, which an operator has to name', async () => {
      const { node, A, issued } = await signing()
      const token = await node.tokenFor((await issued()).document)
      expect((await node.introspect(token, operator, { nonce: NONCE })).code).toBe('validation_failed')
      expect(
        (await node.introspect(token, operator, { nonce: NONCE, site_id: 'unknown.example' })).code,
      ).toBe('not_found')
      expect((await node.introspect(token, operator, { nonce: NONCE, site_id: A })).body).toMatchObject({
        active: true,
        proof: {},
      })
    })

    it('503 when this node cannot know', async () => {
      const { node, A } = await signing()
      const { readiness } = node.deps.views
      node.deps.views.readiness = () => ({ ready: false, why: 'test' })
      expect((await node.introspect('x', keyOf(A), { nonce: NONCE })).code).toBe('revocation_view_stale')
      node.deps.views.readiness = readiness
    })

    it('control: without one, nothing is signed', async () => {
      const { node, issued } = await signing()
      const token = await node.tokenFor((await issued()).document)
      expect((await node.introspect(token)).body).not.toHaveProperty('proof')
      expect((await node.introspect('x')).body).toEqual(INACTIVE)
    })
  })
})
