import {
  type CredentialId,
  credentialHeader,
  delegateCredential,
  didKey,
  generatePrivateKey,
  type Scope,
} from '@countersign/core'
import { problems } from '@countersign/core/contract'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ANY_CREDENTIAL } from '../../src/guard/demand.ts'
import { createGuard, type Guard } from '../../src/guard/guard.ts'
import { FAIL_OPEN } from '../../src/guard/options.ts'
import type { GuardRequest } from '../../src/guard/request.ts'
import { testRequest } from '../../src/testing/test-request.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { meddled } from '../network.ts'
import { outcome, ROUTE, show, showToken } from '../protected.ts'

let site: TestSite
let guard: Guard
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  guard = await site.guard()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await site.close()
})

describe('a good credential', () => {
  test('is accepted, and the verdict says who, what for, and how fresh the revocation data is', async () => {
    const credential = await site.issue({ scope: ['orders:read', 'orders:write'] })
    await site.advance(1_000)
    expect(await show(guard, credential)).toMatchObject({
      ok: true,
      presented: 'credential',
      holder: 'unbound',
      subject: {
        ppid: credential.ppid,
        siteId: 'shop.example',
        scope: ['orders:read', 'orders:write'],
        credentialId: credential.credentialId,
        permissionId: 'perm_default',
        expiresAtMs: Date.UTC(2026, 10, 14, 13),
      },
      view: { epoch: site.revocationData.site.head.epoch, seq: 2, ageMs: 1_000 },
    })
  })

  test('needs all of scope and one of anyScope', async () => {
    const credential = await site.issue({ scope: ['orders:read', 'orders:write'] })
    expect(await outcome(show(guard, credential, { scope: ['orders:read', 'orders:write'] }))).toBe('allowed')
    expect(await outcome(show(guard, credential, { scope: ['orders:read', 'admin'] }))).toBe(
      'scope_insufficient',
    )
    expect(await outcome(show(guard, credential, { anyScope: ['admin', 'orders:read'] }))).toBe('allowed')
    expect(await outcome(show(guard, credential, { anyScope: ['admin'] }))).toBe('scope_insufficient')
    expect(await outcome(show(guard, credential, ANY_CREDENTIAL))).toBe('allowed')
  })

  test('is accepted by a guard that was not waited for', async () => {
    const fresh = createGuard(site.guardOptions)
    expect(fresh.state()).toMatchObject({ ready: false, connection: 'idle', ageMs: Infinity })
    expect(await outcome(show(fresh, await site.issue()))).toBe('allowed')
    await fresh.close()
  })

  test('is judged by a guard that came when much had been revoked already', async () => {
    const [good, bad, gone] = [
      await site.issue({ user: 'a' }),
      await site.issue({ user: 'b' }),
      await site.issue({ user: 'c' }),
    ]
    for (let i = 0; i < 1_500; i++) {
      const credential_id = `cred_other${String(i).padStart(8, '0')}` as CredentialId
      await site.log.append(
        'credential.revoked',
        { credential_id, revoked_at: '2026-11-14T12:00:00Z' },
        site.clock.nowMs,
      )
    }
    await site.revoke(bad)
    await site.revokeUser('c')
    const late = await site.guard()
    expect(late.state()).toMatchObject({ seq: 1_504, revocations: 1_502 })
    expect(await outcome(show(late, good))).toBe('allowed')
    expect(await outcome(show(late, bad))).toBe('credential_revoked')
    expect(await outcome(show(late, gone))).toBe('credential_revoked')
  })
})

