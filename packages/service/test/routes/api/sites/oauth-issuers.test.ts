import { generateKeyPairSync } from 'node:crypto'
import type { SiteId } from '@countersign/core'
import { beforeEach, describe, expect, it } from 'vitest'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { type Jwk, newJwk } from '../../../jwks.ts'
import { keyOf, NOWHERE } from '../../../node.ts'
import { newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const ISSUER = 'https://idp.example/realms/acme'
const AUDIENCE = ['https://api.shop.example']

const rsa = (bits: number, exponent = 65_537): Jwk =>
  generateKeyPairSync('rsa', { modulusLength: bits, publicExponent: exponent }).publicKey.export({
    format: 'jwk',
  }) as Jwk
const rsa1024 = rsa(1024)
const rsaExponent3 = rsa(2048, 3)

forEachSharedStore('OAuth issuers', (open) => {
  let A: SiteId = newSiteId()
  beforeEach(() => {
    A = newSiteId()
  })
  const begin = async (): Promise<AdminNode> => {
    const node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A } })
    return node
  }
  const add = (node: AdminNode, members: object = {}, caller = keyOf(A)) =>
    node.admin('add_issuer', {
      params: { site_id: A },
      body: { type: 'oauth', issuer: ISSUER, audience: AUDIENCE, ...members },
      caller,
    })
  const change = (node: AdminNode, issuer: string, body: unknown) =>
    node.admin('change_issuer', { params: { site_id: A, issuer }, body, caller: keyOf(A) })
  const show = (node: AdminNode, issuer: string, caller = keyOf(A)) =>
    node.admin('get_issuer', { params: { site_id: A, issuer }, caller })
  const setKey = (node: AdminNode, issuer: string, key: string, status: string) =>
    node.admin('change_issuer_key', {
      params: { site_id: A, issuer, key },
      body: { status },
      caller: keyOf(A),
    })
  const trusted = (node: AdminNode, issuer = ISSUER) => node.deps.views.view(A)?.oauthIssuer(issuer)

  describe('POST …/issuers with type oauth', () => {
    it('201: states the whole issuer in the log, and returns it', async () => {
      const node = await begin()
      const key = newJwk('EC', { kid: 'k1' })
      const signals = [
        {
          type: 'backchannel_logout',
          issuer: 'https://login.example',
          jwks_uri: 'https://login.example/keys?v=2',
          audience: ['client-1'],
          subject: 'sub',
        },
      ]
      const { status, body } = await add(node, {
        jwks: { keys: [key] },
        scope: ['orders:read'],
        scope_map: { 'orders.read': ['orders:read'] },
        session_claim: 'sid',
        label: 'Acme',
        signals,
      })
      expect(status).toBe(201)
      expect(body).toEqual({
        type: 'oauth',
        issuer: ISSUER,
        issuer_id: expect.stringMatching(/^iss_[0-9a-f]{26}$/),
        keys: [{ id: expect.any(String), kid: 'k1', key: expect.any(String), status: 'active' }],
        audience: AUDIENCE,
        client_ids: null,
        required_claims: {},
        require_at_jwt: true,
        scope: ['orders:read'],
        scope_claim: 'scope',
        scope_map: { 'orders.read': ['orders:read'] },
        session_claim: 'sid',
        subject_claim: 'sub',
        token_ttl_seconds_max: 86_400,
        user_ref_from_subject: false,
        session_ttl_seconds_max: 366 * 86_400,
        key_source: 'jwks',
        jwks_uri: null,
        signals,
        keys_refreshed_at: null,
        status: 'trusted',
        label: 'Acme',
        created_at: '2026-11-14T12:00:00Z',
      })
      expect([...(trusted(node)?.keys.values() ?? [])]).toMatchObject([{ kid: 'k1', status: 'active' }])
      expect(trusted(node)?.policy).toMatchObject({ audience: AUDIENCE, sessionClaim: 'sid' })
      expect(await node.deps.store.signalSenders(A)).toMatchObject([
        { issuer: { issuer: ISSUER }, sender: signals[0] },
      ])
      expect(await node.deps.store.derivedFault(Date.now())).toBeUndefined()
    })

    it('is listed and shown by issuer_id beside issuers of credentials', async () => {
      const node = await begin()
      const { body } = await add(node, { jwks: { keys: [newJwk('RSA')] } })
      const did = (await newParty()).did
      await node.admin('add_issuer', { params: { site_id: A }, body: { issuer: did }, caller: keyOf(A) })
      expect((await show(node, body.issuer_id)).body).toEqual(body)
      expect((await show(node, did)).body).toMatchObject({ type: 'credential', issuer: did })
      const listed = await node.admin('list_issuers', { params: { site_id: A }, caller: keyOf(A) })
      expect(listed.body.items.map(({ type }: { type: string }) => type).sort()).toEqual([
        'credential',
        'credential',
        'oauth',
      ])
      expect((await show(node, `iss_${'0'.repeat(26)}`)).code).toBe('not_found')
      expect((await show(node, body.issuer_id, keyOf(NOWHERE))).code).toBe('not_found')
    })

    it('rejects an issuer that the site has already', async () => {
      const node = await begin()
      const jwks = { keys: [newJwk('OKP')] }
      expect((await add(node, { jwks })).status).toBe(201)
      expect((await add(node, { jwks })).code).toBe('already_exists')
    })

    it('requires claims or clients when typ at+jwt is not required, so that ID tokens are rejected', async () => {
      const node = await begin()
      const jwks = { keys: [newJwk('EC')] }
      const rejected = await add(node, { jwks, require_at_jwt: false })
      expect(rejected).toMatchObject({ status: 422, code: 'validation_failed' })
      expect(rejected.body.errors).toMatchObject([{ path: 'require_at_jwt' }])
      const { body, status } = await add(node, {
        jwks,
        require_at_jwt: false,
        required_claims: { typ: 'Bearer' },
      })
      expect(status).toBe(201)
      const later = await change(node, body.issuer_id, { required_claims: {} })
      expect(later).toMatchObject({ status: 422, code: 'validation_failed' })
      expect((await change(node, body.issuer_id, { required_claims: {}, client_ids: ['c'] })).status).toBe(
        200,
      )
    })

    const key = newJwk('EC')
    const jwks = { keys: [key] }
    it.each([
      ['a query', { issuer: 'https://idp.example/?realm=acme' }],
      ['a fragment', { issuer: 'https://idp.example/#x' }],
      ['a user name', { issuer: 'https://me@idp.example/' }],
      ['upper case', { issuer: 'https://IDP.example/' }],
      ['a DID', { issuer: 'did:web:idp.example' }],
      ['plain http', { issuer: 'http://idp.example' }],
      ['this machine, outside of development', { issuer: 'http://localhost:3000' }],
      ['this machine over https, outside of development', { issuer: 'https://127.0.0.1' }],
      ['a key set over http', { jwks: undefined, jwks_uri: 'http://idp.example/keys' }],
      ['two sources of keys', { jwks_uri: 'https://idp.example/keys' }],
      ['no audience', { audience: [] }],
      ['the same audience twice', { audience: ['a', 'a'] }],
      ['65 audiences', { audience: Array.from({ length: 65 }, (_, i) => `a${i}`) }],
      ['65 clients', { client_ids: Array.from({ length: 65 }, (_, i) => `a${i}`) }],
      ['an empty scope cap', { scope: [] }],
      ['33 scopes', { scope: Array.from({ length: 33 }, (_, i) => `s${i}`) }],
      ['a scope twice in the map', { scope_map: { a: ['b', 'b'] } }],
      ['a token lifetime above a day', { token_ttl_seconds_max: 86_401 }],
      ['a session lifetime above 366 days', { session_ttl_seconds_max: 366 * 86_400 + 1 }],
      ['a claim name with a space', { subject_claim: 'a b' }],
      ['an unknown member', { pinned: true }],
      ['keys of credentials', { keys: [] }],
      ['nine senders of signals', { signals: Array.from({ length: 9 }, () => sender()) }],
      ['an unknown type of signal', { signals: [{ ...sender(), type: 'poll' }] }],
      ['a sender over http', { signals: [{ ...sender(), issuer: 'http://login.example' }] }],
      ['a sender without an audience', { signals: [{ ...sender(), audience: [] }] }],
      ['an unknown subject', { signals: [{ ...sender(), subject: 'name' }] }],
      ['a sender with two sources of keys', { signals: [{ ...sender(), jwks }] }],
    ])('422 validation_failed: %s', async (_what, members) => {
      const node = await begin()
      expect(await add(node, { jwks, ...members })).toMatchObject({ status: 422, code: 'validation_failed' })
      expect(await node.deps.store.issuer(A, ISSUER)).toBeUndefined()
    })

    it.each(['required_claims', 'scope_map'])('400 request_malformed: 65 %s', async (member) => {
      const node = await begin()
      const members = (count: number) =>
        Object.fromEntries(
          Array.from({ length: count }, (_, i) => [`c${i}`, member === 'scope_map' ? ['a'] : 1]),
        )
      expect((await add(node, { jwks, [member]: members(65) })).code).toBe('request_malformed')
      expect((await add(node, { jwks, [member]: members(64) })).status).toBe(201)
    })

    it.each<[string, readonly object[], string]>([
      ['a private key', [newJwk('EC', {}, 'private')], 'private key'],
      ['a symmetric key', [{ kty: 'oct', k: 'c2VjcmV0' }], 'private key'],
      ['a private key for encryption', [key, { ...newJwk('RSA', {}, 'private'), use: 'enc' }], 'private key'],
      ['an RSA key of 1024 bits', [rsa1024], '2048'],
      ['an RSA key with the exponent 3', [rsaExponent3], '65537'],
      ['a point that is not on the curve', [{ ...newJwk('P-384'), y: 'A'.repeat(64) }], 'not a valid'],
      ['17 keys', Array.from({ length: 17 }, () => newJwk('OKP')), 'more than 16'],
      ['two keys of one kid', [newJwk('EC', { kid: 'a' }), newJwk('EC', { kid: 'a' })], 'same kid'],
      [
        'one key under two names',
        [
          { ...key, kid: 'a' },
          { ...key, kid: 'b' },
        ],
        'listed twice',
      ],
      ['a kid that is no text', [{ ...key, kid: 7 }], 'kid'],
      ['only keys for encryption', [{ ...key, use: 'enc' }], 'no key for signatures'],
      ['only keys of unknown types', [{ kty: 'AKP', pub: 'AA' }], 'no key for signatures'],
      ['only algorithms that are not supported', [{ ...key, alg: 'HS256' }], 'no key for signatures'],
    ])('422 key_rejected: %s', async (_what, keys, words) => {
      const node = await begin()
      const answer = await add(node, { jwks: { keys } })
      expect(answer).toMatchObject({ status: 422, code: 'key_rejected' })
      expect(answer.body.detail).toContain(words)
      expect(await node.deps.store.issuer(A, ISSUER)).toBeUndefined()
    })

    it('accepts 16 keys of all types, and skips keys for encryption and of other types', async () => {
      const node = await begin()
      const keys = [
        newJwk('RSA', { kid: 'r', use: 'sig', alg: 'PS256' }),
        newJwk('P-384', { kid: 'p' }),
        ...Array.from({ length: 14 }, () => newJwk('OKP')),
        { ...newJwk('RSA'), use: 'enc' },
        { kty: 'AKP', alg: 'ML-DSA-44', pub: 'AA' },
      ]
      const { body, status } = await add(node, { jwks: { keys } })
      expect(status).toBe(201)
      expect(body.keys).toHaveLength(16)
      expect(trusted(node)?.keys.size).toBe(16)
    })

    it('lists a key that the set repeats once', async () => {
      const node = await begin()
      expect((await add(node, { jwks: { keys: [key, { ...key }] } })).body.keys).toHaveLength(1)
    })
  })

  describe('PATCH …/issuers/{issuer_id}', () => {
    it('changes the given members and replaces the keys', async () => {
      const node = await begin()
      const { body } = await add(node, { jwks: { keys: [newJwk('EC', { kid: 'old' })] } })
      const changed = await change(node, body.issuer_id, {
        audience: ['https://other.example'],
        jwks: { keys: [newJwk('EC', { kid: 'new' })] },
        label: 'Acme',
      })
      expect(changed).toMatchObject({
        status: 200,
        body: { audience: ['https://other.example'], keys: [{ kid: 'new' }], label: 'Acme' },
      })
      expect([...(trusted(node)?.keys.values() ?? [])].map(({ kid }) => kid)).toEqual(['new'])
    })

    it('distrusts and trusts again', async () => {
      const node = await begin()
      const { body } = await add(node, { jwks: { keys: [newJwk('EC')] } })
      expect((await change(node, body.issuer_id, { status: 'distrusted' })).body.status).toBe('distrusted')
      expect(trusted(node)).toBeUndefined()
      expect(await node.deps.store.signalSenders(A)).toEqual([])
      expect((await change(node, body.issuer_id, { status: 'trusted' })).status).toBe(200)
      expect(trusted(node)).toBeDefined()
      expect(await node.deps.store.derivedFault(Date.now())).toBeUndefined()
    })

    it('keeps the signals out of the log', async () => {
      const node = await begin()
      const { body } = await add(node, { jwks: { keys: [newJwk('EC')] } })
      const before = await node.deps.store.logPosition()
      expect((await change(node, body.issuer_id, { signals: [sender()] })).body.signals).toHaveLength(1)
      expect(await node.deps.store.logPosition()).toBe(before)
    })

    it('stores only public members of the keys of a sender', async () => {
      const node = await begin()
      const { body } = await add(node, { jwks: { keys: [newJwk('EC')] } })
      const { jwks_uri, ...rest } = sender()
      const jwks = { keys: [{ ...newJwk('EC', { kid: 's' }), x5c: ['AA'] }] }
      const changed = await change(node, body.issuer_id, { signals: [{ ...rest, jwks }] })
      expect(Object.keys(changed.body.signals[0].jwks.keys[0]).sort()).toEqual(
        ['alg', 'crv', 'kid', 'kty', 'x', 'y'].sort(),
      )
      const secret = { keys: [newJwk('EC', {}, 'private')] }
      const rejected = await change(node, body.issuer_id, { signals: [{ ...rest, jwks: secret }] })
      expect(rejected).toMatchObject({ status: 422, code: 'key_rejected' })
    })

    it('422: members of the other type of issuer', async () => {
      const node = await begin()
      const { body } = await add(node, { jwks: { keys: [newJwk('EC')] } })
      const { did, keyId } = await newParty()
      await node.admin('add_issuer', { params: { site_id: A }, body: { issuer: did }, caller: keyOf(A) })
      for (const [issuer, members] of [
        [body.issuer_id, { keys: [keyId] }],
        [body.issuer_id, { credential_ttl_seconds_max: 60 }],
        [did, { audience: ['a'] }],
        [did, { signals: [] }],
        [did, { label: 'x', confirm_new_ids: true }],
      ] as const)
        expect(await change(node, issuer, members)).toMatchObject({ status: 422, code: 'validation_failed' })
    })

    it('can be changed after everything that it signed was cut off', async () => {
      const node = await begin()
      const { body } = await add(node, { jwks: { keys: [newJwk('EC')] } })
      const cut = await node.admin('cut_off_issuer', {
        params: { site_id: A },
        body: { issuer: ISSUER },
        caller: keyOf(A),
      })
      expect(cut.status).toBe(200)
      expect((await change(node, body.issuer_id, { status: 'distrusted' })).status).toBe(200)
    })

    it('does not confuse a required claim called issuer with an issuer', async () => {
      const node = await begin()
      const { did } = await newParty()
      await node.admin('add_issuer', { params: { site_id: A }, body: { issuer: did }, caller: keyOf(A) })
      await add(node, { jwks: { keys: [newJwk('EC')] }, required_claims: { issuer: did } })
      expect((await change(node, did, { status: 'distrusted' })).status).toBe(200)
    })
  })

  describe('PATCH …/issuers/{issuer_id}/keys/{thumbprint}', () => {
    it('retires, reactivates, and marks as compromised permanently, also at other issuers', async () => {
      const node = await begin()
      const key = newJwk('RSA', { kid: 'k' })
      const { body } = await add(node, { jwks: { keys: [key] } })
      const other = await add(node, {
        issuer: 'https://other.example',
        jwks: { keys: [{ ...key, alg: 'PS256' }] },
      })
      const [{ id }] = body.keys
      const retired = await setKey(node, body.issuer_id, id, 'retired')
      expect(retired.body.keys).toMatchObject([{ kid: 'k', status: 'retired' }])
      expect(trusted(node)?.keys.get(`${ISSUER}#${id}`)?.status).toBe('retired')
      expect((await setKey(node, body.issuer_id, id, 'active')).body.keys).toMatchObject([
        { status: 'active' },
      ])
      expect((await setKey(node, body.issuer_id, id, 'compromised')).status).toBe(200)
      expect((await setKey(node, body.issuer_id, id, 'active')).code).toBe('validation_failed')
      expect(trusted(node)?.keys.get(`${ISSUER}#${id}`)?.status).toBe('compromised')
      expect((await show(node, other.body.issuer_id)).body.keys).toMatchObject([{ status: 'compromised' }])
      expect(trusted(node, 'https://other.example')?.keys.get(`https://other.example#${id}`)?.status).toBe(
        'compromised',
      )
      const again = await change(node, body.issuer_id, { jwks: { keys: [newJwk('EC'), key] } })
      expect(again.body.keys).toMatchObject([{ status: 'active' }, { id, status: 'compromised' }])
      expect(await node.deps.store.derivedFault(Date.now())).toBeUndefined()
    })

    it('404: a key that the issuer does not have', async () => {
      const node = await begin()
      const { body } = await add(node, { jwks: { keys: [newJwk('EC')] } })
      expect((await setKey(node, body.issuer_id, 'A'.repeat(43), 'retired')).code).toBe('not_found')
      expect((await setKey(node, `iss_${'0'.repeat(26)}`, 'A'.repeat(43), 'retired')).code).toBe('not_found')
    })
  })
})

function sender() {
  return {
    type: 'events',
    issuer: 'https://login.example',
    jwks_uri: 'https://login.example/keys',
    audience: ['https://service.example'],
    subject: 'email_is_user_ref',
  }
}
