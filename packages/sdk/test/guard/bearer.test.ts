import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Guard } from '../../src/guard.ts'
import { rest } from '../../src/testing/test-clock.ts'
import { testRequest } from '../../src/testing/test-request.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { createGate, meddled } from '../network.ts'
import { outcome, ROUTE, showToken } from '../protected.ts'

let site: TestSite
let guard: Guard
let credential: TestCredential
let token: string
let asked: string[]
let fetch: ReturnType<typeof meddled>
/** Keeps the answers of introspection back while it is shut: they are made before, and arrive after. */
let answers: ReturnType<typeof createGate>
let instead: (() => Response | Promise<Response>) | undefined
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  asked = []
  instead = undefined
  answers = createGate()
  fetch = meddled(site.service.fetch, {
    before: async (path, init) => {
      if (path !== '/api/auth/introspect') return undefined
      asked.push((JSON.parse(String(init.body)) as { token: string }).token)
      const answer = await (instead === undefined ? site.service.fetch(`https://countersign.test${path}`, init) : instead())
      await answers.pass()
      return answer
    },
  })
  guard = await site.guard({ fetch })
  credential = await site.issue({ scope: ['orders:read', 'orders:write'] })
  token = await site.exchange(credential)
})
afterEach(() => site.close())

const json =
  (body: unknown, status = 200) =>
  () =>
    Response.json(body, { status })

