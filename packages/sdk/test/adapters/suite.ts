import { generatePrivateKey } from '@countersign/core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { agentFetch } from '../../src/agent/agent-fetch.ts'
import { readDenial } from '../../src/client/read-denial.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/index.ts'
import type { Listening } from '../listening.ts'
import { deniedCode as refusal } from './denied-code.ts'
import type { Framework } from './framework.ts'
import { oauthSuite } from './oauth-suite.ts'
import { type RawAsk, rawRequest, rawStream } from './raw-request.ts'

export { refusal }

const BODY = '{"item":"tea","count":2}'

/** All that every adapter must do, in its own framework and over HTTP. */
export function adapterSuite(framework: Framework): void {
  const { name, serve } = framework
  oauthSuite(framework)
  describe(`the ${name} adapter`, () => {
    let site: TestSite
    let guard: Guard
    let app: Listening
    let plain: TestCredential
    let bound: TestCredential
    const ended: unknown[] = []
    beforeAll(async () => {
      site = await createTestSite({ siteId: 'shop.localhost' })
      guard = await site.guard()
      app = await serve(guard, (reason) => ended.push(reason))
      plain = await site.issue({ scope: ['orders:read', 'orders:write'] })
      bound = await site.issue({ scope: ['orders:read', 'orders:write'], bound: true })
    })
    afterAll(async () => {
      await app?.close()
      await site?.close()
    })

    const ask = (asked: Partial<RawAsk> = {}) => rawRequest(app.origin, { path: '/orders', ...asked })
    const shown = (credential: TestCredential) => ({ 'x-service-credential': credential.header })
    const post = { method: 'POST', path: '/orders', body: BODY }
    const json = { 'content-type': 'application/json' }
    /** Headers for a request of the bound credential, signed as if sent to `url` with `body`. */
    const signed = (method: string, path: string, body?: string, origin = app.origin) =>
      bound.headersFor(method, origin + path, body)

    describe('accepts', () => {
      test('a good credential, and tells the handler who it is', async () => {
        const answer = await ask({ headers: shown(plain) })
        expect(answer.status).toBe(200)
        expect(answer.json()).toEqual({
          ppid: plain.ppid,
          scope: ['orders:read', 'orders:write'],
          presented: 'credential',
        })
      })

      test('a bearer token', async () => {
        const token = await site.exchange(plain)
        const answer = await ask({ headers: { authorization: `Bearer ${token}` } })
        expect(answer.json()).toMatchObject({ ppid: plain.ppid, presented: 'bearer' })
      })

      test('in mounted sub-apps, with a proof for the whole path', async () => {
        for (const path of ['/api/v1/orders', '/api/v1/nested/orders']) {
          expect((await ask({ path, headers: await signed('GET', path) })).status, path).toBe(200)
          expect(refusal(await ask({ path, headers: await signed('GET', '/orders') }))).toBe('proof_invalid')
        }
      })

      test('a body with a plain credential, however it is sent', async () => {
        for (const chunked of [false, true]) {
          const answer = await ask({ ...post, chunked, headers: { ...json, ...shown(plain) } })
          expect(answer.json()).toEqual({ received: JSON.parse(BODY), holder: 'unbound' })
        }
      })
    })

    describe('a bound credential', () => {
      test('is accepted with a proof, with its query in any spelling', async () => {
        for (const path of [
          '/orders',
          '/orders?',
          '/orders?b=2&a=1',
          '/orders?a=%2F+x&a=',
          '/orders?%61=1',
        ]) {
          expect((await ask({ path, headers: await signed('GET', path) })).status, path).toBe(200)
        }
      })

      test.each([false, true])(
        'has its body checked, and the handler reads it afterwards (chunked: %s)',
        async (chunked) => {
          const answer = await ask({
            ...post,
            chunked,
            headers: { ...json, ...(await signed('POST', '/orders', BODY)) },
          })
          expect([answer.status, answer.json()]).toEqual([
            200,
            { received: JSON.parse(BODY), holder: 'verified' },
          ])
        },
      )

      test('may send no body where there could be one', async () => {
        const headers = async () => signed('POST', '/orders')
        expect(
          (await ask({ method: 'POST', headers: { ...(await headers()), 'content-length': '0' } })).json(),
        ).toMatchObject({
          holder: 'verified',
        })
        expect(
          (
            await ask({
              method: 'POST',
              body: '',
              chunked: true,
              headers: { 'content-type': 'text/plain', ...(await headers()) },
            })
          ).json(),
        ).toMatchObject({
          holder: 'verified',
        })
      })

      test.each([false, true])(
        'is refused when the body was changed on the way (chunked: %s)',
        async (chunked) => {
          const headers = { ...json, ...(await signed('POST', '/orders', BODY)) }
          expect(refusal(await ask({ ...post, chunked, headers, body: BODY.replace('2', '9') }))).toBe(
            'proof_invalid',
          )
          expect(refusal(await ask({ ...post, chunked, headers, body: `${BODY} ` }))).toBe('proof_invalid')
          // Control: the body that was signed passes, since no denial used the nonce.
          expect((await ask({ ...post, chunked, headers })).status).toBe(200)
        },
      )

      test('is rejected when the body was left out, or put where none was signed', async () => {
        const signedBody = await signed('POST', '/orders', BODY)
        expect(
          refusal(await ask({ method: 'POST', headers: { ...json, ...signedBody, 'content-length': '0' } })),
        ).toBe('proof_invalid')
        const none = await signed('POST', '/orders')
        expect(refusal(await ask({ ...post, headers: { ...json, ...none } }))).toBe('proof_invalid')
      })

      test.each([false, true])(
        'with a body of 1,024 bytes is accepted and with one more is not (chunked: %s)',
        async (chunked) => {
          const fitting = JSON.stringify('x'.repeat(1022))
          const headersFor = async (body: string) => ({ ...json, ...(await signed('POST', '/orders', body)) })
          expect(
            (await ask({ ...post, chunked, body: fitting, headers: await headersFor(fitting) })).status,
          ).toBe(200)
          const larger = JSON.stringify('x'.repeat(1023))
          expect(
            refusal(await ask({ ...post, chunked, body: larger, headers: await headersFor(larger) })),
          ).toBe('request_too_large')
        },
      )

      test('A096: without a proof is refused, and told what to sign', async () => {
        const answer = await ask({ headers: shown(bound) })
        expect(refusal(answer)).toBe('proof_required')
        expect(answer.headers['accept-signature']).toContain('tag="service-credential"')
      })

      test('A097, A100: with a proof of another key, or of a minute ago, is refused', async () => {
        const other = await site.issue({ scope: ['orders:read'], bound: true })
        const stolen = { ...(await other.headersFor('GET', `${app.origin}/orders`)), ...shown(bound) }
        expect(refusal(await ask({ headers: stolen }))).toBe('proof_invalid')
        const headers = await signed('GET', '/orders')
        await site.advance(62_000)
        expect(refusal(await ask({ headers }))).toBe('proof_invalid')
      })

      test('A116: delegates to another agent, until it is revoked', async () => {
        const root = await site.issue({ scope: ['orders:read', 'orders:write'], delegable: true })
        const { credential, holderKey } = root
        if (holderKey === undefined) throw new Error('a delegable credential has a key')
        const agent = agentFetch({
          credential,
          holderKey,
          origins: app.origin,
          nowMs: () => site.clock.nowMs,
        })
        const next = await agent.delegate({
          scope: ['orders:read'],
          ttlSeconds: 60,
          holderKey: await generatePrivateKey('Ed25519'),
        })
        expect(await (await next.fetch(`${app.origin}/orders`)).json()).toMatchObject({
          ppid: root.ppid,
          scope: ['orders:read'],
        })
        const lacking = await next.fetch(`${app.origin}/orders`, {
          method: 'POST',
          body: BODY,
          headers: json,
        })
        expect(await readDenial(lacking)).toMatchObject({
          code: 'scope_insufficient',
          requiredScope: ['orders:write'],
        })
        const written = await agent(`${app.origin}/orders`, { method: 'POST', body: BODY, headers: json })
        expect(await written.json()).toEqual({ received: JSON.parse(BODY), holder: 'verified' })
        await site.revoke(root)
        expect(await readDenial(await next.fetch(`${app.origin}/orders`))).toMatchObject({
          code: 'credential_revoked',
          needs: 'none',
        })
      })

      test('is accepted by two guards in a row with one proof, and held to the demands of both', async () => {
        const twice = { ...post, path: '/twice' }
        const headers = { ...json, ...(await signed('POST', '/twice', BODY)) }
        const answer = await ask({ ...twice, headers })
        expect([answer.status, answer.json()]).toEqual([
          200,
          { received: JSON.parse(BODY), holder: 'verified' },
        ])
        expect(refusal(await ask({ ...twice, headers }))).toBe('proof_replayed')
        const reader = await site.issue({ scope: 'orders:read', bound: true })
        const narrow = await reader.headersFor('POST', `${app.origin}/twice`, BODY)
        expect(refusal(await ask({ ...twice, headers: { ...json, ...narrow } }))).toBe('scope_insufficient')
        expect(refusal(await ask({ ...twice, headers: json }))).toBe('credential_missing')
      })

      test('A101: with a proof that was used before is refused', async () => {
        const headers = await signed('GET', '/orders')
        expect((await ask({ headers })).status).toBe(200)
        expect(refusal(await ask({ headers }))).toBe('proof_replayed')
      })

      test('A104: with a proof for another method, path, query order or host is refused', async () => {
        expect(refusal(await ask({ headers: await signed('HEAD', '/orders') }))).toBe('proof_invalid')
        expect(refusal(await ask({ headers: await signed('GET', '/order') }))).toBe('proof_invalid')
        expect(
          refusal(await ask({ path: '/orders?b=2&a=1', headers: await signed('GET', '/orders?a=1&b=2') })),
        ).toBe('proof_invalid')
        const elsewhere = await signed('GET', '/orders', undefined, 'https://evil.example')
        expect(refusal(await ask({ headers: elsewhere }))).toBe('proof_invalid')
        const forwarded = {
          'x-forwarded-host': 'evil.example',
          'x-forwarded-proto': 'https',
          forwarded: 'host=evil.example;proto=https',
        }
        expect(refusal(await ask({ headers: { ...elsewhere, ...forwarded } }))).toBe('proof_invalid')
      })
    })

    describe('rejects', () => {
      test('A001, A002, A015: no credential at all', async () => {
        expect(refusal(await ask())).toBe('credential_missing')
        expect(refusal(await ask({ headers: { 'x-service-credential': '' } }))).toBe('credential_missing')
        expect(refusal(await ask({ headers: { cookie: `x-service-credential=${plain.header}` } }))).toBe(
          'credential_missing',
        )
        expect(refusal(await ask({ path: `/orders?x-service-credential=${plain.header}` }))).toBe(
          'credential_missing',
        )
      })

      test('A007, A009, A139: two credentials, two tokens, or one of each', async () => {
        const token = `Bearer ${await site.exchange(plain)}`
        for (const headers of [
          { 'x-service-credential': [plain.header, plain.header] },
          { 'x-service-credential': [plain.header, bound.header] },
          { 'X-Service-Credential': plain.header, authorization: token },
        ]) {
          expect(refusal(await ask({ headers }))).toBe('auth_ambiguous')
        }
        const twoTokens = refusal(await ask({ headers: { authorization: [token, token] } }))
        // Node drops the second Authorization line for those who read its joined headers; code that
        // reads the lines sees both.
        expect(twoTokens).toBe('auth_ambiguous')
      })

      test('A003, A010, A012: what is no credential', async () => {
        expect(refusal(await ask({ headers: { 'x-service-credential': 'nonsense' } }))).toBe(
          'credential_malformed',
        )
        expect(refusal(await ask({ headers: { 'x-service-credential': `${plain.header}=` } }))).toBe(
          'credential_malformed',
        )
        expect(refusal(await ask({ headers: { 'x-service-credential': 'a'.repeat(8193) } }))).toBe(
          'header_too_large',
        )
      })

      test('A089: what lacks the scope, and names it', async () => {
        const narrow = await site.issue({ scope: 'orders:read' })
        const answer = await ask({ ...post, headers: { ...json, ...shown(narrow) } })
        expect(refusal(answer)).toBe('scope_insufficient')
        expect(answer.json().required_scope).toEqual(['orders:write'])
      })

      test('A060, A132: an issuer that is not trusted, a token that is unknown', async () => {
        const other = await createTestSite({ siteId: 'shop.localhost' })
        expect(refusal(await ask({ headers: shown(await other.issue()) }))).toBe('issuer_untrusted')
        await other.close()
        expect(refusal(await ask({ headers: { authorization: `Bearer svc_at_${'0'.repeat(49)}` } }))).toBe(
          'token_invalid',
        )
      })

      test('A071: what has ended, at the very second', async () => {
        const short = await site.issue({ ttlSeconds: 1 })
        expect((await ask({ headers: shown(short) })).status).toBe(200)
        await site.advance(1000)
        expect(refusal(await ask({ headers: shown(short) }))).toBe('credential_expired')
      })

      test('what was revoked, and the token made from it', async () => {
        const lost = await site.issue({ user: 'bob' })
        const token = await site.exchange(lost)
        expect((await ask({ headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
        await site.revoke(lost)
        expect(refusal(await ask({ headers: shown(lost) }))).toBe('credential_revoked')
        expect(refusal(await ask({ headers: { authorization: `Bearer ${token}` } }))).toBe('token_invalid')
      })

      test('tokens where the site takes none', async () => {
        const token = await site.exchange(plain)
        await site.changeSite({ bearer: 'off' })
        expect(refusal(await ask({ headers: { authorization: `Bearer ${token}` } }))).toBe('bearer_disabled')
        await site.changeSite({ bearer: 'on' })
      })

      test('everything when it cannot know what was revoked, and says when to come back', async () => {
        await site.silenceFeed()
        await site.advance(31_000)
        const answer = await ask({ headers: shown(plain) })
        expect(refusal(answer)).toBe('revocation_view_stale')
        expect(Number(answer.headers['retry-after'])).toBe(answer.json().retry_after)
        await site.repairFeed()
        await site.advance(20_000)
        expect((await ask({ headers: shown(plain) })).status).toBe(200)
      })

      test('and echoes a sane request id only', async () => {
        expect((await ask({ headers: { 'x-request-id': 'abc-1' } })).json().request_id).toBe('abc-1')
        expect((await ask({ headers: { 'x-request-id': '<script>' } })).json().request_id).toBeUndefined()
      })
    })

    test('behind a proxy, what counts is the address that callers use', async () => {
      const behind = await serve(
        await site.guard({ publicOrigin: 'https://api.example/shop' }),
        () => undefined,
      )
      try {
        const at = async (path: string, url: string) =>
          rawRequest(behind.origin, {
            path,
            headers: { host: 'internal:8080', ...(await bound.headersFor('GET', url)) },
          })
        expect((await at('/orders?a=1', 'https://api.example/shop/orders?a=1')).status).toBe(200)
        expect((await at('/api/v1/orders', 'https://api.example/shop/api/v1/orders')).status).toBe(200)
        expect(refusal(await at('/orders', 'https://api.example/orders'))).toBe('proof_invalid')
        expect(refusal(await at('/orders', 'http://internal:8080/orders'))).toBe('proof_invalid')
      } finally {
        await behind.close()
      }
    })

    test('what a handler throws is its own', async () => {
      const answer = await ask({ path: '/broken', headers: shown(plain) })
      expect(answer.status).toBe(500)
      expect(answer.headers['content-type']).not.toContain('problem+json')
      expect(refusal(await ask({ path: '/broken' }))).toBe('credential_missing')
    })

    test('I-19: a request whose handler throws is not watched afterwards', async () => {
      const signal = vi.spyOn(guard, 'signal')
      expect((await ask({ path: '/failing-stream', headers: shown(plain) })).status).toBe(500)
      const [, done] = signal.mock.calls.at(-1) ?? []
      await vi.waitFor(() => expect(done?.aborted).toBe(true))
      signal.mockRestore()
    })

    test('a handler without its guard has no verdict to read', async () => {
      expect((await ask({ path: '/unguarded', headers: shown(plain) })).status).toBe(500)
    })

    test('a stream ends when the credential behind it is revoked, and only that one', async () => {
      const noise = (['error', 'warn'] as const).map((level) =>
        vi.spyOn(console, level).mockImplementation(() => undefined),
      )
      const written = vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
      const [lost, kept] = [await site.issue({ user: 'carol' }), await site.issue({ user: 'dave' })]
      const streams = await Promise.all(
        [lost, kept].map((one) => rawStream(app.origin, { path: '/stream', headers: shown(one) })),
      )
      const over = streams.map((stream) => {
        let text = ''
        stream.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        return new Promise<string>((resolve) =>
          stream.once('close', () => resolve(text)).on('error', () => undefined),
        )
      })
      await Promise.all(streams.map((stream) => new Promise((resolve) => stream.once('data', resolve))))
      await site.revoke(lost)
      expect(await over[0]).toBe('open\n')
      expect(ended.at(-1)).toMatchObject({ name: 'AccessEnded', denial: { code: 'credential_revoked' } })
      expect(streams[1]?.closed).toBe(false)
      streams[1]?.destroy()
      // An ordinary event: no stack trace, no warning.
      for (const spy of [...noise, written]) {
        expect(spy).not.toHaveBeenCalled()
        spy.mockRestore()
      }
    })
  })
}

/** Asks with HEAD, and expects that the answer is not watched: its body is never read. */
export async function expectUnwatchedHead(
  answer: (guard: Guard, request: Request) => Response | Promise<Response>,
): Promise<void> {
  const site = await createTestSite({ siteId: 'shop.localhost' })
  const guard = await site.guard()
  const signal = vi.spyOn(guard, 'signal')
  const { header } = await site.issue({ scope: 'orders:read' })
  const headers = { 'x-service-credential': header }
  const request = new Request('http://shop.localhost/stream', { method: 'HEAD', headers })
  expect((await answer(guard, request)).status).toBe(200)
  expect(signal.mock.calls[0]?.[1]?.aborted).toBe(true)
  await site.close()
}
