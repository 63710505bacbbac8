import { formatTime, generatePrivateKey, type JsonObject } from '@countersign/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Guard } from '../../src/guard/guard.ts'
import { FAIL_OPEN } from '../../src/guard/options.ts'
import { rest } from '../../src/testing/test-clock.ts'
import { testRequest } from '../../src/testing/test-request.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { createGate, meddled } from '../network.ts'
import { outcome, ROUTE, showToken } from '../protected.ts'
import { type Forgery, signedAnswer } from '../signed-answer.ts'

let site: TestSite
let guard: Guard
let credential: TestCredential
let token: string
let asked: string[]
let fetch: ReturnType<typeof meddled>
/**
 * Keeps the answers of introspection back while it is shut: they are made before, and arrive after.
 */
let answers: ReturnType<typeof createGate>
let instead: ((init: RequestInit) => Response | Promise<Response>) | undefined
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  asked = []
  instead = undefined
  answers = createGate()
  fetch = meddled(site.service.fetch, {
    before: async (path, init) => {
      if (path !== '/api/auth/introspect') return undefined
      asked.push((JSON.parse(String(init.body)) as { token: string }).token)
      const answer = await (instead === undefined
        ? site.service.fetch(`https://countersign.test${path}`, init)
        : instead(init))
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
  test('is accepted like its credential, and asked for once', async () => {
    for (let i = 0; i < 5; i++) {
      expect(await showToken(guard, token)).toMatchObject({
        ok: true,
        presented: 'bearer',
        subject: {
          ppid: credential.ppid,
          credentialId: credential.credentialId,
          scope: ['orders:read', 'orders:write'],
        },
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
    for (const junk of [
      'svc_at_short',
      `svc_at_${'!'.repeat(49)}`,
      `svc_sk_${'0'.repeat(49)}`,
      `${token}0`,
    ]) {
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
    expect(
      await outcome(
        guard.verify(testRequest('GET', ROUTE, { authorization, 'x-service-credential': credential.header })),
      ),
    ).toBe('auth_ambiguous')
    expect(
      await outcome(
        guard.verify(testRequest('GET', ROUTE, { authorization: [authorization, authorization] })),
      ),
    ).toBe('auth_ambiguous')
    expect(asked).toEqual([])
  })

  test('A133 is over at its end, whatever is remembered', { tags: 'long' }, async () => {
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await site.advance(899_000)
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await site.advance(1_000)
    expect(await outcome(showToken(guard, token))).toBe('token_invalid')
    site.clock.jump(-3_600_000)
    // The service is asked again, and describes a token that is yet to be issued.
    expect(await outcome(showToken(guard, token))).toBe('store_unavailable')
  })

  const ends: [string, () => Promise<void>, string][] = [
    ['A138 its credential is revoked', () => site.revoke(credential), 'token_invalid'],
    ['its user is revoked', () => site.revokeUser('alice'), 'token_invalid'],
    ['it is revoked itself', () => site.revokeToken(token), 'token_invalid'],
    ['its issuer is no longer trusted', () => site.distrustIssuer(), 'token_invalid'],
    ['the key of its issuer is compromised', () => site.compromiseKey(), 'token_invalid'],
    ['the site switches bearer off', () => site.changeSite({ bearer: 'off' }), 'bearer_disabled'],
    [
      'its issuer may grant less',
      () => site.trustIssuer({ scope: ['orders:write'] as never }),
      'scope_insufficient',
    ],
  ]
  test.each(ends)('I-5 is dead once %s, without asking again', async (_, end, code) => {
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await end()
    expect(await outcome(showToken(guard, token))).toBe(code)
    expect(asked).toHaveLength(1)
  })

  test.each(ends)(
    'does not become valid again by an answer that was under way when %s',
    async (_, end, code) => {
      answers.shut()
      const verdict = outcome(showToken(guard, token))
      await rest()
      expect(asked).toHaveLength(1)
      await end()
      answers.open()
      expect(await verdict).toBe(code)
      expect(await outcome(showToken(guard, token))).toBe(code)
    },
  )

  test('control: an answer that was under way while another user was revoked still counts', async () => {
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

  test('is not asked for while the revocation data is stale', async () => {
    await site.cutFeed()
    await site.advance(31_000)
    expect(await outcome(showToken(guard, token))).toBe('revocation_view_stale')
    expect(asked).toEqual([])
  })

  test('is judged with revocation data that is fresh when the answer comes, not when it was asked for', async () => {
    const strict = await site.guard({ fetch, maxStalenessSeconds: 3 })
    for (const [waitMs, expected] of [
      [2_000, 'allowed'],
      [3_001, 'revocation_view_stale'],
    ] as const) {
      await site.repairFeed()
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
    const init = {
      method: 'POST',
      headers: { 'x-api-key': 'svc_sk_test' },
      body: JSON.stringify({ token: which }),
    }
    return (
      await site.service.fetch('https://countersign.test/api/auth/introspect', init)
    ).json() as Promise<JsonObject>
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
  test.each(failures)(
    'is neither good nor bad when the service %s: 503, and nothing is remembered',
    async (_, failure) => {
      instead = failure
      const verdict = await showToken(guard, token)
      expect(verdict).toMatchObject({
        ok: false,
        status: 503,
        code: expect.stringMatching(/^(?:store_unavailable|overloaded)$/),
        retryable: true,
      })
      expect(guard.state().problem?.detail).toMatch(/Bearer tokens cannot be looked up/)
      expect(JSON.stringify([verdict, guard.state()])).not.toContain(token)
      instead = undefined
      expect(await outcome(showToken(guard, token))).toBe('allowed')
      expect(guard.state().problem).toBeUndefined()
    },
  )

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
  ])('that is described with a strange %s (%j) is not accepted', async (member, value) => {
    const good = await describedLike(token)
    instead = (init) => signedAnswer(site, init, JSON.parse(JSON.stringify({ ...good, [member]: value })))
    expect(await outcome(showToken(guard, token))).toBe('store_unavailable')
    instead = (init) => signedAnswer(site, init, good)
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
    const many = Array.from({ length: 100 }, (_, i) =>
      showToken(guard, `svc_at_${String(i).padStart(49, '0')}`),
    )
    await rest(10)
    expect(asked).toHaveLength(64)
    answers.open()
    const codes = (await Promise.all(many)).map((verdict) =>
      verdict.ok ? 'allowed' : `${verdict.status} ${verdict.code}`,
    )
    expect(codes.filter((code) => code === '401 token_invalid')).toHaveLength(64)
    expect(codes.filter((code) => code === '503 overloaded')).toHaveLength(36)
  })
})

describe('S1 A251 a token that a relay made up', () => {
  const MADE_UP = `svc_at_${'M'.repeat(49)}`
  /** What the relay can say: all of it is known to it, or its own invention. */
  const described = async (changes: JsonObject = {}): Promise<JsonObject> => {
    const init = { method: 'POST', headers: { 'x-api-key': 'svc_sk_test' }, body: JSON.stringify({ token }) }
    const good = await (await site.service.fetch('https://countersign.test/api/auth/introspect', init)).json()
    return {
      ...(good as JsonObject),
      sub: 'did:service:ppid_adminadmin',
      scopes: ['admin:all'],
      scope: 'admin:all',
      ...changes,
    }
  }
  const shown = () => outcome(showToken(guard, MADE_UP, { scope: 'admin:all' }))
  const answerWith = (facts: JsonObject, forgery?: (init: RequestInit) => Forgery | Promise<Forgery>) => {
    instead = async (init) => signedAnswer(site, init, facts, await forgery?.(init))
  }

  test('control: would be accepted if the feed key had signed the answer', async () => {
    answerWith(await described())
    expect(await shown()).toBe('allowed')
  })

  const forgeries: [string, (init: RequestInit) => Forgery | Promise<Forgery>, string][] = [
    ['is not signed', () => ({ isUnsigned: true }), 'introspection_unsigned'],
    [
      'is signed by another key',
      async () => ({ key: await generatePrivateKey('Ed25519') }),
      'introspection_unsigned',
    ],
    [
      'is signed by a key of its own name',
      async () => ({ key: await generatePrivateKey('Ed25519'), fields: { kid: 'mine' } }),
      'feed_key_untrusted',
    ],
    [
      'was signed for another token',
      () => ({ fields: { token_sha256: '0'.repeat(64) } }),
      'introspection_mismatched',
    ],
    [
      'was signed for another nonce',
      () => ({ fields: { nonce: 'A'.repeat(22) } }),
      'introspection_mismatched',
    ],
    [
      'was signed for another site',
      () => ({ fields: { site_id: 'other.example' as never } }),
      'introspection_mismatched',
    ],
    [
      'was signed more than 10 s ago',
      () => ({ fields: { as_of: formatTime(site.clock.nowMs - 10_001) } }),
      'introspection_stale',
    ],
    [
      'is from the future',
      () => ({ fields: { as_of: formatTime(site.clock.nowMs + 10_001) } }),
      'introspection_stale',
    ],
    [
      'carries a signature that belongs to another head',
      () => ({ after: { head: { epoch: '0123456789abcdef', seq: 1, hash: '0'.repeat(64) } } }),
      'introspection_unsigned',
    ],
  ]
  test.each(forgeries)('is denied when the answer %s', async (_, forgery, problem) => {
    answerWith(await described(), forgery)
    expect(await shown()).toBe('store_unavailable')
    expect(guard.state().problem?.code).toBe(problem)
    instead = undefined
    expect(await shown()).toBe('token_invalid')
    await site.advance(10_000)
    expect(await shown()).toBe('token_invalid')
  })

  test('is denied for the answer about another token, signed for this very nonce', async () => {
    instead = async (init) => {
      const { nonce } = JSON.parse(String(init.body)) as { nonce: string }
      return site.service.fetch('https://countersign.test/api/auth/introspect', {
        ...init,
        body: JSON.stringify({ token, nonce }),
      })
    }
    expect(await outcome(showToken(guard, MADE_UP))).toBe('store_unavailable')
  })

  test.each<[string, () => JsonObject]>([
    ['lives longer than any token', () => ({ exp: site.clock.nowMs / 1000 + 3_601 })],
    ['lives for ten years', () => ({ exp: site.clock.nowMs / 1000 + 315_360_000 })],
    [
      'begins in the future',
      () => ({ iat: site.clock.nowMs / 1000 + 11, exp: site.clock.nowMs / 1000 + 60 }),
    ],
  ])('is denied when it %s, even if the answer is signed', async (_, changes) => {
    answerWith(await described(changes()))
    expect(await shown()).toBe('store_unavailable')
  })

  test('control: a token may live for an hour, and clocks may be 10 s apart', async () => {
    answerWith(await described({ exp: site.clock.nowMs / 1000 + 3_600 }))
    expect(await shown()).toBe('allowed')
    const other = `svc_at_${'N'.repeat(49)}`
    answerWith(
      await described({ iat: site.clock.nowMs / 1000 + 10, exp: site.clock.nowMs / 1000 + 60 }),
      () => ({
        fields: { as_of: formatTime(site.clock.nowMs - 10_000) },
      }),
    )
    expect(await outcome(showToken(guard, other, { scope: 'admin:all' }))).toBe('allowed')
  })

  test('a no that is not signed is an error, and is not remembered', async () => {
    instead = json({ active: false })
    expect(await outcome(showToken(guard, token))).toBe('store_unavailable')
    instead = undefined
    expect(await outcome(showToken(guard, token))).toBe('allowed')
  })

  test('each question has a nonce of its own, of 128 bits', async () => {
    const nonces: string[] = []
    instead = (init) => {
      nonces.push((JSON.parse(String(init.body)) as { nonce: string }).nonce)
      return site.service.fetch('https://countersign.test/api/auth/introspect', init)
    }
    for (let i = 0; i < 5; i++) await showToken(guard, await site.exchange(credential))
    expect(new Set(nonces).size).toBe(5)
    for (const nonce of nonces) expect(nonce).toMatch(/^[A-Za-z0-9_-]{21}[AQgw]$/)
  })
})

describe('a known token', () => {
  test('is asked for again after two minutes, without waiting', async () => {
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await site.advance(119_000)
    await showToken(guard, token)
    expect(asked).toHaveLength(1)
    await site.advance(1_000)
    answers.shut()
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    expect(asked).toHaveLength(2)
    answers.open()
    await rest()
    await site.advance(60_000)
    await showToken(guard, token)
    expect(asked).toHaveLength(2)
  })

  test('is not accepted for longer than five minutes without a new signed answer', async () => {
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    instead = json({ active: true })
    await site.advance(299_000)
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await site.advance(1_000)
    expect(await outcome(showToken(guard, token))).toBe('store_unavailable')
    instead = undefined
    expect(await outcome(showToken(guard, token))).toBe('allowed')
  })

  test('that the service no longer knows is denied after the next answer', async () => {
    expect(await outcome(showToken(guard, token))).toBe('allowed')
    await site.advance(120_000)
    instead = (init) => signedAnswer(site, init, { active: false })
    await showToken(guard, token)
    await rest()
    expect(await outcome(showToken(guard, token))).toBe('token_invalid')
  })

  test('is accepted on by a guard that fails open while the service does not answer, and not on a forged answer', {
    tags: 'long',
  }, async () => {
    const open = await site.guard({ fetch, [FAIL_OPEN]: true })
    expect(await outcome(showToken(open, token))).toBe('allowed')
    await site.cutFeed()
    await site.advance(400_000)
    instead = () => Promise.reject(new TypeError('cut'))
    expect(await outcome(showToken(open, token))).toBe('allowed')
    instead = json({ active: true })
    expect(await outcome(showToken(open, token))).toBe('store_unavailable')
  })
})
