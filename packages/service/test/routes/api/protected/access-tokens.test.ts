import { createHmac, createPublicKey, randomBytes } from 'node:crypto'
import { deriveSubjectPpid, type SiteId, toThumbprint } from '@countersign/core'
import { CompactEncrypt } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
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
import { issued, NOW, newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claimsIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

let es256: OAuthKey
let rs256: OAuthKey
let holder: OAuthKey
beforeAll(async () => {
  es256 = await newOAuthKey('ES256', 'k1')
  rs256 = await newOAuthKey('RS256', 'k2')
  holder = await newOAuthKey('ES256')
})

forEachSharedStore('access tokens at POST /api/protected/action', (open) => {
  const begin = (issuer?: object, site?: object) => openOAuthSite(open(), [es256, rs256], issuer, site)
  const token = (changes?: TokenChanges) => signToken(es256, changes)

  it('accepts a token, and names the user as its issuer does', async () => {
    const { bearer, node, A } = await begin({ session_claim: 'sid' })
    const jwt = await token({ claims: { jti: 'token-1', sid: 'session-1' } })
    const { status, body } = await bearer(jwt)
    expect(status).toBe(200)
    const subjectKey = node.deps.views.view(A)?.subjectKey as Uint8Array
    expect(body).toMatchObject({
      allowed: true,
      presented: 'jwt',
      subject: {
        ppid: await deriveSubjectPpid(subjectKey, ISSUER, 'alice'),
        site_id: A,
        scope: ['orders:read', 'openid'],
        credential_id: expect.stringMatching(/^cred_jt_[\w-]{43}$/),
        permission_id: 'perm_default',
      },
      token: { issuer: ISSUER, subject: 'alice', client_id: 'client-1', jti: 'token-1' },
    })
    expect((await bearer(jwt)).body.subject).toEqual(body.subject)
  })

  it('accepts every algorithm, and a token without jti, client_id and kid', async () => {
    const keys = await Promise.all(
      ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'].map((alg) => newOAuthKey(alg)),
    )
    const { bearer } = await openOAuthSite(open(), keys)
    for (const key of keys) expect((await bearer(await signToken(key))).status, key.alg).toBe(200)
    const bare = await signToken(keys[4] as OAuthKey, {
      claims: { jti: undefined as never, client_id: undefined },
      header: { kid: undefined },
    })
    expect((await bearer(bare)).body.token).toEqual({
      issuer: ISSUER,
      subject: 'alice',
      client_id: null,
      jti: null,
    })
  })

  it('does not need bearer tokens of the service to be on, and is metered apart from them', async () => {
    const { bearer, node, A } = await begin({}, { bearer: 'off' })
    const seen: unknown[] = []
    node.deps.meters.verdict = (...verdict) => void seen.push(verdict)
    expect((await bearer(await token())).status).toBe(200)
    expect((await bearer(await token({ claims: { aud: 'x' } }))).code).toBe('token_invalid')
    expect(seen).toEqual([
      [A, 'jwt', 'allowed'],
      [A, 'jwt', 'token_invalid'],
    ])
  })

  it('403: without the scope that the route needs', async () => {
    const { bearer } = await begin()
    const { status, code, body } = await bearer(await token({ claims: { scope: 'orders:write' } }))
    expect([status, code, body.required_scope]).toEqual([403, 'scope_insufficient', ['orders:read']])
  })

  it('400: with a credential in the same request', async () => {
    const { call } = await begin()
    const { header } = await issued(await newParty())
    for (const scheme of ['Bearer', 'DPoP'])
      expect((await call(`${scheme} ${await token()}`, { 'x-service-credential': header })).code).toBe(
        'auth_ambiguous',
      )
  })

  it('503: when this node cannot know what is revoked', async () => {
    const { bearer, node } = await begin()
    const jwt = await token()
    node.deps.views.revocationData = ((get) => (siteId: SiteId) => {
      const { site, ageMsMax } = get.call(node.deps.views, siteId) ?? {}
      return { site, ageMsMax, ageMs: Number.POSITIVE_INFINITY }
    })(node.deps.views.revocationData) as never
    expect((await bearer(jwt)).code).toBe('revocation_view_stale')
  })

  describe('RFC 8725: rejects with token_invalid', () => {
    const rejects = async ({ bearer }: OAuthSite, jwt: string, name?: string) => {
      const { status, code, headers } = await bearer(jwt)
      expect([status, code], name).toEqual([401, 'token_invalid'])
      expect(headers['www-authenticate'], name).toMatch(/^Bearer realm="countersign", error="invalid_token"/)
    }
    const unsigned = async (header: object) => `${encode(header)}.${(await token()).split('.')[1]}`

    it('A281 alg none, HMAC with the public key, and another algorithm than that of the key', async () => {
      const site = await begin()
      for (const alg of ['none', 'None', 'NONE', '']) {
        const text = await unsigned({ alg, typ: 'at+jwt', kid: 'k1' })
        await rejects(site, `${text}.`, alg)
        await rejects(site, `${text}.${(await token()).split('.')[2]}`, alg)
      }
      const publicKey = createPublicKey({ key: rs256.jwk as never, format: 'jwk' })
      const secrets = [
        publicKey.export({ type: 'spki', format: 'pem' }),
        publicKey.export({ type: 'spki', format: 'der' }),
        JSON.stringify(rs256.jwk),
        '',
      ]
      for (const secret of secrets) {
        const text = await unsigned({ alg: 'HS256', typ: 'at+jwt', kid: 'k2' })
        const mac = createHmac('sha256', secret).update(text).digest('base64url')
        await rejects(site, `${text}.${mac}`, 'HS256')
      }
      for (const alg of ['RS256', 'PS256', 'ES384', 'RS512', 'ES256K', 'EdDSA'])
        await rejects(
          site,
          `${await unsigned({ alg, typ: 'at+jwt', kid: 'k1' })}.${(await token()).split('.')[2]}`,
          alg,
        )
    })

    it('A282 jku, x5u, x5c, an embedded jwk, crit, b64 and cty', async () => {
      const site = await begin()
      const other = await newOAuthKey('ES256', 'k1')
      const headers: readonly object[] = [
        { jku: 'https://attacker.example/jwks' },
        { x5u: 'https://attacker.example/x5u' },
        { x5c: ['AA=='] },
        { jwk: other.jwk },
        { crit: ['exp'], exp: 1 },
        { b64: true, crit: ['b64'] },
        { cty: 'JWT' },
      ]
      for (const header of headers) {
        const text = `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'k1', ...header })}.${(await token()).split('.')[1]}`
        await rejects(site, `${text}.${(await token()).split('.')[2]}`, JSON.stringify(header))
      }
      // Also if the issuer itself signed it.
      for (const header of [{ jku: 'https://idp.example/jwks' }, { jwk: es256.jwk }, { cty: 'JWT' }])
        await rejects(site, await token({ header }), JSON.stringify(header))
      await rejects(site, await signToken(other), 'another key under a known kid')
    })

    it('A282 a JWE, and a JWT in a JWT', async () => {
      const site = await begin()
      const jwe = await new CompactEncrypt(Buffer.from(await token()))
        .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: 'k2', cty: 'JWT' })
        .encrypt({ ...rs256.jwk, alg: 'RSA-OAEP-256', use: 'enc' })
      await rejects(site, jwe, 'JWE')
      const inner = await token()
      const nested = `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'k1' })}.${Buffer.from(inner).toString('base64url')}.${inner.split('.')[2]}`
      await rejects(site, nested, 'nested')
    })

    it('A283 another audience, none, and another spelling of the issuer', async () => {
      const site = await begin()
      for (const aud of [undefined, '', 'https://api.other.example', [], [AUDIENCE, 1], `${AUDIENCE}/`])
        await rejects(site, await token({ claims: { aud: aud as never } }), String(aud))
      for (const iss of [`${ISSUER}/`, ISSUER.toUpperCase(), 'https://idp.example', undefined])
        await rejects(site, await token({ claims: { iss: iss as never } }), String(iss))
      const both = await token({ claims: { aud: ['https://api.other.example', AUDIENCE] } })
      expect((await site.bearer(both)).status).toBe(200)
    })

    it('A284 another type of token: ID token, logout token, security event, DPoP proof', async () => {
      const site = await begin()
      for (const typ of [undefined, 'JWT', 'logout+jwt', 'secevent+jwt', 'dpop+jwt', 'id+jwt', 1])
        await rejects(site, await token({ header: { typ } }), String(typ))
      await rejects(site, await signProof(es256, { token: 'x', claims: claimsIn(await token()) }), 'proof')
      const loose = await begin({ require_at_jwt: false, client_ids: ['client-1'] })
      expect((await loose.bearer(await token({ header: { typ: undefined } }))).status).toBe(200)
      for (const claims of [{ nonce: 'n' }, { at_hash: 'x' }, { c_hash: 'x' }, { events: {} }])
        await rejects(loose, await token({ header: { typ: 'JWT' }, claims }), JSON.stringify(claims))
      for (const typ of ['logout+jwt', 'secevent+jwt', 'dpop+jwt'])
        await rejects(loose, await token({ header: { typ } }), typ)
      await rejects(loose, await token({ header: { typ: 'JWT' }, claims: { client_id: 'other' } }))
    })

    it('A284 an ID token of a client whose id is also the audience, where client_ids are all that is required', async () => {
      const audience = ['client-1', AUDIENCE]
      const loose = await begin({ require_at_jwt: false, client_ids: ['client-1'], audience })
      const idToken = (aud: unknown) =>
        token({ header: { typ: 'JWT' }, claims: { aud, azp: 'client-1', client_id: undefined } as never })
      expect((await loose.bearer(await idToken(AUDIENCE))).status).toBe(200)
      for (const aud of ['client-1', ['client-1'], ['client-1', AUDIENCE]])
        await rejects(loose, await idToken(aud), String(aud))
    })

    it('A285 a kid with a path, SQL or 10 KB, duplicate members, other encodings, wrong times', async () => {
      const site = await begin()
      for (const kid of [
        '../../dev/null',
        "k1' OR '1'='1",
        'k1\u0000',
        '',
        'x'.repeat(10_000),
        1,
        null,
        ['k1'],
      ])
        await rejects(site, await token({ header: { kid } }), String(kid).slice(0, 20))
      const [header, payload, signature] = (await token()).split('.') as [string, string, string]
      const twice = Buffer.from('{"alg":"ES256","alg":"none","typ":"at+jwt","kid":"k1"}').toString(
        'base64url',
      )
      await rejects(site, `${twice}.${payload}.${signature}`)
      const subTwice = Buffer.from(
        Buffer.from(payload, 'base64url').toString().replace('{', '{"sub":"mallory",'),
      ).toString('base64url')
      await rejects(site, `${header}.${subTwice}.${signature}`)
      for (const text of [`${header}.${payload}.${signature}=`, `${header}=.${payload}.${signature}`])
        await rejects(site, text)
      const iat = NOW / 1000 - 5
      for (const claims of [
        { exp: iat },
        { exp: String(iat + 600) },
        { exp: iat + 0.5 },
        { exp: 1e300 },
        { exp: iat + 86_401 },
        { exp: undefined },
        { iat: undefined },
        { iat: iat + 60, exp: iat + 600 },
        { nbf: iat + 60 },
        { iat: iat - 700, exp: iat - 100 },
      ])
        await rejects(site, await token({ claims: claims as never }), JSON.stringify(claims))
    })

    it('claims that are missing or too long, and any cnf but jkt', async () => {
      const site = await begin()
      for (const claims of [
        { sub: undefined },
        { sub: '' },
        { sub: 'x'.repeat(257) },
        { sub: 1 },
        { jti: '' },
        { scope: 1 },
        { cnf: { 'x5t#S256': 'x' } },
        { cnf: { jkt: 'short' } },
        { cnf: { jwk: es256.jwk } },
      ])
        await rejects(site, await token({ claims: claims as never }), JSON.stringify(claims))
      await rejects(site, await token({ claims: { padding: 'x'.repeat(8000) } }), 'longer than 8 KiB')
    })

    it('a token for a site that does not know its issuer', async () => {
      const { node } = await begin()
      const elsewhere = await begin({ issuer: 'https://other.example' })
      await rejects(elsewhere, await token())
      expect(node.logged.join('')).not.toContain(await token())
    })
  })

  it('A286 never grants more than the cap of the issuer', async () => {
    const { bearer } = await begin({
      scope: ['orders:read'],
      scope_map: { 'orders.all': ['orders:read'] },
    })
    for (const scope of ['orders.all', ['orders:read'], 'orders:read orders:write ORDERS:READ'])
      expect((await bearer(await token({ claims: { scope } }))).body.subject.scope).toEqual(['orders:read'])
    expect((await bearer(await token({ claims: { scope: 'orders:write' } }))).code).toBe('scope_insufficient')
  })

  describe('rejects a token that was accepted before', () => {
    const cases: readonly [
      name: string,
      revoke: (site: OAuthSite, jwt: string, ppid: string) => Promise<unknown>,
    ][] = [
      ['user.revoked', ({ node }, _jwt, ppid) => node.revokeUser(ppid)],
      ['user.signed_out', ({ ask, A }, _jwt, ppid) => ask('sign_out_user', { body: { ppid, site_id: A } })],
      [
        'holder.revoked',
        async ({ ask, A }) =>
          ask('revoke_holder', {
            params: { site_id: A },
            body: { thumbprint: await toThumbprint(toPublic(holder)) },
          }),
      ],
      [
        'issuer.cut_off',
        ({ ask, A }) => ask('cut_off_issuer', { params: { site_id: A }, body: { issuer: ISSUER } }),
      ],
      ['site.cut_off', ({ ask, A }) => ask('cut_off_site', { params: { site_id: A }, body: { confirm: A } })],
      [
        'distrust of the issuer',
        ({ ask, A, issuerId }) =>
          ask('change_issuer', { params: { site_id: A, issuer: issuerId }, body: { status: 'distrusted' } }),
      ],
      [
        'compromise of the key',
        async ({ ask, A, issuerId }) =>
          ask('change_issuer_key', {
            params: { site_id: A, issuer: issuerId, key: await toThumbprint(toPublic(es256)) },
            body: { status: 'compromised' },
          }),
      ],
      ['revocation of the token', ({ node }, jwt) => node.revokeToken(jwt)],
    ]

    it.each(cases)('after %s', async (name, revoke) => {
      const site = await begin()
      const jkt = await toThumbprint(toPublic(holder))
      const isHeld = name === 'holder.revoked'
      const jwt = await token(isHeld ? { claims: { cnf: { jkt } } } : {})
      const send = async () =>
        isHeld
          ? site.call(`DPoP ${jwt}`, { dpop: await signProof(holder, { token: jwt }) })
          : site.bearer(jwt)
      const before = await send()
      expect(before.status).toBe(200)
      const done = await revoke(site, jwt, before.body.subject.ppid)
      expect((done as { status: number }).status).toBe(200)
      expect((await send()).code).toBe('token_invalid')
      expect((await site.node.introspect(jwt)).body).toEqual({ active: false })
      const isBack = name === 'user.signed_out' || name.endsWith('cut_off')
      await site.node.later(60_000)
      const later = await token({ nowMs: NOW + 60_000, ...(isHeld ? { claims: { cnf: { jkt } } } : {}) })
      expect((await site.bearer(later)).status === 200).toBe(isBack || name === 'revocation of the token')
    })

    it('after the key was retired, if it was signed later', async () => {
      const { bearer, ask, node, A, issuerId } = await begin()
      const jwt = await token()
      const key = await toThumbprint(toPublic(es256))
      await node.later(10_000)
      const params = { site_id: A, issuer: issuerId, key }
      expect((await ask('change_issuer_key', { params, body: { status: 'retired' } })).status).toBe(200)
      expect((await bearer(jwt)).status).toBe(200)
      await node.later(60_000)
      expect((await bearer(await token({ nowMs: NOW + 70_000 }))).code).toBe('token_invalid')
    })
  })

  describe('A288 a token that is bound to a key', () => {
    const bound = async () => token({ claims: { cnf: { jkt: await toThumbprint(toPublic(holder)) } } })

    it('is accepted with a proof for this request', async () => {
      const { call } = await begin()
      const jwt = await bound()
      expect((await call(`DPoP ${jwt}`, { dpop: await signProof(holder, { token: jwt }) })).status).toBe(200)
      expect((await call(`DPoP ${jwt}`, { dpop: await signProof(holder, { token: jwt }) })).status).toBe(200)
    })

    it('needs the DPoP scheme and a proof, and the challenge says so', async () => {
      const { call } = await begin()
      const jwt = await bound()
      const dpop = await signProof(holder, { token: jwt })
      for (const answer of [await call(`Bearer ${jwt}`, { dpop }), await call(`DPoP ${jwt}`)]) {
        expect([answer.status, answer.code]).toEqual([401, 'proof_required'])
        expect(answer.headers['www-authenticate']).toMatch(
          /^DPoP realm="countersign".* algs="[A-Z0-9a-z ]+"$/,
        )
      }
      expect((await call(`DPoP ${await token()}`, { dpop })).code).toBe('token_invalid')
    })

    it('a replayed proof is rejected, on every node', async () => {
      const { call } = await begin()
      const jwt = await bound()
      const dpop = await signProof(holder, { token: jwt })
      expect((await call(`DPoP ${jwt}`, { dpop })).status).toBe(200)
      const again = await call(`DPoP ${jwt}`, { dpop })
      expect([again.status, again.code]).toEqual([401, 'proof_replayed'])
      expect(again.headers['www-authenticate']).toMatch(/^DPoP .*error="invalid_dpop_proof".*algs=/)
    })

    it('another method, URL, token, key, time or type is proof_invalid', async () => {
      const { call } = await begin()
      const jwt = await bound()
      const other = await newOAuthKey('ES256')
      const proofs = {
        htm: signProof(holder, { token: jwt, method: 'GET' }),
        htu: signProof(holder, { token: jwt, url: 'https://service.example/api/protected/other' }),
        host: signProof(holder, { token: jwt, url: 'https://other.example/api/protected/action' }),
        scheme: signProof(holder, { token: jwt, url: 'http://service.example/api/protected/action' }),
        ath: signProof(holder, { token: await bound() }),
        'no ath': signProof(holder, { token: jwt, claims: { ath: undefined } }),
        key: signProof(other, { token: jwt }),
        old: signProof(holder, { token: jwt, nowMs: NOW - 400_000 }),
        early: signProof(holder, { token: jwt, nowMs: NOW + 60_000 }),
        'iat as text': signProof(holder, { token: jwt, claims: { iat: String(NOW / 1000) as never } }),
        jti: signProof(holder, { token: jwt, claims: { jti: 'short' } }),
        typ: signProof(holder, { token: jwt, header: { typ: 'JWT' } }),
        'a private key': signProof(holder, {
          token: jwt,
          header: { jwk: { ...holder.jwk, d: randomBytes(32).toString('base64url') } },
        }),
      }
      for (const [name, dpop] of Object.entries(proofs)) {
        const { status, code } = await call(`DPoP ${jwt}`, { dpop: await dpop })
        expect([status, code], name).toEqual([401, 'proof_invalid'])
      }
      const [head, claims] = (await signProof(holder, { token: jwt })).split('.')
      const forged = `${head}.${claims}.${randomBytes(64).toString('base64url')}`
      expect((await call(`DPoP ${jwt}`, { dpop: forged })).code).toBe('proof_invalid')
      const [one, two] = [await signProof(holder, { token: jwt }), await signProof(holder, { token: jwt })]
      expect((await call(`DPoP ${jwt}`, { dpop: `${one}, ${two}` })).code).toBe('proof_invalid')
      expect((await call(`DPoP ${jwt}`, { dpop: [one, two] as never })).code).toBe('proof_invalid')
      // Neither proof has been used up.
      expect((await call(`DPoP ${jwt}`, { dpop: one })).status).toBe(200)
    })

    it('is the only token that a site with required holder proofs accepts', async () => {
      const { call, bearer } = await begin({}, { holder_proof: 'required' })
      const plain = await bearer(await token())
      expect([plain.status, plain.code]).toEqual([401, 'proof_required'])
      expect(plain.headers['www-authenticate']).toMatch(/^DPoP .*algs=/)
      expect((await bearer(`svc_at_${'A'.repeat(49)}`)).code).toBe('proof_required')
      const jwt = await bound()
      expect((await call(`DPoP ${jwt}`, { dpop: await signProof(holder, { token: jwt }) })).status).toBe(200)
    })
  })

  it('is not exchanged, and is not a credential', async () => {
    const { node } = await begin()
    const jwt = await token()
    for (const answer of [await node.exchange(jwt as never), await node.context(jwt)])
      expect([answer.status, answer.code]).toEqual([400, 'credential_malformed'])
    expect((await node.exchange(jwt as never)).body.detail).toMatch(/needs no exchange/)
    expect((await node.context(jwt)).body.detail).toMatch(/Authorization: Bearer/)
  })
})

function toPublic({ jwk: { crv, kty, x, y } }: OAuthKey) {
  return { crv, kty, x, y } as Parameters<typeof toThumbprint>[0]
}
