import type { JsonObject, Scope } from '@countersign/core'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import type { Guard } from '../../src/guard/guard.ts'
import type { GuardAllow } from '../../src/guard/verdict.ts'
import {
  createTestSite,
  type TestAccessToken,
  type TestJwtAlgorithm,
  type TestOAuthIssuer,
  type TestSite,
  testRequest,
} from '../../src/testing/index.ts'
import { outcome, ROUTE } from '../protected.ts'

let site: TestSite
let guard: Guard
let idp: TestOAuthIssuer
/** Which calls of the service there were, except for acknowledgements. */
let calls: string[]
let acknowledgements: string[]

beforeEach(async () => {
  site = await createTestSite()
  calls = []
  acknowledgements = []
  idp = await site.trustOAuthIssuer()
  guard = await site.guard({
    fetch: (url, init) => {
      if (url.endsWith('/ack')) acknowledgements.push(String(init.body))
      else calls.push(url)
      return site.service.fetch(url, init)
    },
  })
})
afterEach(() => site.close())

const READ = { scope: 'orders:read' }
const bearer = (jwt: string) => testRequest('GET', ROUTE, { authorization: `Bearer ${jwt}` })
const show = async (token: TestAccessToken, demand = READ) =>
  guard.verify(testRequest('GET', ROUTE, await token.headersFor('GET', ROUTE)), demand)
const code = (token: TestAccessToken, demand = READ) => outcome(show(token, demand))

describe('an access token of an OAuth issuer', () => {
  test.each<TestJwtAlgorithm>(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'])(
    'is accepted with %s, without a call to the service',
    async (algorithm) => {
      const issuer = `https://${algorithm.toLowerCase()}.example/realms/a`
      const other = await site.trustOAuthIssuer({ issuer, algorithm })
      const before = calls.length
      const token = await other.sign({ subject: 'user-7', clientId: 'app', jti: 'token-1' })
      for (let i = 0; i < 3; i++)
        expect(await show(token)).toMatchObject({
          ok: true,
          presented: 'jwt',
          subject: { siteId: 'shop.example', scope: ['orders:read'], permissionId: 'perm_default' },
          token: {
            issuer,
            subject: 'user-7',
            clientId: 'app',
            jti: 'token-1',
            claims: { aud: 'https://shop.example' },
          },
        })
      expect(calls.length).toBe(before)
    },
  )

  test('gives the same user the same id, and other users another', async () => {
    const ppid = async (subject: string) => {
      const verdict = await show(await idp.sign({ subject }))
      if (!verdict.ok) throw new Error(verdict.detail)
      return verdict.subject.ppid
    }
    expect(await ppid('alice')).toBe(await ppid('alice'))
    expect(await ppid('alice')).not.toBe(await ppid('bob'))
    expect(await ppid('alice')).toMatch(/^did:service:ppid_j_/)
  })

  test('is accepted where the site takes no bearer tokens of the service', async () => {
    await site.changeSite({ bearer: 'off' })
    expect(await code(await idp.sign())).toBe('allowed')
  })

  test('has its scopes mapped and capped by what the site lets the issuer grant', async () => {
    await idp.trust({ scope_map: { 'orders.read': ['orders:read'] }, scope: ['orders:read'] })
    expect(await code(await idp.sign({ scope: 'orders.read' }))).toBe('allowed')
    const write = await idp.sign({ scope: 'orders:write orders:read' })
    expect(await code(write)).toBe('allowed')
    expect(await code(write, { scope: 'orders:write' })).toBe('scope_insufficient')
  })

  test('lacks a scope: 403 with a challenge that names it', async () => {
    const verdict = await show(await idp.sign({ scope: 'other' }))
    expect(verdict).toMatchObject({
      status: 403,
      code: 'scope_insufficient',
      requiredScope: ['orders:read'],
      headers: {
        'www-authenticate': 'Bearer realm="countersign", error="insufficient_scope", scope="orders:read"',
      },
    })
  })

  test('is judged by stale data as little as a credential is', async () => {
    const token = await idp.sign()
    await site.cutFeed()
    await site.advance(31_000)
    expect(await code(token)).toBe('revocation_view_stale')
  })

  test('narrows by what was presented', async () => {
    const verdict = await show(await idp.sign())
    if (!verdict.ok) throw new Error(verdict.detail)
    expectTypeOf(verdict).toEqualTypeOf<GuardAllow>()
    if (verdict.presented === 'jwt') {
      expectTypeOf(verdict.token.subject).toEqualTypeOf<string>()
      expectTypeOf(verdict.token.clientId).toEqualTypeOf<string | undefined>()
      expectTypeOf(verdict.token.claims).toEqualTypeOf<JsonObject>()
    } else if (verdict.presented === 'credential') {
      expectTypeOf(verdict.holder).toEqualTypeOf<'unbound' | 'verified' | 'verified_without_body'>()
    }
  })
})