describe('a refusal', () => {
  const refused = async (request: GuardRequest, demand = { scope: 'orders:read' }) => {
    const verdict = await guard.verify(request, demand)
    if (verdict.ok) throw new Error('it was accepted')
    return verdict
  }

  test('is ready to be sent, and says what would help', async () => {
    const credential = await site.issue({ scope: 'orders:read' })
    const headers = { ...(await credential.headersFor('GET', ROUTE)), 'x-request-id': 'req-7' }
    expect(await refused(testRequest('GET', ROUTE, headers), { scope: 'orders:write' })).toEqual({
      ok: false,
      status: 403,
      code: 'scope_insufficient',
      detail: 'The credential does not have the required scope. Request one that has it from its issuer.',
      needs: 'scope',
      retryable: false,
      requiredScope: ['orders:write'],
      problem: {
        type: 'https://countersign.test/problems/scope_insufficient',
        title: 'Insufficient scope',
        status: 403,
        detail: 'The credential does not have the required scope. Request one that has it from its issuer.',
        code: 'scope_insufficient',
        request_id: 'req-7',
        required_scope: ['orders:write'],
      },
      headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
      view: { epoch: site.revocationData.site.head.epoch, seq: 2, ageMs: 0 },
    })
  })

  test('of a caller without anything names both ways in', async () => {
    const { status, code, headers, needs } = await refused(testRequest('GET', ROUTE))
    expect({ status, code, needs }).toEqual({ status: 401, code: 'credential_missing', needs: 'credential' })
    expect(headers['www-authenticate']).toBe(
      'ServiceCredential realm="countersign", Bearer realm="countersign"',
    )
  })

  test('while the revocation data is stale says when to come back', async () => {
    const credential = await site.issue()
    await site.cutFeed()
    await site.advance(31_000)
    const { status, code, headers, retryable, retryAfterSeconds, needs, problem } = await refused(
      testRequest('GET', ROUTE, await credential.headersFor('GET', ROUTE)),
    )
    expect({ status, code, retryable, retryAfterSeconds, needs }).toEqual({
      status: 503,
      code: 'revocation_view_stale',
      retryable: true,
      retryAfterSeconds: 1,
      needs: 'retry_later',
    })
    expect(headers['retry-after']).toBe('1')
    expect(problem.retry_after).toBe(1)
  })

  test('for want of a signature says which one is wanted', async () => {
    const credential = await site.issue({ bound: true })
    const get = await refused(testRequest('GET', ROUTE, { 'x-service-credential': credential.header }))
    expect(get).toMatchObject({ status: 401, code: 'proof_required', needs: 'holder_proof' })
    expect(get.headers['accept-signature']).toBe(
      'sig1=("@method" "@authority" "@path" "@query" "x-service-credential");created;keyid;tag="service-credential"',
    )
    const post = await refused(
      testRequest('POST', ROUTE, { 'x-service-credential': credential.header }, '{}'),
    )
    expect(post.headers['accept-signature']).toContain('"content-digest"')
    expect(post.headers['www-authenticate']).toBe(
      'ServiceCredential realm="countersign", error="proof_required"',
    )
  })

  test('echoes no request id that is not sane, or not one', async () => {
    for (const id of ['a b', 'x'.repeat(129), '', ['a', 'b']]) {
      expect((await refused(testRequest('GET', ROUTE, { 'x-request-id': id }))).problem).not.toHaveProperty(
        'request_id',
      )
    }
  })

  /** Every way to be refused: the code, and what was wrong. */
  const reasons: [string, () => Promise<[GuardRequest, string?]> | [GuardRequest, string?]][] = [
    ['credential_missing', () => [testRequest('GET', ROUTE, { 'x-service-credential': '  ' })]],
    ['credential_malformed', () => [testRequest('GET', ROUTE, { 'x-service-credential': 'bm90IGpzb24' })]],
    ['header_too_large', () => [testRequest('GET', ROUTE, { 'x-service-credential': 'a'.repeat(8_193) })]],
    [
      'auth_ambiguous',
      async () => {
        const { header } = await site.issue()
        return [testRequest('GET', ROUTE, { 'x-service-credential': [header, header] })]
      },
    ],
    ['site_mismatch', async () => [await of(await otherSite())]],
    ['issuer_untrusted', async () => [await of(await untrusted())]],
    [
      'credential_signature_invalid',
      async () => {
        const { credential } = await site.issue()
        return [
          testRequest('GET', ROUTE, {
            'x-service-credential': credentialHeader({ ...credential, added: 1 }),
          }),
        ]
      },
    ],
    [
      'credential_expired',
      async () => {
        const credential = await site.issue({ ttlSeconds: 60 })
        await site.advance(60_000)
        return [await of(credential)]
      },
    ],
    [
      'credential_not_yet_valid',
      async () => {
        const ahead = await createTestSite({ startMs: site.clock.nowMs + 60_000 })
        const credential = await ahead.issue()
        await trust(ahead)
        return [await of(credential)]
      },
    ],
    [
      'credential_revoked',
      async () => {
        const credential = await site.issue()
        await site.revoke(credential)
        return [await of(credential)]
      },
    ],
    ['scope_insufficient', async () => [await of(await site.issue()), 'orders:write']],
    [
      'proof_required',
      async () => [
        testRequest('GET', ROUTE, { 'x-service-credential': (await site.issue({ bound: true })).header }),
      ],
    ],
    [
      'proof_invalid',
      async () => {
        const credential = await site.issue({ bound: true })
        return [testRequest('POST', ROUTE, await credential.headersFor('GET', ROUTE))]
      },
    ],
    [
      'proof_replayed',
      async () => {
        const request = await of(await site.issue({ bound: true }))
        expect(await outcome(guard.verify(request))).toBe('allowed')
        return [request]
      },
    ],
    ['delegation_invalid', async () => [await delegated({ scope: ['orders:read', 'admin'] as Scope[] })]],
    [
      'token_invalid',
      () => [testRequest('GET', ROUTE, { authorization: `Bearer svc_at_${'0'.repeat(49)}` })],
    ],
    [
      'bearer_disabled',
      async () => {
        const token = await site.exchange(await site.issue())
        await site.changeSite({ bearer: 'off' })
        return [testRequest('GET', ROUTE, { authorization: `Bearer ${token}` })]
      },
    ],
    [
      'request_too_large',
      async () => {
        const credential = await site.issue({ bound: true })
        const headers = await credential.headersFor('POST', ROUTE, 'long')
        return [{ ...testRequest('POST', ROUTE, headers), body: () => 'too_large' }]
      },
    ],
    [
      'revocation_view_stale',
      async () => {
        const credential = await site.issue()
        await site.silenceFeed()
        await site.advance(31_000)
        return [await of(credential)]
      },
    ],
  ]
  test.each(reasons)('%s has the status and title of the contract', async (code, make) => {
    const [request, scope = 'orders:read'] = await make()
    const verdict = await refused(request, { scope })
    const { status, title, challenge } = problems[code as keyof typeof problems]
    expect(verdict).toMatchObject({
      code,
      status,
      retryable: status === 503,
      problem: { code, status, title, detail: verdict.detail },
    })
    expect(verdict.headers['www-authenticate'] === undefined).toBe(challenge === undefined)
  })

  const of = async (credential: TestCredential) =>
    testRequest('GET', ROUTE, await credential.headersFor('GET', ROUTE))
  const trust = async (other: TestSite) => {
    const [state] = other.issuers
    if (state !== undefined) await site.append('issuer.trusted', state)
  }
  const otherSite = async () => {
    const other = await createTestSite({ siteId: 'other.example', startMs: site.clock.nowMs })
    await trust(other)
    return other.issue()
  }
  const untrusted = async () => (await createTestSite({ startMs: site.clock.nowMs })).issue()
  const delegated = async (changes: { scope: readonly Scope[] }) => {
    const parent = await site.issue({ scope: ['orders:read', 'admin'], delegable: true })
    const narrow = await site.issue({ scope: ['orders:read'], delegable: true })
    const key = await generatePrivateKey('Ed25519')
    if (parent.holderKey === undefined) throw new Error('no holder')
    const child = await delegateCredential(
      parent.credential,
      {
        credentialId: 'cred_delegated1' as CredentialId,
        scope: changes.scope,
        holderKey: didKey(key.publicKey),
        validFromMs: site.clock.nowMs,
        validUntilMs: site.clock.nowMs + 60_000,
      },
      { key: parent.holderKey, createdMs: site.clock.nowMs },
    )
    return testRequest('GET', ROUTE, {
      'x-service-credential': credentialHeader({ ...child, parent: narrow.credential }),
    })
  }
})

