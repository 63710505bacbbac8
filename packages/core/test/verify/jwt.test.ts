import { randomUUID } from 'node:crypto'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Ppid } from '../../src/credential/ids.ts'
import { createMemoryNonces } from '../../src/holder/nonces.ts'
import { holderRequestFrom } from '../../src/holder/request.ts'
import { deriveSessionId, deriveSubjectPpid, deriveTokenId } from '../../src/jwt/derived-ids.ts'
import { parseJwtKey } from '../../src/jwt/jwk.ts'
import { toJwtPolicy } from '../../src/log/oauth-issuer.ts'
import { explain } from '../../src/verify/explain.ts'
import { JwtContext, jwtChecks } from '../../src/verify/jwt.ts'
import { recheckAccess } from '../../src/verify/recheck.ts'
import type { RevocationData } from '../../src/verify/revocation-data.ts'
import { SignatureCache } from '../../src/verify/signature-cache.ts'
import type { OAuthIssuer, TrustedJwtKey } from '../../src/verify/trust.ts'
import { verify } from '../../src/verify/verify.ts'
import { oauthState } from '../log/log-sample.ts'
import { createData, createDemand, NOW, PlainSite } from '../sample.ts'

const ISSUER = 'https://idp1.example'
const AUDIENCE = 'https://api.shop.example'
let privateKey: CryptoKey
let issuer: OAuthIssuer
let site: PlainSite
let data: RevocationData
let cache: SignatureCache
beforeEach(async () => {
  const pair = await generateKeyPair('ES256')
  privateKey = pair.privateKey
  const key = parseJwtKey(await exportJWK(pair.publicKey))
  if (key === undefined) throw new Error('the key is not read')
  const id = await calculateJwkThumbprint(key.jwk as JWK)
  const trusted = { id, kid: 'one', key, status: 'active', changedAtMs: undefined } as const
  issuer = {
    issuer: ISSUER,
    keys: new Map([[`${ISSUER}#${id}`, trusted]]),
    policy: toJwtPolicy(oauthState(1)),
    userRefFromSubject: false,
  }
  site = new PlainSite()
  site.oauthIssuers.set(ISSUER, issuer)
  cache = new SignatureCache()
  data = createData(site, { signatures: cache })
})

const claims = (changed: object = {}) => ({
  iss: ISSUER,
  sub: 'alice',
  aud: AUDIENCE,
  iat: NOW / 1000 - 10,
  exp: NOW / 1000 + 600,
  jti: 'token-1',
  sid: 'session-1',
  scope: 'orders:read',
  ...changed,
})
const sign = (changed: object = {}, header: object = {}) =>
  new SignJWT(claims(changed))
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'one', ...header })
    .sign(privateKey)
const decide = (jwt: string, demand = createDemand(), scheme: 'Bearer' | 'DPoP' = 'Bearer') =>
  verify({ jwt, scheme }, demand, data)
const codeOf = async (jwt: string, demand = createDemand()) => {
  const verdict = await decide(jwt, demand)
  return verdict.ok ? 'allowed' : verdict.code
}

test('an access token is accepted, with ids derived from its claims', async () => {
  const subjectKey = site.subjectKey as Uint8Array
  expect(await decide(await sign())).toMatchObject({
    ok: true,
    presented: 'jwt',
    subject: {
      ppid: await deriveSubjectPpid(subjectKey, ISSUER, 'alice'),
      credentialId: await deriveTokenId(subjectKey, ISSUER, 'token-1'),
      permissionId: 'perm_default',
      scope: ['orders:read'],
      expiresAtMs: NOW + 600_000,
    },
    jwt: { facts: { subject: 'alice', issuer: ISSUER, jti: 'token-1' } },
  })
  expect(cache.jwts.size).toBe(1)
})

test('no caller can change a verdict for the next one, and the signature is not kept', async () => {
  const jwt = await sign({ groups: ['staff'] })
  const verdict = await decide(jwt)
  if (!verdict.ok || verdict.presented !== 'jwt') throw new Error('it must be accepted')
  expect(() => (verdict.subject.scope as unknown as string[]).push('orders:write')).toThrow(TypeError)
  expect(() => (verdict.jwt.read.claims.groups as string[]).push('admin')).toThrow(TypeError)
  expect(() => Object.assign(verdict.jwt.facts, { subject: 'bob' })).toThrow(TypeError)
  expect(() => Object.assign(verdict.jwt.grounds, { ppid: 'bob' })).toThrow(TypeError)
  expect(Object.keys(verdict.jwt.read)).toEqual(['header', 'claims'])
})

