import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AccessEnded } from '../../src/guard/access-monitor.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { FAIL_OPEN } from '../../src/guard/options.ts'
import { testRequest } from '../../src/testing/test-request.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { ROUTE, show, showToken } from '../protected.ts'

let site: TestSite
let guard: Guard
let credential: TestCredential
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  guard = await site.guard()
  credential = await site.issue({ ttlSeconds: 3_600 })
})
afterEach(() => site.close())

async function letIn(of = guard, what = credential) {
  const verdict = await show(of, what)
  if (!verdict.ok) throw new Error(verdict.detail)
  return verdict
}
const findCode = ({ aborted, reason }: AbortSignal) =>
  aborted ? (reason as AccessEnded).denial.code : 'still in'

describe('the signal of a running request', () => {
  const ends: [string, () => Promise<unknown>, string][] = [
    ['the credential is revoked', () => site.revoke(credential), 'credential_revoked'],
    ['the user is revoked', () => site.revokeUser('alice'), 'credential_revoked'],
    ['the issuer is no longer trusted', () => site.distrustIssuer(), 'issuer_untrusted'],
    ['the key of the issuer is compromised', () => site.compromiseKey(), 'issuer_untrusted'],
    [
      'the issuer may grant less',
      () => site.trustIssuer({ scope: ['orders:write'] as never }),
      'scope_insufficient',
    ],
    ['lives are shortened', () => site.changeSite({ credential_ttl_seconds_max: 60 }), 'issuer_untrusted'],
    ['the site wants proofs', () => site.changeSite({ holder_proof: 'required' }), 'proof_required'],
    ['the credential expires', () => site.advance(3_600_000), 'credential_expired'],
    [
      'nothing has been heard for too long',
      () => site.cutFeed().then(() => site.advance(30_001)),
      'revocation_view_stale',
    ],
    ['the guard is closed', () => guard.close(), 'revocation_view_stale'],
    ['another user is revoked', () => site.revokeUser('bob'), 'still in'],
    ['nothing happens for an hour', () => site.advance(3_599_999), 'still in'],
    ['the feed is cut for a moment', () => site.cutFeed().then(() => site.advance(10_000)), 'still in'],
    [
      'the log turns out to be another one',
      () => site.restore().then(() => site.advance(5_000)),
      'revocation_view_stale',
    ],
  ]
  test.each(ends)('when %s', async (_, end, code) => {
    const signal = guard.signal(await letIn())
    expect(signal.aborted).toBe(false)
    await end()
    expect(findCode(signal)).toBe(code)
  })

  test('fires with a refusal that can be sent, at the moment at which it is known', async () => {
    const signal = guard.signal(await letIn())
    const fired = new Promise<unknown>((resolve) =>
      signal.addEventListener('abort', () => resolve(signal.reason)),
    )
    await site.revoke(credential)
    const reason = await fired
    expect(reason).toBeInstanceOf(AccessEnded)
    expect(reason).toMatchObject({
      name: 'AccessEnded',
      denial: { status: 401, code: 'credential_revoked', needs: 'none', view: { seq: 3 } },
    })
  })

  test('can be had by the request as well as by the verdict', async () => {
    const request = testRequest('GET', ROUTE, await credential.headersFor('GET', ROUTE))
    await guard.verify(request)
    const signal = guard.signal(request)
    await site.revoke(credential)
    expect(findCode(signal)).toBe('credential_revoked')
  })

  test('of a bearer token fires when the token or what it stands on is gone', { tags: 'long' }, async () => {
    const token = await site.exchange(credential)
    const other = await site.exchange(credential)
    const [one, two] = [await showToken(guard, token), await showToken(guard, other)]
    if (!one.ok || !two.ok) throw new Error('not accepted')
    const [first, second] = [guard.signal(one), guard.signal(two)]
    await site.revokeToken(token)
    expect([findCode(first), findCode(second)]).toEqual(['token_invalid', 'still in'])
    await site.advance(900_000)
    expect(findCode(second)).toBe('token_invalid')
  })

  test('of a user who was revoked before has fired', async () => {
    const verdict = await letIn()
    await site.revoke(credential)
    expect(findCode(guard.signal(verdict))).toBe('credential_revoked')
  })

  test('of a request that is done is forgotten, and never fires', async () => {
    const done = new AbortController()
    const verdict = await letIn()
    const signal = guard.signal(verdict, done.signal)
    const other = guard.signal(verdict)
    done.abort()
    const never = guard.signal(verdict, done.signal)
    await site.revoke(credential)
    expect([findCode(signal), findCode(never), findCode(other)]).toEqual([
      'still in',
      'still in',
      'credential_revoked',
    ])
  })

  test('does not fire for stale revocation data where the guard was told to fail open', async () => {
    const open = await site.guard({ [FAIL_OPEN]: true })
    const signal = open.signal(await letIn(open))
    await site.cutFeed()
    await site.advance(60_000)
    expect(findCode(signal)).toBe('still in')
    await site.repairFeed()
    await site.advance(6_000)
    await site.revoke(credential)
    expect(findCode(signal)).toBe('credential_revoked')
  })

  test('fires for each of many, and only for those it concerns', async () => {
    const people = await Promise.all(Array.from({ length: 50 }, (_, i) => site.issue({ user: `user-${i}` })))
    const signals = await Promise.all(people.map(async (one) => guard.signal(await letIn(guard, one))))
    await site.revokeUser('user-7')
    expect(signals.map((signal) => signal.aborted)).toEqual(people.map((_, i) => i === 7))
  })
})