describe('where a credential may come from', () => {
  const by = (headers: Record<string, string | string[]>, url = ROUTE) =>
    outcome(guard.verify(testRequest('GET', url, headers)))

  test('A001 A002 A014 A015 from its header only', async () => {
    const { header } = await site.issue()
    expect(await by({})).toBe('credential_missing')
    expect(await by({ 'x-service-credential': '' })).toBe('credential_missing')
    expect(await by({ x_service_credential: header })).toBe('credential_missing')
    expect(await by({ cookie: `X-Service-Credential=${header}` })).toBe('credential_missing')
    expect(await by({}, `${ROUTE}&X-Service-Credential=${header}`)).toBe('credential_missing')
    expect(await by({ 'x-service-credential': header })).toBe('allowed')
  })

  test('A007 once: two lines are refused, and two that were joined', async () => {
    const { header } = await site.issue()
    expect(await by({ 'x-service-credential': [header, header] })).toBe('auth_ambiguous')
    expect(await by({ 'x-service-credential': `${header}, ${header}` })).toBe('auth_ambiguous')
  })

  test('A003 A004 A010 A057 in its one spelling', async () => {
    const { header } = await site.issue()
    for (const wrong of [
      `${header}=`,
      `+${header.slice(1)}`,
      Buffer.from(header).toString('base64url'),
      'eyJhbGciOiJub25lIn0.e30.',
    ]) {
      expect(await by({ 'x-service-credential': wrong })).toBe('credential_malformed')
    }
  })
})