describe('RFC 8725: a token is rejected', () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const HMAC = { name: 'HMAC', hash: 'SHA-256' }
  const invalid = async (jwt: string) => {
    const verdict = await guard.verify(bearer(jwt), READ)
    expect(verdict).toMatchObject({
      code: 'token_invalid',
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="countersign", error="invalid_token"' },
    })
    // Callers learn nothing about what is wrong.
    expect(verdict).toMatchObject({
      detail: ((await guard.verify(bearer('e30.e30.e30'))) as { detail: string }).detail,
    })
  }

  test('without a signature, or with alg none', async () => {
    const { jwt, claims } = await idp.sign()
    const [header, payload] = jwt.split('.')
    await invalid(`${header}.${payload}.`)
    for (const alg of ['none', 'None', 'NONE', ''])
      for (const signature of ['', 'e30'])
        await invalid(`${encode({ typ: 'at+jwt', alg, kid: idp.jwk.kid })}.${encode(claims)}.${signature}`)
  })

  test('whose HMAC key is the public key', async () => {
    const rsa = await site.trustOAuthIssuer({ issuer: 'https://rsa.example', algorithm: 'RS256' })
    const { claims } = await rsa.sign()
    for (const secret of [JSON.stringify(rsa.jwk), String(rsa.jwk.n)]) {
      const signingInput = `${encode({ typ: 'at+jwt', alg: 'HS256', kid: rsa.jwk.kid })}.${encode(claims)}`
      const key = await crypto.subtle.importKey('raw', Buffer.from(secret), HMAC, false, ['sign'])
      const mac = await crypto.subtle.sign('HMAC', key, Buffer.from(signingInput))
      await invalid(`${signingInput}.${Buffer.from(mac).toString('base64url')}`)
    }
  })

  test('that names another algorithm than its key has', async () => {
    for (const alg of ['RS256', 'ES384', 'PS256', 'EdDSA', 'HS256'])
      await invalid((await idp.sign({ header: { alg } })).jwt)
  })

  test('that brings its own key, or the address of one', async () => {
    const other = await createTestSite()
    const evil = await other.trustOAuthIssuer()
    const { kid, ...jwk } = evil.jwk
    for (const header of [
      { jwk },
      { jwk, kid },
      { jku: 'https://evil.example/keys' },
      { x5u: 'https://evil.example/cert' },
      { x5c: ['MIIB'] },
      { crit: ['exp'] },
      { kid: '../../keys' },
      { b64: false },
      { zip: 'DEF' },
      { cty: 'JWT' },
    ]) {
      await invalid((await evil.sign({ header })).jwt)
      if (!('jwk' in header)) await invalid((await idp.sign({ header })).jwt)
    }
    await other.close()
  })

  test('that was signed by another key under the name of this one', async () => {
    const other = await createTestSite()
    const evil = await other.trustOAuthIssuer()
    await invalid((await evil.sign({ header: { kid: idp.jwk.kid } })).jwt)
    await invalid((await evil.sign({ header: { kid: undefined } })).jwt)
    await other.close()
  })

  test('for another audience, of another issuer, or of another issuer of this site', async () => {
    const second = await site.trustOAuthIssuer({ issuer: 'https://second.example' })
    await invalid((await idp.sign({ claims: { aud: 'https://other.example' } })).jwt)
    await invalid((await idp.sign({ claims: { aud: undefined } })).jwt)
    await invalid((await idp.sign({ claims: { iss: 'https://idp.example/' } })).jwt)
    await invalid((await idp.sign({ claims: { iss: 'https://unknown.example' } })).jwt)
    await invalid((await second.sign({ claims: { iss: idp.issuer }, header: { kid: second.jwk.kid } })).jwt)
  })

  test('of another kind: ID tokens, logout tokens, security events', async () => {
    for (const typ of [undefined, 'JWT', 'logout+jwt', 'secevent+jwt', 'dpop+jwt'])
      await invalid((await idp.sign({ header: { typ } })).jwt)
    await invalid((await idp.sign({ claims: { nonce: 'n' } })).jwt)
    await invalid((await idp.sign({ claims: { events: {} } })).jwt)
  })

  test('before its time, at the second of its end, and that lives too long', async () => {
    const now = Math.floor(site.clock.nowMs / 1000)
    await invalid((await idp.sign({ claims: { iat: now + 60, exp: now + 120 } })).jwt)
    await invalid((await idp.sign({ claims: { nbf: now + 60 } })).jwt)
    await invalid((await idp.sign({ claims: { exp: now + 86_401 } })).jwt)
    await invalid((await idp.sign({ claims: { exp: String(now + 60) } })).jwt)
    const short = await idp.sign({ ttlSeconds: 60 })
    expect(await code(short)).toBe('allowed')
    await site.advance(60_000)
    await invalid(short.jwt)
  })

  test('that is encrypted, nested, too long or has a member twice', async () => {
    const { jwt } = await idp.sign()
    const [header, payload, signature] = jwt.split('.')
    await invalid(`${encode({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.${payload}.${signature}`)
    await invalid(`${header}.${Buffer.from(jwt).toString('base64url')}.${signature}`)
    await invalid((await idp.sign({ claims: { long: 'x'.repeat(8000) } })).jwt)
    const twice = Buffer.from('{"alg":"ES256","alg":"none","typ":"at+jwt"}').toString('base64url')
    await invalid(`${twice}.${payload}.${signature}`)
    // Five parts do not have the form of a JWT, and are no token of the service either.
    expect(await outcome(guard.verify(bearer(`${jwt}.e30.e30`), READ))).toBe('token_invalid')
  })

  test('with any character changed', async () => {
    const { jwt } = await idp.sign()
    expect(await outcome(guard.verify(bearer(jwt), READ))).toBe('allowed')
    for (let i = 0; i < jwt.length; i += 7) {
      const other = jwt[i] === 'A' ? 'B' : 'A'
      if (jwt[i] === '.') continue
      expect(
        await outcome(guard.verify(bearer(jwt.slice(0, i) + other + jwt.slice(i + 1)), READ)),
        `${i}`,
      ).toBe('token_invalid')
    }
  })

  test('of a key that was compromised, or of an issuer that is not trusted any more', async () => {
    const token = await idp.sign()
    expect(await code(token)).toBe('allowed')
    await idp.distrust()
    await invalid(token.jwt)
    await idp.trust()
    expect(await code(token)).toBe('allowed')
    await idp.compromiseKey()
    await invalid(token.jwt)
    await idp.trust()
    await invalid(token.jwt)
  })

  test('of a key that the guard does not know yet, until the log lists it', async () => {
    await idp.rotateKey()
    const token = await idp.sign()
    await invalid(token.jwt)
    await site.advance(5_000)
    // The guard fetches nothing itself.
    expect(acknowledgements.some((body) => JSON.parse(body).refresh_issuer === idp.issuer)).toBe(true)
    expect(calls.every((url) => !url.includes('idp.example'))).toBe(true)
    await idp.trust()
    expect(await code(token)).toBe('allowed')
  })
})