test('a token that was found in the cache is not read again', async () => {
  const jwt = await sign()
  const countReads = async () => {
    const context = new JwtContext({ jwt, scheme: 'Bearer' }, createDemand(), data)
    let reads = 0
    const { get } = Object.getOwnPropertyDescriptor(JwtContext.prototype, 'read') ?? {}
    Object.defineProperty(context, 'read', { get: () => (reads++, get?.call(context)), set: () => {} })
    for (const [, check] of jwtChecks) expect(await check(context)).toBeUndefined()
    return reads
  }
  // Control: the first time it must be read.
  expect(await countReads()).toBeGreaterThan(0)
  expect(await countReads()).toBe(0)
})

describe('token_invalid', () => {
  test.each<[string, object, object]>([
    ['an unknown issuer', { iss: 'https://evil.example' }, {}],
    ['an issuer with a slash more', { iss: `${ISSUER}/` }, {}],
    ['an unknown kid (RFC 8725 §3.10)', {}, { kid: 'two' }],
    ['a kid that looks like a path', {}, { kid: '../../keys' }],
    ['a kid that is no text', {}, { kid: 1 }],
    ['an ID token', {}, { typ: 'JWT' }],
    ['a logout token', { events: {} }, { typ: 'logout+jwt' }],
    ['another audience', { aud: 'else' }, {}],
    ['an expired token', { exp: NOW / 1000 }, {}],
    ['a token from the future', { iat: NOW / 1000 + 11 }, {}],
    ['a token that is not valid yet', { nbf: NOW / 1000 + 11 }, {}],
    ['a key of the sender', {}, { jwk: { kty: 'EC' } }],
    ['a key server of the sender', {}, { jku: 'https://evil.example' }],
  ])('%s', async (_, changed, header) => {
    expect(await codeOf(await sign(changed, header))).toBe('token_invalid')
  })

  test('alg none, and HMAC with the public key', async () => {
    const [, payload] = (await sign()).split('.')
    const header = (alg: string) => Buffer.from(JSON.stringify({ alg, typ: 'at+jwt' })).toString('base64url')
    expect(await codeOf(`${header('none')}.${payload}.`)).toBe('token_invalid')
    const secret = new TextEncoder().encode(JSON.stringify([...issuer.keys.values()][0]?.key.jwk))
    const forged = new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'one' })
    expect(await codeOf(await forged.sign(secret))).toBe('token_invalid')
  })

  test('what another key signed, also when the header names ours', async () => {
    const other = await generateKeyPair('ES256')
    const forged = new SignJWT(claims()).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'one' })
    expect(await codeOf(await forged.sign(other.privateKey))).toBe('token_invalid')
  })

  test('a site without a key for derived ids', async () => {
    site.subjectKey = undefined
    expect(await codeOf(await sign())).toBe('token_invalid')
  })
})

test('a token without kid is accepted only if exactly one key fits', async () => {
  const [[method, key] = []] = [...issuer.keys]
  const jwt = await sign({}, { kid: undefined })
  expect(await codeOf(jwt)).toBe('allowed')
  if (method === undefined || key === undefined) throw new Error('the issuer has a key')
  site.oauthIssuers.set(ISSUER, { ...issuer, keys: new Map([...issuer.keys, [`${method}2`, key]]) })
  expect(await codeOf(jwt)).toBe('token_invalid')
})