describe('misuse', () => {
  test('every option that is wrong is named at once, and the key is not told', () => {
    const wrong = {
      baseUrl: 'http://auth.example',
      siteId: 'Shop.Example',
      apiKey: 'svc_sk_secret with a blank',
      maxStalenessSeconds: 0,
      verifierId: 'a b',
      publicOrigin: 'ftp://x',
    }
    expect(() => createGuard(wrong)).toThrow(TypeError)
    expect(() => createGuard(wrong)).toThrow(
      /baseUrl.*siteId.*apiKey.*maxStalenessSeconds.*verifierId.*publicOrigin/,
    )
    expect(() => createGuard(wrong)).not.toThrow(/secret/)
  })

  test('a route cannot ask for what is no scope, or for one of none', async () => {
    await expect(guard.verify(testRequest('GET', ROUTE), { scope: 'Orders Read' })).rejects.toThrow(TypeError)
    await expect(guard.verify(testRequest('GET', ROUTE), { anyScope: [] })).rejects.toThrow(TypeError)
  })

  test('only what was accepted can be watched', async () => {
    const request = testRequest('GET', ROUTE)
    await guard.verify(request)
    expect(() => guard.signal(request)).toThrow(TypeError)
  })
})

describe('failing open', () => {
  test('takes a symbol: no JSON and no environment can switch it on', async () => {
    for (const text of ['{"failOpen":true}', '{"FAIL_OPEN":true}', '{"Symbol(countersign.failOpen)":true}'])
      expect(() => createGuard({ ...site.guardOptions, ...JSON.parse(text) })).toThrow('is not an option')
    const closed = await site.guard()
    const credential = await site.issue()
    await site.cutFeed()
    await site.advance(31_000)
    const verdict = await show(closed, credential)
    expect(verdict).toMatchObject({ ok: false, code: 'revocation_view_stale' })
    expect(verdict).not.toHaveProperty('failOpen')
  })

  test('accepts stale revocation data, and every verdict says so', async () => {
    const open = await site.guard({ [FAIL_OPEN]: true })
    const credential = await site.issue()
    const revoked = await site.issue()
    await site.revoke(revoked)
    expect(await show(open, credential)).toMatchObject({ ok: true, failOpen: 'fresh' })
    expect(await show(open, revoked)).toMatchObject({
      ok: false,
      code: 'credential_revoked',
      failOpen: 'fresh',
    })
    await site.cutFeed()
    await site.advance(31_000)
    expect(open.state()).toMatchObject({ ready: false })
    expect(await show(open, credential)).toMatchObject({ ok: true, failOpen: 'stale' })
    expect(await show(open, revoked)).toMatchObject({
      ok: false,
      code: 'credential_revoked',
      failOpen: 'stale',
    })
    expect(
      open.isActive({
        ppid: credential.ppid,
        credentialId: credential.credentialId,
        verifiedAt: site.clock.nowMs,
      }),
    ).toMatchObject({
      active: true,
      stale: true,
    })
  })

  test('does not apply without revocation data, or with data that cannot be true', async () => {
    const credential = await site.issue()
    await site.cutFeed()
    const blind = createGuard({ ...site.guardOptions, [FAIL_OPEN]: true })
    const waiting = show(blind, credential)
    await site.advance(5_000)
    expect(await waiting).toMatchObject({ ok: false, code: 'revocation_view_stale', failOpen: 'stale' })
    await blind.close()
    await site.repairFeed()
    const fetch = meddled(site.service.fetch, {
      feedText: (text) => text.replace('credential.revoked', 'credential.unknown'),
    })
    const lied = await site.guard({ fetch, [FAIL_OPEN]: true })
    site.service.setNetwork('ok')
    await site.revoke(await site.issue())
    expect(lied.state().connection).not.toBe('following')
    expect(await show(lied, credential)).toMatchObject({ ok: false, code: 'revocation_view_stale' })
  })
})