describe('what ends access with a token', () => {
  const ends: Record<string, (token: TestAccessToken) => Promise<void>> = {
    'the user is revoked': () => idp.revokeUser('alice'),
    'the user is signed out': () => idp.signOutUser('alice'),
    'the token is revoked': (token) => idp.revokeToken(token),
    'the session is ended': () => idp.endSession('s-1'),
    'the issuer is cut off': () => idp.cutOff(),
    'the site is cut off': () => site.cutOffSite(),
    'the issuer is distrusted': () => idp.distrust(),
    'the key is compromised': () => idp.compromiseKey(),
    'the holder key is revoked': (token) => site.revokeHolder(token),
  }
  const others: Record<string, () => Promise<void>> = {
    'another user is revoked': () => idp.revokeUser('bob'),
    'another session is ended': () => idp.endSession('s-2'),
    'the issuer of credentials is cut off': () => site.cutOffIssuer(),
  }
  const start = async () => {
    await idp.trust({ session_claim: 'sid' })
    const token = await idp.sign({ session: 's-1', bound: true })
    const verdict = await show(token)
    if (!verdict.ok) throw new Error(verdict.detail)
    return { token, signal: guard.signal(verdict) }
  }

  test.each(Object.keys(ends))('%s: new requests and running ones', async (name) => {
    const { token, signal } = await start()
    expect(signal.aborted).toBe(false)
    await ends[name]?.(token)
    expect(signal.reason).toMatchObject({
      name: 'AccessEnded',
      denial: {
        code: 'token_invalid',
        headers: { 'www-authenticate': expect.stringMatching(/^DPoP .*error="invalid_token"/) },
      },
    })
    expect(await code(token)).toBe('token_invalid')
    // The same in a guard that starts with a snapshot of all this.
    const late = await site.guard()
    expect(
      await outcome(late.verify(testRequest('GET', ROUTE, await token.headersFor('GET', ROUTE)), READ)),
    ).toBe('token_invalid')
  })

  test.each(Object.keys(others))('%s: nothing changes', async (name) => {
    const { token, signal } = await start()
    await others[name]?.()
    expect(signal.aborted).toBe(false)
    expect(await code(token)).toBe('allowed')
  })

  test('time: a stream ends with its token', async () => {
    const verdict = await show(await idp.sign({ ttlSeconds: 60 }))
    if (!verdict.ok) throw new Error(verdict.detail)
    const signal = guard.signal(verdict)
    await site.advance(59_000)
    expect(signal.aborted).toBe(false)
    await site.advance(1_100)
    expect(signal.reason).toMatchObject({ denial: { code: 'token_invalid' } })
  })

  test('after a sign-out and after a cut-off, a new token is valid', async () => {
    for (const end of [() => idp.signOutUser('alice'), () => idp.cutOff(), () => site.cutOffSite()]) {
      await end()
      expect(await code(await idp.sign())).toBe('token_invalid')
      await site.advance(1_000)
      expect(await code(await idp.sign())).toBe('allowed')
    }
  })
})

