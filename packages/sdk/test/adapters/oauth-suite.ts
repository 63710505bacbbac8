import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProtectedResourceOptions } from '../../src/adapters/express.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestOAuthIssuer, type TestSite } from '../../src/testing/index.ts'
import type { Listening } from '../listening.ts'
import { deniedCode } from './denied-code.ts'
import type { Framework } from './framework.ts'
import { type RawAsk, rawRequest, rawStream } from './raw-request.ts'

/**
 * Every application of the suite serves the metadata of this resource, and passes it to the guard
 * of `GET /resource/orders`.
 */
export const RESOURCE: ProtectedResourceOptions = {
  resource: 'https://shop.example/api/v1',
  authorizationServers: ['https://idp.example', 'https://idp2.example'],
  scopes: ['orders.read', 'orders.write'],
  name: 'Orders',
  documentation: 'https://shop.example/docs',
}

const METADATA = 'https://shop.example/.well-known/oauth-protected-resource/api/v1'
const ALGS = 'algs="ES256 ES384 EdDSA PS256 RS256"'
const REALM = 'realm="countersign"'

/** What every adapter must do for clients with access tokens of an OAuth issuer. */
export function oauthSuite({ name, serve }: Framework): void {
  describe(`the ${name} adapter and OAuth clients`, () => {
    let site: TestSite
    let guard: Guard
    let app: Listening
    let idp: TestOAuthIssuer
    const ended: unknown[] = []
    beforeAll(async () => {
      site = await createTestSite({ siteId: 'shop.localhost' })
      idp = await site.trustOAuthIssuer({ scope_map: { 'orders.read': ['orders:read'] } })
      guard = await site.guard()
      app = await serve(guard, (reason) => ended.push(reason))
    })
    afterAll(async () => {
      await app?.close()
      await site?.close()
    })
    const ask = (asked: Partial<RawAsk> = {}) => rawRequest(app.origin, { path: '/orders', ...asked })

    test('a token is accepted, and the handler knows what was presented', async () => {
      const { jwt } = await idp.sign({ scope: 'orders.read' })
      const answer = await ask({ headers: { authorization: `Bearer ${jwt}` } })
      expect([answer.status, answer.json()]).toEqual([
        200,
        { ppid: expect.stringMatching(/^did:service:ppid_j_/), scope: ['orders:read'], presented: 'jwt' },
      ])
    })

    test('a token with a body is accepted, and the handler reads the body', async () => {
      const token = await idp.sign({ scope: 'orders:write', bound: true })
      const headers = {
        'content-type': 'application/json',
        ...(await token.headersFor('POST', `${app.origin}/orders`)),
      }
      const answer = await ask({ method: 'POST', body: '{"a":1}', headers })
      expect([answer.status, answer.json().received]).toEqual([200, { a: 1 }])
    })

    test('a token bound to a key needs a proof for method, host and whole path, once', async () => {
      const token = await idp.sign({ bound: true })
      for (const path of ['/orders', '/orders?a=1&b=%2F', '/api/v1/orders', '/api/v1/nested/orders']) {
        const headers = await token.headersFor('GET', app.origin + path)
        expect((await ask({ path, headers })).status, path).toBe(200)
        expect(deniedCode(await ask({ path, headers }))).toBe('proof_replayed')
      }
      for (const [method, url] of [
        ['POST', `${app.origin}/orders`],
        ['GET', `${app.origin}/order`],
        ['GET', 'https://evil.example/orders'],
      ] as const)
        expect(deniedCode(await ask({ headers: await token.headersFor(method, url) }))).toBe('proof_invalid')
      const forwarded = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' }
      const elsewhere = await token.headersFor('GET', 'https://evil.example/orders')
      expect(deniedCode(await ask({ headers: { ...elsewhere, ...forwarded } }))).toBe('proof_invalid')
      const { authorization = '', dpop = '' } = await token.headersFor('GET', `${app.origin}/orders`)
      expect(deniedCode(await ask({ headers: { authorization, dpop: [dpop, dpop] } }))).toBe('proof_invalid')
      const bare = await ask({ headers: { authorization: `Bearer ${token.jwt}` } })
      expect(deniedCode(bare)).toBe('proof_required')
      expect(bare.headers['www-authenticate']).toBe(`DPoP ${REALM}, error="invalid_token", ${ALGS}`)
      expect(bare.headers['accept-signature']).toBeUndefined()
    })

    test('behind a proxy, a proof is for the address that callers use', async () => {
      const behind = await serve(
        await site.guard({ publicOrigin: 'https://api.example/shop' }),
        () => undefined,
      )
      const token = await idp.sign({ bound: true })
      const at = async (url: string) =>
        rawRequest(behind.origin, {
          path: '/orders?a=1',
          headers: { host: 'internal:8080', ...(await token.headersFor('GET', url)) },
        })
      try {
        expect((await at('https://api.example/shop/orders')).status).toBe(200)
        expect(deniedCode(await at('https://api.example/orders'))).toBe('proof_invalid')
        expect(deniedCode(await at('http://internal:8080/orders'))).toBe('proof_invalid')
      } finally {
        await behind.close()
      }
    })

    test('two tokens, or a token and a credential, are rejected', async () => {
      const { jwt } = await idp.sign()
      const { header } = await site.issue()
      for (const headers of [
        { authorization: [`Bearer ${jwt}`, `Bearer ${jwt}`] },
        { authorization: [`Bearer ${jwt}`, `DPoP ${jwt}`] },
        { authorization: `Bearer ${jwt}`, 'x-service-credential': header },
        { authorization: `DPoP ${jwt}`, 'x-service-credential': header },
      ])
        expect(deniedCode(await ask({ headers }))).toBe('auth_ambiguous')
    })

    test('a stream ends when the user of its token is signed out', async () => {
      const { jwt } = await idp.sign({ subject: 'carol' })
      const stream = await rawStream(app.origin, {
        path: '/stream',
        headers: { authorization: `Bearer ${jwt}` },
      })
      const over = new Promise((resolve) => stream.once('close', resolve).on('error', () => undefined))
      await new Promise((resolve) => stream.once('data', resolve))
      await idp.signOutUser('carol')
      await over
      expect(ended.at(-1)).toMatchObject({ name: 'AccessEnded', denial: { code: 'token_invalid' } })
      expect(deniedCode(await ask({ headers: { authorization: `Bearer ${jwt}` } }))).toBe('token_invalid')
    })

    describe('the metadata of a protected resource', () => {
      const PATHS = [
        '/.well-known/oauth-protected-resource/api/v1',
        '/.well-known/oauth-protected-resource',
        '/.well-known/oauth-protected-resource?x=1',
      ]

      test.each(PATHS)('are served at %s, to clients of every origin', async (path) => {
        const answer = await ask({ path })
        expect(answer.status).toBe(200)
        expect(answer.headers).toMatchObject({
          'content-type': 'application/json',
          'access-control-allow-origin': '*',
        })
        expect(answer.json()).toEqual({
          resource: 'https://shop.example/api/v1',
          authorization_servers: ['https://idp.example', 'https://idp2.example'],
          scopes_supported: ['orders.read', 'orders.write'],
          bearer_methods_supported: ['header'],
          dpop_signing_alg_values_supported: ['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'],
          resource_name: 'Orders',
          resource_documentation: 'https://shop.example/docs',
        })
        const asked = await ask({ path, method: 'OPTIONS', headers: { origin: 'https://app.example' } })
        expect([asked.status, asked.headers['access-control-allow-headers']]).toEqual([204, '*'])
        expect((await ask({ path, method: 'HEAD' })).status).toBe(200)
        expect((await ask({ path, method: 'POST', headers: { 'content-length': '0' } })).status).toBe(405)
      })

      test('are not served elsewhere', async () => {
        for (const path of [
          '/.well-known/oauth-protected-resource/other',
          '/.well-known/oauth-protected-resourceful',
        ])
          expect((await ask({ path })).status, path).toBe(404)
      })

      test('are named in challenges, with the scope as the authorization server spells it', async () => {
        const path = '/resource/orders'
        const hints = `scope="orders.read", resource_metadata="${METADATA}"`
        const challenge = async (headers: Record<string, string>, code: string) => {
          const answer = await ask({ path, headers })
          expect(deniedCode(answer, { isChallenged: true })).toBe(code)
          return answer.headers['www-authenticate']
        }
        expect(await challenge({}, 'credential_missing')).toBe(
          `Bearer ${REALM}, ${hints}, DPoP ${REALM}, ${ALGS}, ServiceCredential ${REALM}`,
        )
        expect(await challenge({ authorization: 'Bearer a.b.c' }, 'token_invalid')).toBe(
          `Bearer ${REALM}, error="invalid_token", ${hints}`,
        )
        const { jwt } = await idp.sign({ scope: 'other' })
        expect(await challenge({ authorization: `Bearer ${jwt}` }, 'scope_insufficient')).toBe(
          `Bearer ${REALM}, error="insufficient_scope", ${hints}`,
        )
        const { jwt: good } = await idp.sign({ scope: 'orders.read' })
        expect((await ask({ path, headers: { authorization: `Bearer ${good}` } })).status).toBe(200)
      })
    })
  })
}
