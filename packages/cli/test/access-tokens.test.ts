import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  AUDIENCE,
  ISSUER,
  newOAuthKey,
  type OAuthKey,
  signToken,
  type TokenChanges,
} from '../../service/test/oauth.ts'
import { type Home, openHome } from './home.ts'

let home: Home
let key: OAuthKey
beforeAll(async () => {
  home = await openHome()
  key = await newOAuthKey('ES256', 'k1')
  const { base_url, operator_key, site_id } = home.dev
  const added = await fetch(`${base_url}/api/sites/${site_id}/issuers`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': operator_key },
    body: JSON.stringify({ type: 'oauth', issuer: ISSUER, audience: [AUDIENCE], jwks: { keys: [key.jwk] } }),
  })
  expect(added.status).toBe(201)
})
afterAll(() => home?.close())

const save = async (name: string, changes: TokenChanges = {}, prefix = '') => {
  const jwt = await signToken(key, { nowMs: Date.now(), ...changes })
  writeFileSync(home.file(name), `${prefix}${jwt}\n`)
  return jwt
}

describe('inspect', () => {
  test('shows header and claims of an access token, and says that nothing is verified', async () => {
    await save('token.jwt', { claims: { jti: 'token-1' } })
    const { code, out } = await home.run(['inspect', 'token.jwt'])
    expect(code).toBe(0)
    expect(out).toContain('UNVERIFIED')
    expect(out).toContain('"at+jwt"')
    expect(out).toContain('"token-1"')
    const { json } = await home.run(['inspect', 'token.jwt', '--json'])
    expect(json()).toMatchObject({
      verified: false,
      signature: 'not_checked',
      header: { alg: 'ES256', kid: 'k1' },
      claims: { iss: ISSUER, sub: 'alice' },
    })
  })

  test('3 for an expired one, and for one that is not accepted anywhere', async () => {
    await save('old.jwt', { nowMs: Date.now() - 3_600_000 })
    expect((await home.run(['inspect', 'old.jwt'])).code).toBe(3)
    writeFileSync(home.file('none.jwt'), 'eyJhbGciOiJub25lIn0.e30.')
    expect((await home.run(['inspect', 'none.jwt'])).code).toBe(3)
  })
})

describe('verify', () => {
  test('decides about an access token with the data of the site', async () => {
    await save('token.jwt', {}, 'Authorization: Bearer ')
    const { code, out } = await home.run(['verify', '--credential', 'token.jwt', '--scope', 'orders:read'])
    expect(code).toBe(0)
    expect(out).toMatch(/^Accepted at /)
    const { json } = await home.run(['verify', '--credential', 'token.jwt', '--json'])
    expect(json()).toMatchObject({ allowed: true, claims: { sub: 'alice' } })
  })

  test('3, and names the check that fails', async () => {
    await save('foreign.jwt', { claims: { aud: 'https://other.example' } })
    const { code, json } = await home.run(['verify', '--credential', 'foreign.jwt', '--json'])
    expect(code).toBe(3)
    expect(json()).toMatchObject({
      allowed: false,
      code: 'token_invalid',
      detail: 'The site does not accept such tokens of this issuer: aud does not name this site.',
    })
    const jwt = await save('revoked.jwt')
    const { base_url, site_key } = home.dev
    const revoked = await fetch(`${base_url}/api/auth/revoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': site_key },
      body: JSON.stringify({ token: jwt }),
    })
    expect(await revoked.json()).toEqual({ success: true, revoked: true })
    const after = await home.run(['verify', '--credential', 'revoked.jwt', '--json'])
    expect([after.code, after.json()]).toMatchObject([
      3,
      {
        checks: expect.arrayContaining([expect.objectContaining({ check: 'revocation', result: 'denied' })]),
      },
    ])
  })

  test('a bound token is accepted if the holder proves possession', async () => {
    await save('bound.jwt', { claims: { cnf: { jkt: 'A'.repeat(43) } } })
    const { code, out } = await home.run(['verify', '--credential', 'bound.jwt'])
    expect(code).toBe(0)
    expect(out).toContain('if the request has a DPoP proof of the holder')
  })
})