describe('a token that is bound to a key', () => {
  const URL_AT = 'https://shop.example/api/orders'

  test('is accepted with a proof for this request, whatever the query', async () => {
    expect(await code(await idp.sign({ bound: true }))).toBe('allowed')
  })

  test('is rejected without a proof, and as a bearer token', async () => {
    const token = await idp.sign({ bound: true })
    const { authorization = '', dpop = '' } = await token.headersFor('GET', ROUTE)
    for (const headers of [
      { authorization },
      { authorization: `Bearer ${token.jwt}` },
      { authorization: `Bearer ${token.jwt}`, dpop },
    ]) {
      const verdict = await guard.verify(testRequest('GET', ROUTE, headers), READ)
      expect(verdict).toMatchObject({
        status: 401,
        code: 'proof_required',
        headers: {
          'www-authenticate':
            'DPoP realm="countersign", error="invalid_token", algs="ES256 ES384 EdDSA PS256 RS256"',
        },
      })
      expect(verdict).not.toHaveProperty('headers.accept-signature')
    }
  })

  test('is rejected with a proof that was used before', async () => {
    const token = await idp.sign({ bound: true })
    const headers = await token.headersFor('GET', ROUTE)
    const replay = () => guard.verify(testRequest('GET', ROUTE, headers), READ)
    expect(await outcome(replay())).toBe('allowed')
    expect(await replay()).toMatchObject({
      code: 'proof_replayed',
      headers: { 'www-authenticate': expect.stringContaining('error="invalid_dpop_proof"') },
    })
  })

  test.each([
    ['another method', { htm: 'POST' }],
    ['another path', { htu: 'https://shop.example/api/order' }],
    ['another host', { htu: 'https://evil.example/api/orders' }],
    ['no URL', { htu: undefined }],
    ['another token', { ath: 'x'.repeat(43) }],
    ['no token', { ath: undefined }],
    ['no id', { jti: undefined }],
    ['a time long ago', { iat: 1_600_000_000 }],
  ])('is rejected with a proof for %s', async (_name, claims) => {
    const token = await idp.sign({ bound: true })
    const headers = await token.headersFor('GET', URL_AT, claims)
    expect(await outcome(guard.verify(testRequest('GET', ROUTE, headers), READ))).toBe('proof_invalid')
  })

  test('is rejected with the proof of another key, two proofs, or none in the header', async () => {
    const token = await idp.sign({ bound: true })
    const other = await idp.sign({ bound: true })
    const { authorization = '', dpop = '' } = await token.headersFor('GET', ROUTE)
    const { dpop: stolen = '' } = await other.headersFor('GET', ROUTE)
    for (const proof of [stolen, [dpop, dpop], `${dpop}, ${dpop}`, 'nonsense', ''])
      expect(
        await outcome(guard.verify(testRequest('GET', ROUTE, { authorization, dpop: proof }), READ)),
      ).toBe('proof_invalid')
  })

  test('is for one scheme only with publicOrigin, because a proxy may end TLS', async () => {
    const origin = 'https://shop.example'
    const withOrigin = await site.guard({ publicOrigin: origin })
    const token = await idp.sign({ bound: true })
    const ask = async (asked: typeof guard, htu: string) => {
      const headers = await token.headersFor('GET', htu)
      return outcome(asked.verify(testRequest('GET', 'http://shop.example/orders', headers), READ))
    }
    for (const scheme of ['http', 'https'])
      expect(await ask(guard, `${scheme}://shop.example/orders`), scheme).toBe('allowed')
    expect(await ask(withOrigin, `${origin}/orders`)).toBe('allowed')
    expect(await ask(withOrigin, 'http://shop.example/orders')).toBe('proof_invalid')
    await withOrigin.close()
  })

  test('is checked against publicOrigin, and the denial names it', async () => {
    const behind = await site.guard({ publicOrigin: 'https://api.example/shop' })
    const token = await idp.sign({ bound: true })
    const at = async (htu: string) =>
      behind.verify(
        testRequest('GET', 'http://internal:8080/orders', await token.headersFor('GET', htu)),
        READ,
      )
    expect(await outcome(at('https://api.example/shop/orders'))).toBe('allowed')
    expect(await at('http://internal:8080/orders')).toMatchObject({
      code: 'proof_invalid',
      detail: expect.stringContaining('https://api.example/shop'),
    })
    const elsewhere = await guard.verify(
      testRequest(
        'GET',
        'http://internal:8080/orders',
        await token.headersFor('GET', 'http://internal:8080/orders'),
      ),
      READ,
    )
    expect(elsewhere).toMatchObject({
      code: 'proof_invalid',
      detail: expect.stringContaining('publicOrigin'),
    })
  })

  test('is rejected with 503 when its proof cannot be stored', async () => {
    const broken = await site.guard({ nonceStore: { consume: () => Promise.reject(new Error('down')) } })
    const token = await idp.sign({ bound: true })
    const request = testRequest('GET', ROUTE, await token.headersFor('GET', ROUTE))
    expect(await outcome(broken.verify(request, READ))).toBe('store_unavailable')
  })

  test('is the only one that the DPoP scheme takes', async () => {
    const { jwt } = await idp.sign()
    const { dpop = '' } = await (await idp.sign({ bound: true })).headersFor('GET', ROUTE)
    const request = testRequest('GET', ROUTE, { authorization: `DPoP ${jwt}`, dpop })
    expect(await outcome(guard.verify(request, READ))).toBe('token_invalid')
  })
})