describe('a token that was accepted before is rejected', () => {
  let jwt: string
  beforeEach(async () => {
    jwt = await sign()
    expect(await codeOf(jwt)).toBe('allowed')
  })
  const recheck = async () => {
    const before = await decide(jwt)
    if (!before.ok) throw new Error('it must be accepted')
    return (demand = createDemand()) => recheckAccess(before, demand, data)?.code
  }

  test('when the token, its session or its user is revoked', async () => {
    const subjectKey = site.subjectKey as Uint8Array
    for (const [set, id] of [
      [site.credentials, await deriveTokenId(subjectKey, ISSUER, 'token-1')],
      [site.credentials, await deriveSessionId(subjectKey, ISSUER, 'session-1')],
      [site.users, (await deriveSubjectPpid(subjectKey, ISSUER, 'alice')) as Ppid],
    ] as const) {
      const running = await recheck()
      set.add(id)
      expect(await codeOf(jwt)).toBe('token_invalid')
      expect(running()).toBe('token_invalid')
      set.delete(id)
    }
  })

  test('when its issuer is distrusted, its key compromised or retired before, or the site cut off', async () => {
    const running = await recheck()
    const withKey = (changes: Partial<TrustedJwtKey>) =>
      site.oauthIssuers.set(ISSUER, {
        ...issuer,
        keys: new Map([...issuer.keys].map(([method, key]) => [method, { ...key, ...changes }])),
      })
    withKey({ status: 'compromised' })
    expect([await codeOf(jwt), running()]).toEqual(['token_invalid', 'token_invalid'])
    withKey({ status: 'retired', changedAtMs: NOW - 11_000 })
    expect([await codeOf(jwt), running()]).toEqual(['token_invalid', 'token_invalid'])
    withKey({ status: 'retired', changedAtMs: NOW - 10_000 })
    expect([await codeOf(jwt), running()]).toEqual(['allowed', undefined])
    site.cutOffMs = NOW - 10_000
    expect([await codeOf(jwt), running()]).toEqual(['token_invalid', 'token_invalid'])
    site.cutOffMs = NOW - 10_001
    expect([await codeOf(jwt), running()]).toEqual(['allowed', undefined])
    site.oauthIssuers.delete(ISSUER)
    expect([await codeOf(jwt), running()]).toEqual(['token_invalid', 'token_invalid'])
  })

  test('when the site accepts another audience only', async () => {
    const running = await recheck()
    site.oauthIssuers.set(ISSUER, { ...issuer, policy: { ...issuer.policy, audience: ['else'] } })
    expect([await codeOf(jwt), running()]).toEqual(['token_invalid', 'token_invalid'])
  })

  test('when the site changes how it names the user or the session, while the request runs', async () => {
    const { policy } = issuer
    for (const changes of [
      { userRefFromSubject: true },
      { policy: { ...policy, subjectClaim: 'jti' } },
      { policy: { ...policy, sessionClaim: 'jti' } },
    ]) {
      site.oauthIssuers.set(ISSUER, issuer)
      const running = await recheck()
      expect(running()).toBeUndefined()
      site.oauthIssuers.set(ISSUER, { ...issuer, ...changes, policy: { ...policy, ...changes.policy } })
      expect([await codeOf(jwt), running()]).toEqual(['allowed', 'token_invalid'])
    }
  })

  test('when it expires, and while the data is stale', async () => {
    const running = await recheck()
    expect(running(createDemand({ nowMs: NOW + 599_999 }))).toBeUndefined()
    expect(running(createDemand({ nowMs: NOW + 600_000 }))).toBe('token_invalid')
    data = createData(site, { ageMs: 30_001 })
    expect([await codeOf(jwt), running()]).toEqual(['revocation_view_stale', 'revocation_view_stale'])
  })
})

test('a token of a clock that is ahead outlives a cut-off, and ends with the next one after 10 s', async () => {
  const jwt = await sign({ iat: NOW / 1000 + 10 })
  site.cutOffMs = NOW
  expect(await codeOf(jwt)).toBe('allowed')
  site.cutOffMs = NOW + 10_000
  expect(await codeOf(jwt, createDemand({ nowMs: NOW + 10_000 }))).toBe('token_invalid')
})

test('a scope that the token lacks is scope_insufficient', async () => {
  expect(await codeOf(await sign({ scope: 'other' }))).toBe('scope_insufficient')
  expect(await codeOf(await sign({ scope: '' }))).toBe('scope_insufficient')
})