describe('the state of a guard', () => {
  test('is told when it changes, and what the listener throws changes nothing', async () => {
    const seen: string[] = []
    const failures: unknown[] = []
    vi.spyOn(console, 'error').mockImplementation((failure) => void failures.push(failure))
    const told = await site.guard({
      onStateChange: ({ ready, connection, problem }) => {
        seen.push(`${connection} ${ready ? 'ready' : 'not ready'} ${problem?.code ?? ''}`.trim())
        if (seen.length === 2) throw new Error('a listener that fails')
      },
    })
    await site.advance(1)
    expect(seen).toEqual(['loading not ready', 'loading ready', 'connecting ready', 'following ready'])
    await site.cutFeed()
    await site.advance(60_000)
    expect(failures).toEqual([new Error('a listener that fails')])
    expect(seen.slice(4)).toContain('waiting ready unreachable')
    expect(seen.at(-1)).toMatch(/not ready unreachable$/)
    await site.repairFeed()
    await site.advance(6_000)
    expect(seen.at(-1)).toBe('following ready')
    await told.close()
    expect(seen.at(-1)).toBe('closed not ready')
  })

  test('is problem enough for the console when there is no listener', async () => {
    const { onStateChange: _, ...silent } = site.guardOptions
    const warned: string[] = []
    vi.spyOn(console, 'warn').mockImplementation((words) => void warned.push(String(words)))
    site.service.setNetwork('rejecting')
    const turnedAway = createGuard(silent)
    turnedAway.ready().catch(() => undefined)
    await site.advance(100_000)
    expect(warned).toHaveLength(1)
    expect(warned[0]).toMatch(/shop\.example: api_key_invalid/)
    expect(warned[0]).not.toContain('svc_sk_')
    await turnedAway.close()
  })

  test('a guard waits for its first revocation data, but not without end', async () => {
    await site.cutFeed()
    const blind = createGuard(site.guardOptions)
    const credential = await site.issue()
    const first = show(blind, credential)
    let isSettled = false
    first.then(() => (isSettled = true))
    await site.advance(4_999)
    expect(isSettled).toBe(false)
    await site.advance(1)
    expect(await outcome(first)).toBe('revocation_view_stale')
    expect(await outcome(show(blind, credential))).toBe('revocation_view_stale')
    await site.repairFeed()
    await site.advance(6_000)
    expect(await outcome(show(blind, credential))).toBe('allowed')
    await blind.close()
  })

  test('a closed guard refuses everything, leaves no timer behind, and can be closed twice', async () => {
    const credential = await site.issue()
    const token = await site.exchange(credential)
    const waiting = createGuard({ ...site.guardOptions, fetch: () => new Promise(() => undefined) })
    const never = expect(waiting.ready()).rejects.toThrow('closed')
    await waiting.close()
    await never
    await expect(waiting.ready()).rejects.toThrow('closed')
    await site.advance(1_000)
    const before = site.clock.pending
    const closed = await site.guard()
    await site.advance(1_000)
    expect(site.clock.pending).toBeGreaterThan(before)
    await closed.close()
    await closed.close()
    expect(site.clock.pending).toBe(before)
    expect(closed.state()).toMatchObject({ ready: false, connection: 'closed', ageMs: Infinity })
    expect(await outcome(show(closed, credential))).toBe('revocation_view_stale')
    expect(await outcome(showToken(closed, token))).toBe('revocation_view_stale')
    expect(site.service.followers).toBe(1)
  })
})