test('where the site requires holder proofs, a token without one is 401 proof_required', async () => {
  await site.changeSite({ holder_proof: 'required' })
  expect(await show(await idp.sign())).toMatchObject({
    status: 401,
    code: 'proof_required',
    headers: { 'www-authenticate': expect.stringMatching(/^DPoP .*algs="ES256 ES384 EdDSA PS256 RS256"$/) },
  })
  expect(await code(await idp.sign({ bound: true }))).toBe('allowed')
})

test('when the site begins to require holder proofs, running requests without one end', async () => {
  const plain = await show(await idp.sign())
  const bound = await show(await idp.sign({ bound: true }))
  if (!plain.ok || !bound.ok) throw new Error('both are accepted')
  const signals = [guard.signal(plain), guard.signal(bound)]
  await site.changeSite({ holder_proof: 'required' })
  expect(signals[0]?.reason).toMatchObject({
    denial: { code: 'proof_required', headers: { 'www-authenticate': expect.stringMatching(/^DPoP /) } },
  })
  expect(signals[1]?.aborted).toBe(false)
})

describe('recheck', () => {
  test('adds a demand to an accepted request, and to its signals', async () => {
    const { header } = await site.issue({ scope: ['orders:read', 'orders:write'] })
    const verdict = await guard.verify(testRequest('GET', ROUTE, { 'x-service-credential': header }), READ)
    if (!verdict.ok) throw new Error(verdict.detail)
    expect(guard.recheck(verdict, { scope: 'orders:write' })).toBe(verdict)
    const signal = guard.signal(verdict)
    await site.trustIssuer({ scope: ['orders:read' as Scope] })
    expect(signal.reason).toMatchObject({ denial: { code: 'scope_insufficient' } })
  })

  test('denies what the request lacks, and leaves the request as it was', async () => {
    const verdict = await show(await idp.sign())
    if (!verdict.ok) throw new Error(verdict.detail)
    expect(guard.recheck(verdict, { scope: 'orders:write' })).toMatchObject({
      code: 'scope_insufficient',
      status: 403,
      headers: { 'www-authenticate': expect.stringContaining('error="insufficient_scope"') },
    })
    expect(guard.signal(verdict).aborted).toBe(false)
    expect(() => guard.recheck({ ...verdict }, READ)).toThrow('guard.recheck needs a request or verdict')
  })
})