describe('a token that is bound to a key', () => {
  const prove = async (jwt: string) => {
    const pair = await generateKeyPair('ES256', { extractable: true })
    const jwk = await exportJWK(pair.publicKey)
    const proof = async (token: string) => {
      const ath = Buffer.from(
        await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token)),
      ).toString('base64url')
      return new SignJWT({
        htm: 'POST',
        htu: 'https://shop.example/api/orders',
        iat: NOW / 1000,
        jti: randomUUID(),
        ath,
      })
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
        .sign(pair.privateKey)
    }
    return { jkt: await calculateJwkThumbprint(jwk), proof, jwt }
  }
  const demandWith = (proof: string, nonces = createMemoryNonces({ startedAtMs: NOW - 600_000 })) =>
    createDemand({
      request: holderRequestFrom(
        'POST',
        'https://shop.example/api/orders',
        new Headers({ dpop: proof }),
        'none',
      ),
      nonces,
    })

  test('needs a DPoP proof, once, and is revoked with its key', async () => {
    const { jkt, proof } = await prove('')
    const jwt = await sign({ cnf: { jkt } })
    expect(await codeOf(jwt)).toBe('proof_required')
    const demand = demandWith(await proof(jwt))
    expect(await decide(jwt, demand, 'Bearer')).toMatchObject({ code: 'proof_required' })
    expect(await decide(jwt, demand, 'DPoP')).toMatchObject({ ok: true })
    expect(await decide(jwt, demand, 'DPoP')).toMatchObject({ code: 'proof_replayed' })
    site.holders.add(jkt)
    expect(await decide(jwt, demandWith(await proof(jwt)), 'DPoP')).toMatchObject({ code: 'token_invalid' })
  })

  test('is rejected with the proof of another key', async () => {
    const [one, other] = [await prove(''), await prove('')]
    const jwt = await sign({ cnf: { jkt: one.jkt } })
    expect(await decide(jwt, demandWith(await other.proof(jwt)), 'DPoP')).toMatchObject({
      code: 'proof_invalid',
    })
  })

  test('is the only kind that a site accepts which requires holder proofs', async () => {
    site.settings = { ...site.settings, holderProof: 'required' }
    expect(await codeOf(await sign())).toBe('proof_required')
  })

  test('an unbound token is no DPoP token', async () => {
    expect(await decide(await sign(), createDemand(), 'DPoP')).toMatchObject({ code: 'token_invalid' })
  })
})

describe('explain', () => {
  const results = async (jwt: string, scheme: 'Bearer' | 'DPoP' = 'Bearer') => {
    const { checks, allowed } = await explain({ jwt, scheme }, createDemand(), data)
    return {
      allowed,
      denied: checks.filter(({ result }) => result === 'denied').map(({ check }) => check),
      skipped: checks.filter(({ result }) => result === 'skipped').map(({ check }) => check),
      detail: checks.find(({ denial }) => denial !== undefined)?.denial?.detail,
      untrustworthy: checks.filter(({ trustworthy }) => !trustworthy).length,
    }
  }

  test('runs every check of an access token, and caches nothing', async () => {
    expect(await results(await sign())).toEqual({
      allowed: true,
      denied: [],
      skipped: [],
      detail: undefined,
      untrustworthy: 0,
    })
    expect(cache.jwts.size).toBe(0)
  })

  test('names the check that fails, and says what it has found', async () => {
    const [header, payload] = (await sign()).split('.')
    expect(await results('e30.e30.')).toMatchObject({ denied: ['reading'], untrustworthy: 9 })
    expect(await results(await sign({ iss: 'https://other.example' }))).toMatchObject({
      denied: ['issuer'],
      detail: 'The site does not trust the issuer that the claim iss names.',
      skipped: ['key', 'signature', 'claims', 'time', 'revocation', 'scope', 'holder'],
    })
    expect((await results(await sign({}, { kid: 'two' }))).denied).toEqual(['key'])
    expect((await results(`${header}.${payload}.${'A'.repeat(86)}`)).denied).toEqual(['signature'])
    expect(await results(await sign({ aud: 'https://other.example' }))).toMatchObject({
      denied: ['claims'],
      detail: 'The site does not accept such tokens of this issuer: aud does not name this site.',
      untrustworthy: 0,
    })
    expect((await results(await sign({ iat: NOW / 1000 - 600, exp: NOW / 1000 }))).denied).toEqual(['time'])
    expect((await results(await sign({ scope: 'other' }))).denied).toEqual(['scope'])
    expect((await results(await sign(), 'DPoP')).denied).toEqual(['holder'])
  })

  test('a caller of verify does not learn any of that', async () => {
    for (const jwt of ['e30.e30.', await sign({ aud: 'x' }), await sign({ iss: 'https://other.example' })])
      expect(await decide(jwt)).toMatchObject({
        code: 'token_invalid',
        detail: 'This access token is not valid here. Get a new one from its issuer.',
      })
  })
})
