import { describe, expect, test } from 'vitest'
import type { Scope } from '../../src/credential/ids.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import { isJwtFault, type JwtPolicy, readJwtFacts } from '../../src/jwt/claims.ts'

const policy: JwtPolicy = {
  issuer: 'https://idp.example',
  audience: ['https://api.shop.example', 'shop'],
  subjectClaim: 'sub',
  sessionClaim: 'sid',
  scopeClaim: 'scope',
  scopeMap: new Map([['Orders.Read', ['orders:read' as Scope]]]),
  scope: undefined,
  tokenTtlSecondsMax: 3600,
  requireAtJwt: true,
  requiredClaims: new Map(),
  clientIds: undefined,
}
const CLAIMS: JsonObject = {
  iss: 'https://idp.example',
  sub: 'alice',
  aud: ['other', 'shop'],
  client_id: 'app',
  iat: 1_800_000_000,
  exp: 1_800_003_600,
  jti: 'j1',
  sid: 's1',
  scope: 'Orders.Read orders:write Ignored',
}
const read = (claims: JsonObject, header: JsonObject = { typ: 'at+jwt' }, changed: Partial<JwtPolicy> = {}) =>
  readJwtFacts({ header, claims }, { ...policy, ...changed })
const faultOf = (...given: Parameters<typeof read>) => {
  const facts = read(...given)
  return isJwtFault(facts) ? facts.fault : undefined
}

test('the facts of an access token', () => {
  expect(read(CLAIMS)).toEqual({
    issuer: 'https://idp.example',
    subject: 'alice',
    clientId: 'app',
    jti: 'j1',
    session: 's1',
    issuedAtMs: 1_800_000_000_000,
    notBeforeMs: 1_800_000_000_000,
    expiresAtMs: 1_800_003_600_000,
    scope: ['orders:read', 'orders:write'],
    holderThumbprint: undefined,
  })
})

test('scopes may be a list, are limited to the cap of the issuer, and to 32', () => {
  const cap = new Set(['orders:write' as Scope])
  expect(read(CLAIMS, undefined, { scope: cap })).toMatchObject({ scope: ['orders:write'] })
  const many = Array.from({ length: 40 }, (_, i) => `s${i}`)
  const facts = read({ ...CLAIMS, scope: many })
  expect(isJwtFault(facts) ? [] : facts.scope).toHaveLength(32)
  const { scope: _, ...without } = CLAIMS
  expect(read(without)).toMatchObject({ scope: [] })
})

describe('typ', () => {
  describe('of a token for its own client, as ID tokens are', () => {
    const loose = { requireAtJwt: false, clientIds: new Set(['shop', 'app']) }
    test.each<[string, JsonObject]>([
      ['aud is azp', { aud: 'shop', azp: 'shop' }],
      ['aud is client_id', { aud: 'shop', client_id: 'shop' }],
      ['aud has azp', { aud: ['other', 'shop'], azp: 'shop' }],
      ['aud has azp, whatever client_id is', { aud: ['shop'], azp: 'shop', client_id: 'app' }],
    ])('is rejected where only clients are required: %s', (_what, claims) => {
      const { client_id: _, ...others } = CLAIMS
      const all = { ...others, ...claims }
      expect(faultOf(all, { typ: 'JWT' }, loose)).toBe('type')
      expect(faultOf(all, {}, loose)).toBe('type')
      // What is required decides elsewhere.
      expect(faultOf(all, { typ: 'at+jwt' }, loose)).toBeUndefined()
      expect(faultOf(all)).toBeUndefined()
      const required = { ...loose, requiredClaims: new Map([['sid', 's1']]) }
      expect(faultOf(all, { typ: 'JWT' }, required)).toBeUndefined()
    })

    test('control: a token of the same client for the API is accepted', () => {
      expect(faultOf({ ...CLAIMS, azp: 'app' }, { typ: 'JWT' }, loose)).toBeUndefined()
    })
  })

  test.each(['at+jwt', 'AT+JWT', 'application/at+jwt'])('%s is an access token', (typ) => {
    expect(faultOf(CLAIMS, { typ })).toBeUndefined()
  })

  test.each([undefined, 'JWT', 'logout+jwt', 'secevent+jwt', 'dpop+jwt', 1, null])(
    '%s is not, where at+jwt is required (RFC 8725 §3.11)',
    (typ) => {
      expect(faultOf(CLAIMS, typ === undefined ? {} : { typ })).toBe('type')
    },
  )

  test('may be absent or JWT where it is not required, but never that of another token', () => {
    const loose = { requireAtJwt: false }
    expect(faultOf(CLAIMS, {}, loose)).toBeUndefined()
    expect(faultOf(CLAIMS, { typ: 'JWT' }, loose)).toBeUndefined()
    expect(faultOf(CLAIMS, { typ: 'logout+jwt' }, loose)).toBe('type')
  })

  test.each(['nonce', 'at_hash', 'c_hash', 's_hash', 'events'])('a token with %s is another kind', (name) => {
    expect(faultOf({ ...CLAIMS, [name]: 'x' })).toBe('type')
  })
})