describe('a bearer token', () => {
  test('is let in like its credential, and asked for once', async () => {
    for (let i = 0; i < 5; i++) {
      expect(await showToken(guard, token)).toMatchObject({
        ok: true,
        presented: 'bearer',
        subject: { ppid: credential.ppid, credentialId: credential.credentialId, scope: ['orders:read', 'orders:write'] },
      })
    }
    expect(asked).toEqual([token])
    expect(await outcome(showToken(guard, token, { scope: 'admin' }))).toBe('scope_insufficient')
  })

  test('is asked for once, however many bring it at the same time', async () => {
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => outcome(showToken(guard, token))))
    expect(new Set(verdicts)).toEqual(new Set(['allowed']))
    expect(asked).toHaveLength(1)
  })

  test('A132 that looks like none is not asked for', async () => {
    for (const junk of ['svc_at_short', `svc_at_${'!'.repeat(49)}`, `svc_sk_${'0'.repeat(49)}`, `${token}0`]) {
      expect(await outcome(showToken(guard, junk))).toBe('token_invalid')
    }
    expect(asked).toEqual([])
  })

  test('A136 comes with its scheme in any case; other schemes are none', async () => {
    const by = (authorization: string) => outcome(guard.verify(testRequest('GET', ROUTE, { authorization })))
    expect(await by(`bearer ${token}`)).toBe('allowed')
    expect(await by(`BEARER ${token}`)).toBe('allowed')
    expect(await by(`Bearer  ${token}`)).toBe('token_invalid')
    expect(await by(`Basic ${token}`)).toBe('token_invalid')
  })

  test('A009 A139 comes alone', async () => {
    const authorization = `Bearer ${token}`
    expect(await outcome(guard.verify(testRequest('GET', ROUTE, { authorization, 'x-service-credential': credential.header })))).toBe(
      'auth_ambiguous',
    )
    expect(await outcome(guard.verify(testRequest('GET', ROUTE, { authorization: [authorization, authorization] })))).toBe('auth_ambiguous')
    expect(asked).toEqual([])
  })

  test('A133 is over at its end, whatever is remembered', async () => {
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await site.advance(899_000)
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await site.advance(1_000)
    expect(await outcome(showToken(guard, token))).toBe('token_invalid')
    site.clock.jump(-3_600_000)
    expect(await outcome(showToken(guard, token))).toBe('token_invalid')
  })

  const ends: [string, () => Promise<void>, string][] = [
    ['A138 its credential is revoked', () => site.revoke(credential), 'token_invalid'],
    ['its user is revoked', () => site.revokeUser('alice'), 'token_invalid'],
    ['it is revoked itself', () => site.revokeToken(token), 'token_invalid'],
    ['its issuer is no longer trusted', () => site.distrustIssuer(), 'token_invalid'],
    ['the key of its issuer is compromised', () => site.compromiseKey(), 'token_invalid'],
    ['the site switches bearer off', () => site.changeSite({ bearer: 'off' }), 'bearer_disabled'],
    ['its issuer may grant less', () => site.trustIssuer({ scope: ['orders:write'] as never }), 'scope_insufficient'],
  ]
  test.each(ends)('I-5 is dead once %s, without asking again', async (_, end, code) => {
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await end()
    expect(await outcome(showToken(guard, token))).toBe(code)
    expect(asked).toHaveLength(1)
  })

  test.each(ends)('is not revived by an answer that was under way when %s', async (_, end, code) => {
    answers.shut()
    const verdict = outcome(showToken(guard, token))
    await rest()
    expect(asked).toHaveLength(1)
    await end()
    answers.open()
    expect(await verdict).toBe(code)
    expect(await outcome(showToken(guard, token))).toBe(code)
  })

  test('control: an answer that was under way while somebody else was revoked still counts', async () => {
    answers.shut()
    const verdict = outcome(showToken(guard, token))
    await rest()
    await site.revoke(await site.issue({ user: 'bob' }))
    answers.open()
    expect(await verdict).toBe('allowed')
  })

  test('stays dead when bearer was off in between, and when the user was reinstated', async () => {
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await site.changeSite({ bearer: 'off' })
    await site.changeSite({ bearer: 'on' })
    expect(await outcome(showToken(guard, token))).toBe('token_invalid')
    await site.advance(2_000)
    const again = await site.exchange(credential)
    expect(await outcome(showToken(guard, again))).toBe('allowed')
    await site.revokeUser('alice')
    await site.reinstateUser('alice')
    await site.advance(2_000)
    const later = await site.exchange(credential)
    expect(await outcome(showToken(guard, again))).toBe('token_invalid')
    expect(await outcome(showToken(guard, later))).toBe('token_invalid')
    const fresh = await site.exchange(await site.issue())
    expect(await outcome(showToken(guard, fresh))).toBe('allowed')
  })

  test('that is not active is not asked for again at once, and again a little later', async () => {
    const unknown = `svc_at_${'x'.repeat(49)}`
    for (let i = 0; i < 5; i++) expect(await outcome(showToken(guard, unknown))).toBe('token_invalid')
    expect(asked).toHaveLength(1)
    await site.advance(5_000)
    await showToken(guard, unknown)
    expect(asked).toHaveLength(2)
  })

  test('is not asked for at a site that takes none', async () => {
    await site.changeSite({ bearer: 'off' })
    expect(await outcome(showToken(guard, token))).toBe('bearer_disabled')
    expect(asked).toEqual([])
  })

  test('is not asked for while the knowledge is too old', async () => {
    await site.cutFeed()
    await site.advance(31_000)
    expect(await outcome(showToken(guard, token))).toBe('revocation_view_stale')
    expect(asked).toEqual([])
  })

  test('is judged by knowledge that is fresh when the answer comes, not when it was asked for', async () => {
    const strict = await site.guard({ fetch, maxStalenessSeconds: 3 })
    for (const [waitMs, expected] of [
      [2_000, 'allowed'],
      [3_001, 'revocation_view_stale'],
    ] as const) {
      await site.mendFeed()
      await site.advance(6_000)
      await site.service.heartbeat()
      await rest()
      answers.shut()
      const verdict = outcome(showToken(strict, await site.exchange(credential)))
      await rest()
      await site.cutFeed()
      await site.advance(waitMs)
      answers.open()
      expect(await verdict).toBe(expected)
    }
  })

  test('is forgotten when the log is another one: the service is asked again', async () => {
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await site.restore()
    await site.advance(7_000)
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    expect(asked).toHaveLength(2)
  })

  const describedLike = async (which: string) => {
    const init = { method: 'POST', headers: { 'x-api-key': 'svc_sk_test' }, body: JSON.stringify({ token: which }) }
    return (await site.service.fetch('https://countersign.test/api/auth/introspect', init)).json() as Promise<Record<string, unknown>>
  }

  const failures: [string, () => Response | Promise<Response>][] = [
    ['does not answer', () => Promise.reject(new TypeError('cut'))],
    ['refuses', json({ code: 'api_key_forbidden', detail: 'no' }, 403)],
    ['is overloaded', json({ code: 'overloaded', detail: 'busy' }, 503)],
    ['answers with a page', () => new Response('<html>')],
    ['answers with nothing', () => new Response(null, { status: 204 })],
    ['answers with null', json(null)],
    ['answers without saying whether', json({})],
    ['says yes and no more', json({ active: true })],
    ['says yes in words', json({ active: 'true' })],
  ]
  test.each(failures)('is neither good nor bad when the service %s: 503, and nothing is remembered', async (_, failure) => {
    instead = failure
    const verdict = await showToken(guard, token)
    expect(verdict).toMatchObject({
      ok: false,
      status: 503,
      code: expect.stringMatching(/^(?:store_unavailable|overloaded)$/),
      retryable: true,
    })
    expect(guard.state().problem?.detail).toMatch(/bearer tokens cannot be looked up/)
    expect(JSON.stringify([verdict, guard.state()])).not.toContain(token)
    instead = undefined
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    expect(guard.state().problem).toBeUndefined()
  })

  test.each<[string, unknown]>([
    ['site_id', 'other.example'],
    ['sub', 'alice'],
    ['scopes', 'orders:read'],
    ['credential_chain', []],
    ['credential_chain', ['cred_00000001', 7]],
    ['issuer', null],
    ['issuer_key', undefined],
    ['root_created_at', 'yesterday'],
    ['oldest_created_at', undefined],
    ['exp', '1'],
    ['exp', undefined],
    ['iat', 1.5],
    ['permission_id', ''],
  ])('that is described with a strange %s (%j) is not let in', async (member, value) => {
    const good = await describedLike(token)
    instead = json({ ...good, [member]: value })
    expect(await outcome(showToken(guard, token))).toBe('store_unavailable')
    instead = json(good)
    expect(await outcome(showToken(guard, token))).toBe('allowed')
  })

  test('gives up on a service that is silent after 5 s', async () => {
    answers.shut()
    const verdict = outcome(showToken(guard, token))
    await site.advance(5_000)
    expect(await verdict).toBe('store_unavailable')
    answers.open()
  })

  test('cannot be used to have many things asked at once, or many things remembered', async () => {
    answers.shut()
    const many = Array.from({ length: 100 }, (_, i) => showToken(guard, `svc_at_${String(i).padStart(49, '0')}`))
    await rest(10)
    expect(asked).toHaveLength(64)
    answers.open()
    const codes = (await Promise.all(many)).map((verdict) => (verdict.ok ? 'allowed' : `${verdict.status} ${verdict.code}`))
    expect(codes.filter((code) => code === '401 token_invalid')).toHaveLength(64)
    expect(codes.filter((code) => code === '503 overloaded')).toHaveLength(36)
  })
})
