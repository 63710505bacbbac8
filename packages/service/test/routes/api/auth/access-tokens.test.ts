import { checkIntrospection, type IntrospectionProof, parseFeedKey, toThumbprint } from '@countersign/core'
import { beforeAll, describe, expect, it } from 'vitest'
import { newSiteId } from '../../../admin-node.ts'
import { type Ask, keyOf, openNode, operator } from '../../../node.ts'
import {
  AUDIENCE,
  ISSUER,
  newOAuthKey,
  type OAuthKey,
  type OAuthSite,
  openOAuthSite,
  signProof,
  signToken,
  type TokenChanges,
} from '../../../oauth.ts'
import { NOW } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const INACTIVE = { active: false }
const NOTHING = { success: true, revoked: false }

let key: OAuthKey
let holder: OAuthKey
let jkt: string
beforeAll(async () => {
  key = await newOAuthKey('ES256', 'k1')
  holder = await newOAuthKey('ES256')
  const { crv, kty, x, y } = holder.jwk
  jkt = await toThumbprint({ crv, kty, x, y } as Parameters<typeof toThumbprint>[0])
})
const token = (changes?: TokenChanges) => signToken(key, changes)

forEachSharedStore('access tokens at the endpoints of tokens', (open) => {
  const begin = (issuer?: object, site?: object) => openOAuthSite(open(), [key], issuer, site)

  describe('GET /api/auth/verify', () => {
    const verify = ({ ask }: OAuthSite, fields: Record<string, string>, more: Ask = {}) =>
      ask('forward_auth', { fields, ...more })
    const original = (host: string) => ({
      'x-forwarded-method': 'GET',
      'x-forwarded-host': host,
      'x-forwarded-uri': '/orders?a=1',
    })

    it('accepts a token, and names its issuer and the user as the issuer does', async () => {
      const site = await begin()
      const { status, headers } = await verify(site, { authorization: `Bearer ${await token()}` })
      expect(status).toBe(200)
      expect(headers).toMatchObject({
        'x-service-subject': expect.stringMatching(/^did:service:ppid_j_/),
        'x-service-credential-id': expect.stringMatching(/^cred_jt_/),
        'x-service-scope': 'orders:read openid',
        'x-service-issuer': ISSUER,
        'x-service-token-subject': 'alice',
      })
    })

    it('a subject cannot add a header, and any text arrives as it was', async () => {
      const site = await begin()
      const subjects = [
        'auth0|62a1',
        'alice@shop.example',
        'a\r\nX-Service-Scope: admin',
        'Zoë 😀',
        '100%',
        'a, b',
        '"quoted\\"',
        '\u0000',
        ' ',
      ]
      for (const sub of subjects) {
        const jwt = await token({ claims: { sub } })
        const { status, headers } = await verify(site, { authorization: `Bearer ${jwt}` })
        const value = String(headers['x-service-token-subject'])
        expect([status, decodeURIComponent(value)], sub).toEqual([200, sub])
        expect(value, sub).toMatch(/^[\x21-\x7e]+$/)
      }
      const plain = await verify(site, {
        authorization: `Bearer ${await token({ claims: { sub: 'auth0|62a1' } })}`,
      })
      expect(plain.headers['x-service-token-subject']).toBe('auth0|62a1')
    })

    it('the site is that of the key, and the scope that of the query', async () => {
      const site = await begin()
      const other = await begin({ issuer: 'https://other.example' })
      const authorization = `Bearer ${await token()}`
      expect((await verify(site, { authorization }, { caller: keyOf(other.A) })).code).toBe('token_invalid')
      expect((await verify(site, { authorization }, { query: '?scope=orders:admin' })).code).toBe(
        'scope_insufficient',
      )
    })

    it('A288 checks a DPoP proof against the request that the proxy describes', async () => {
      const site = await begin()
      const jwt = await token({ claims: { cnf: { jkt } } })
      const prove = (url: string, method = 'GET') => signProof(holder, { token: jwt, url, method })
      const send = async (host: string, dpop?: string) =>
        verify(site, {
          authorization: `DPoP ${jwt}`,
          ...original(host),
          ...(dpop === undefined ? {} : { dpop }),
        })
      expect((await send(site.A, await prove(`https://${site.A}/orders`))).status).toBe(200)
      expect((await send(site.A, await prove(`https://${site.A}/orders`, 'POST'))).code).toBe('proof_invalid')
      expect((await send(site.A, await prove(`https://${site.A}/other`))).code).toBe('proof_invalid')
      expect((await send(site.A, await prove('https://evil.example/orders'))).code).toBe('proof_invalid')
      const missing = await send(site.A)
      expect(missing.code).toBe('proof_required')
      expect(missing.headers['www-authenticate']).toMatch(/^DPoP .*algs=/)
      // The host of another server that forwards the request of its client.
      const foreign = await send('evil.example', await prove('https://evil.example/orders'))
      expect([foreign.status, foreign.code]).toEqual([401, 'proof_invalid'])
      const undescribed = await verify(site, {
        authorization: `DPoP ${jwt}`,
        dpop: await prove(`https://${site.A}/orders`),
      })
      expect(undescribed.code).toBe('proof_required')
    })
  })

  describe('POST /api/auth/introspect', () => {
    it('describes a token with the names of the service, and with those of the issuer', async () => {
      const { node, A } = await begin({ session_claim: 'sid' })
      const jwt = await token({ claims: { jti: 'token-1', sid: 's-1', nbf: NOW / 1000 - 3 } })
      const { body } = await node.introspect(jwt)
      const tokenId = body.credential_id
      expect(body).toEqual({
        active: true,
        scope: 'orders:read openid',
        scopes: ['orders:read', 'openid'],
        client_id: A,
        token_type: 'Bearer',
        exp: NOW / 1000 + 595,
        iat: NOW / 1000 - 5,
        nbf: NOW / 1000 - 3,
        sub: expect.stringMatching(/^did:service:ppid_j_/),
        aud: A,
        iss: 'https://service.example',
        jti: tokenId,
        site_id: A,
        permission_id: 'perm_default',
        credential_id: expect.stringMatching(/^cred_jt_/),
        credential_chain: [tokenId, expect.stringMatching(/^cred_js_/)],
        holder_thumbprints: [],
        issuer: ISSUER,
        issuer_key: expect.any(String),
        root_created_at: '2026-11-14T11:59:55Z',
        oldest_created_at: '2026-11-14T11:59:55Z',
        token: { issuer: ISSUER, subject: 'alice', client_id: 'client-1', jti: 'token-1' },
      })
    })

    it('a bound token is active with its key, also where proofs are required; others are not there', async () => {
      const jwt = await token({ claims: { cnf: { jkt } } })
      for (const site of [await begin(), await begin({}, { holder_proof: 'required' })])
        expect((await site.node.introspect(jwt)).body).toMatchObject({
          active: true,
          token_type: 'DPoP',
          cnf: { jkt },
          holder_thumbprints: [jkt],
        })
      const strict = await begin({}, { holder_proof: 'required' })
      expect((await strict.node.introspect(await token())).body).toEqual(INACTIVE)
    })

    it('says only that a token is not active, whatever is wrong with it', async () => {
      const site = await begin()
      const other = await begin({ issuer: 'https://other.example' })
      const jwt = await token()
      const good = jwt.split('.')
      for (const wrong of [
        `${good[0]}.${good[1]}.`,
        `${good[0]}.${good[1]}.${good[2]?.slice(0, -4)}AAAA`,
        await token({ claims: { aud: 'https://other.example' } }),
        await token({ claims: { exp: NOW / 1000 - 1, iat: NOW / 1000 - 100 } }),
        await token({ claims: { nbf: NOW / 1000 + 60 } }),
        await token({ header: { typ: 'JWT' } }),
        await signToken(holder),
        'a.b.c',
      ])
        expect((await site.node.introspect(wrong)).body, wrong).toEqual(INACTIVE)
      expect((await other.node.introspect(jwt)).body).toEqual(INACTIVE)
      expect((await site.node.introspect(jwt, keyOf(other.A))).body).toEqual(INACTIVE)
      expect((await site.node.introspect(jwt, keyOf(site.A), { site_id: other.A })).body).toEqual(INACTIVE)
    })

    it('an operator names the site', async () => {
      const { node, A } = await begin()
      const jwt = await token()
      expect((await node.introspect(jwt, operator)).code).toBe('validation_failed')
      expect((await node.introspect(jwt, operator, { site_id: A })).body.active).toBe(true)
      expect((await node.introspect(jwt, operator, { site_id: newSiteId() })).body).toEqual(INACTIVE)
    })

    it('S1 signs the answer for a nonce', async () => {
      const { node } = await begin()
      const { keys } = node.deps
      const nonce = 'q83vEjRWeJCrze8SNFZ4kA'
      for (const jwt of [await token(), await token({ claims: { aud: 'x' } })]) {
        const { body } = await node.introspect(jwt, undefined, { nonce })
        const { proof, ...facts } = body as { proof: IntrospectionProof }
        const published = keys.feedKeys.find(({ kid }) => kid === proof.kid)?.key
        expect(await checkIntrospection(facts, proof, published ?? (parseFeedKey(proof.kid) as never))).toBe(
          true,
        )
        expect(facts).toEqual((await node.introspect(jwt)).body)
      }
    })

    it('503, not "inactive", when this node cannot know', async () => {
      const { node } = await begin()
      node.deps.views.readiness = () => ({ ready: false, why: 'stale' })
      expect((await node.introspect(await token())).code).toBe('revocation_view_stale')
    })
  })

  describe('POST /api/auth/revoke', () => {
    it('revokes one token on every node, and no other of the user', async () => {
      const site = await begin()
      const [jwt, other] = [await token(), await token()]
      const second = await openNode(site.node.deps.store, site.A)
      expect((await site.bearer(jwt)).status).toBe(200)
      const { body } = await site.node.revokeToken(jwt, keyOf(site.A), { reason: 'lost laptop' })
      expect(body).toEqual({ success: true, revoked: true })
      expect((await site.bearer(jwt)).code).toBe('token_invalid')
      await expect.poll(async () => (await second.bearer(jwt)).code).toBe('token_invalid')
      expect((await site.bearer(other)).status).toBe(200)
      const rows = await site.node.deps.store.auditRows(site.A, { after: undefined, limit: 5 })
      expect(rows[0]).toMatchObject({ action: 'credential.revoke' })
    })

    it('a second time there is nothing to revoke', async () => {
      const { node } = await begin()
      const jwt = await token()
      await node.revokeToken(jwt)
      const position = await node.deps.store.logPosition()
      expect((await node.revokeToken(jwt)).body).toEqual(NOTHING)
      expect(await node.deps.store.logPosition()).toBe(position)
    })

    it('the same jti of another issuer is another token', async () => {
      const site = await begin()
      const OTHER = 'https://other.example'
      await site.ask('add_issuer', {
        params: { site_id: site.A },
        body: { type: 'oauth', issuer: OTHER, audience: [AUDIENCE], jwks: { keys: [key.jwk] } },
      })
      const claims = { jti: 'token-1' }
      await site.node.revokeToken(await token({ claims }))
      expect((await site.bearer(await token({ claims }))).code).toBe('token_invalid')
      expect((await site.bearer(await token({ claims: { ...claims, iss: OTHER } }))).status).toBe(200)
    })

    it('A143 verifies first: an unsigned, expired or foreign token changes nothing, and is in the audit', async () => {
      const site = await begin()
      const other = await begin({ issuer: 'https://other.example' })
      const { store } = site.node.deps
      const jwt = await token()
      const [header, payload, signature] = jwt.split('.')
      const position = await store.logPosition()
      for (const text of [
        `${header}.${payload}.`,
        `${header}.${payload}.${signature?.slice(0, -4)}AAAA`,
        await signToken(holder, { claims: { jti: 'x' } }),
        await token({ claims: { aud: 'https://other.example' } }),
        await token({ claims: { exp: NOW / 1000 - 1, iat: NOW / 1000 - 100 } }),
      ])
        expect((await site.node.revokeToken(text)).body, text).toEqual(NOTHING)
      expect((await site.node.revokeToken(jwt, keyOf(other.A))).body).toEqual(NOTHING)
      expect((await site.node.revokeToken(jwt, operator)).body).toEqual(NOTHING)
      expect(await store.logPosition()).toBe(position)
      expect((await site.bearer(jwt)).status).toBe(200)
      const rows = await store.auditRows(site.A, { after: undefined, limit: 10 })
      expect(rows.filter(({ action }) => action.startsWith('token.')).length).toBeGreaterThan(0)
    })

    it('a token that begins later, and one that needs a DPoP proof, can be revoked', async () => {
      const { node } = await begin()
      expect((await node.revokeToken(await token({ claims: { nbf: NOW / 1000 + 60 } }))).body.revoked).toBe(
        true,
      )
      expect((await node.revokeToken(await token({ claims: { cnf: { jkt } } }))).body.revoked).toBe(true)
    })

    it('Prefer: wait brings a receipt', async () => {
      const { ask } = await begin()
      const answer = await ask('revoke_token', { body: { token: await token() }, preferWaitSeconds: 1 })
      expect(answer.headers['preference-applied']).toBe('wait=1')
      expect(answer.body).toMatchObject({ revoked: true, propagation: { connected: 0 } })
    })

    it('503, not "nothing to revoke", when this node cannot know', async () => {
      const { node } = await begin()
      node.deps.views.readiness = () => ({ ready: false, why: 'stale' })
      expect((await node.revokeToken(await token())).code).toBe('store_unavailable')
    })
  })
})
