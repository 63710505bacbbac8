import { AccessEnded, createGuard, type Guard } from '@countersign/sdk'
import { testRequest } from '@countersign/sdk/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import {
  AUDIENCE,
  ISSUER,
  newOAuthKey,
  type OAuthKey,
  signProof,
  signToken,
  type TokenChanges,
} from '../../packages/service/test/oauth.ts'
import { type Client, createClient } from '../process/client.ts'
import { cleanUp, createHome, type ServiceHome, startFurnished } from '../process/service-process.ts'

const SETUP_MS_MAX = 300_000
const ROUTE = 'http://demo.localhost/api/orders'
const WAIT = { Prefer: 'wait=20' }

let home: ServiceHome
let dev: DevFile
let client: Client
let key: OAuthKey
beforeAll(async () => {
  home = await createHome()
  dev = (await startFurnished(home)).dev
  client = createClient(home.baseUrl, dev)
  key = await newOAuthKey('RS256')
  const { status, body } = await client.ask('POST', `/api/sites/${dev.site_id}/issuers`, {
    key: dev.operator_key,
    body: {
      type: 'oauth',
      issuer: ISSUER,
      audience: [AUDIENCE],
      jwks: { keys: [key.jwk] },
      session_claim: 'sid',
    },
  })
  if (status !== 201) throw new Error(`the issuer was not added: ${JSON.stringify(body)}`)
}, SETUP_MS_MAX)
afterAll(cleanUp, SETUP_MS_MAX)

let guards: Guard[] = []
afterEach(async () => {
  await Promise.all(guards.map((guard) => guard.close()))
  guards = []
})
const ready = async (): Promise<Guard> => {
  const guard = createGuard({
    baseUrl: home.baseUrl,
    siteId: dev.site_id,
    apiKey: dev.site_key,
    onStateChange: () => undefined,
  })
  guards.push(guard)
  await guard.ready()
  return guard
}
const sign = (changes: TokenChanges = {}) => signToken(key, { nowMs: Date.now(), ...changes })
const show = (guard: Guard, headers: Record<string, string>) =>
  guard.verify(testRequest('GET', ROUTE, headers), { scope: 'orders:read' })
const decided = async (guard: Guard, headers: Record<string, string>) => {
  const verdict = await show(guard, headers)
  return verdict.ok ? verdict.presented : verdict.code
}
const borne = (guard: Guard, jwt: string) => decided(guard, { authorization: `Bearer ${jwt}` })
const ask = (path: string, body: object) =>
  client.ask('POST', path, { key: dev.site_key, headers: WAIT, body })

describe('a guard and a real service that trust an OAuth issuer', { timeout: SETUP_MS_MAX }, () => {
  test('accept its tokens, with the same ids for the same user', async () => {
    const guard = await ready()
    const jwt = await sign()
    const verdict = await show(guard, { authorization: `Bearer ${jwt}` })
    const { status, body } = await client.bearer(jwt)
    expect([status, verdict]).toMatchObject([
      200,
      { presented: 'jwt', token: { issuer: ISSUER, subject: 'alice', clientId: 'client-1' } },
    ])
    if (!verdict.ok) throw new Error(verdict.detail)
    expect(JSON.stringify(body)).toContain(verdict.subject.ppid)
    expect(JSON.stringify(body)).toContain(verdict.subject.credentialId)
  })

  const ends: Record<string, (claims: Record<string, string>) => ReturnType<typeof ask>> = {
    'the user is revoked': ({ sub }) =>
      ask('/api/wallet/revoke-user', { site_id: dev.site_id, issuer: ISSUER, subject: sub }),
    'the user is signed out': ({ sub }) =>
      ask('/api/wallet/sign-out-user', { site_id: dev.site_id, issuer: ISSUER, subject: sub }),
    'the token is revoked': ({ jti }) =>
      ask('/api/wallet/revoke', { site_id: dev.site_id, issuer: ISSUER, jti }),
    'the issuer is cut off': () => ask(`/api/sites/${dev.site_id}/cut-off-issuer`, { issuer: ISSUER }),
  }
  test.each(Object.keys(ends))('reject them once %s, also those of running requests', async (name) => {
    const guard = await ready()
    const claims = { sub: `user-${name.length}`, jti: crypto.randomUUID() }
    const jwt = await sign({ claims })
    const verdict = await show(guard, { authorization: `Bearer ${jwt}` })
    if (!verdict.ok) throw new Error(verdict.detail)
    const signal = guard.signal(verdict)
    const { status, body } = (await ends[name]?.(claims)) ?? {}
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.propagation).toMatchObject({ laggards: [] })
    expect(signal.reason).toBeInstanceOf(AccessEnded)
    expect(await borne(guard, jwt)).toBe('token_invalid')
    expect((await client.bearer(jwt)).body.code).toBe('token_invalid')
    // A guard that comes later knows it from the snapshot.
    expect(await borne(await ready(), jwt)).toBe('token_invalid')
  })

  test('accept a token that is bound to a key with a proof, once', { tags: 'long' }, async () => {
    const guard = await ready()
    const holder = await newOAuthKey('ES256')
    const { calculateJwkThumbprint } = await import('jose')
    const jkt = await calculateJwkThumbprint(holder.jwk)
    const nowMs = Date.now()
    // Later than the cut-off of the issuer above.
    const iat = Math.floor(nowMs / 1000) + 5
    const token = await sign({ claims: { cnf: { jkt }, iat, exp: iat + 60 } })
    expect(await borne(guard, token)).toBe('proof_required')
    // In its first seconds a guard rejects proofs that the process before it may have seen.
    await expect
      .poll(
        async () => {
          const dpop = await signProof(holder, { token, nowMs: Date.now(), method: 'GET', url: ROUTE })
          const headers = { authorization: `DPoP ${token}`, dpop }
          return [await decided(guard, headers), await decided(guard, headers)]
        },
        { interval: 500 },
      )
      .toEqual(['jwt', 'proof_replayed'])
  })
})