describe('not accepted is', () => {
  test.each<[string, JsonObject, string]>([
    ['another audience', { aud: 'else' }, 'audience'],
    ['no audience', { aud: null }, 'audience'],
    ['an audience with a number', { aud: ['shop', 1] }, 'audience'],
    ['an empty subject', { sub: '' }, 'claims'],
    ['a subject that is a number', { sub: 1 }, 'claims'],
    ['a fraction of a second', { iat: 1.5 }, 'time'],
    ['times as texts', { exp: '1800003600' }, 'time'],
    ['an end before the start', { exp: 1_799_999_999 }, 'time'],
    ['a life longer than the limit', { exp: 1_800_003_601 }, 'time'],
    ['nbf as a text', { nbf: 'now' }, 'time'],
    ['an empty jti', { jti: '' }, 'claims'],
    ['a jti of 257 characters', { jti: 'j'.repeat(257) }, 'claims'],
    ['a session that is a number', { sid: 7 }, 'claims'],
    ['a bound certificate', { cnf: { 'x5t#S256': 'x' } }, 'claims'],
    ['two confirmations', { cnf: { jkt: 'a'.repeat(43), kid: 'k' } }, 'claims'],
    ['a short thumbprint', { cnf: { jkt: 'a' } }, 'claims'],
    ['a scope that is a number', { scope: 1 }, 'claims'],
    ['a scope list with a number', { scope: ['orders:read', 1] }, 'claims'],
  ])('%s', (_, changed, check) => {
    expect(faultOf({ ...CLAIMS, ...changed })).toBe(check)
  })

  test.each(['sub', 'iat', 'exp', 'aud'])('a token without %s', (name) => {
    const { [name]: _, ...claims } = CLAIMS
    expect(faultOf(claims)).toBeDefined()
  })

  test('a client that is not listed, and a claim without its required value', () => {
    expect(faultOf(CLAIMS, undefined, { clientIds: new Set(['app']) })).toBeUndefined()
    expect(faultOf(CLAIMS, undefined, { clientIds: new Set(['other']) })).toBe('claims')
    const requiredClaims = new Map([['token_use', 'access']])
    expect(faultOf(CLAIMS, undefined, { requiredClaims })).toBe('claims')
    expect(faultOf({ ...CLAIMS, token_use: 'access' }, undefined, { requiredClaims })).toBeUndefined()
  })

  test('a claim that objects inherit', () => {
    expect(faultOf(CLAIMS, undefined, { subjectClaim: 'constructor' })).toBe('claims')
    expect(read(CLAIMS, undefined, { scopeClaim: 'constructor' })).toMatchObject({ scope: [] })
  })
})
