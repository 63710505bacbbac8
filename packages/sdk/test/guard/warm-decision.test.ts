import { SignatureCache } from '@countersign/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createFreezableClock } from '../../src/feed/clock.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { testRequest } from '../../src/testing/test-request.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'

const URL = 'https://shop.example/orders'
const DEMAND = { scope: 'orders:read' }

let site: TestSite
let guard: Guard
let credential: TestCredential
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  guard = await site.guard()
  credential = await site.issue()
})
afterEach(() => site.close())

const requestWith = async () => testRequest('GET', URL, await credential.headersFor('GET', URL))

/** Seen, remembered and noted. */
async function warmUp(): Promise<void> {
  for (let times = 0; times < 3; times++)
    expect((await guard.verify(await requestWith(), DEMAND)).ok).toBe(true)
}

describe('a warm decision', () => {
  const changes: [string, () => Promise<unknown>, string][] = [
    ['the credential is revoked', () => site.revoke(credential), 'credential_revoked'],
    ['the issuer is distrusted', () => site.distrustIssuer(), 'issuer_untrusted'],
    ['the key is compromised', () => site.compromiseKey(), 'issuer_untrusted'],
    [
      'nothing is heard any more',
      () => site.cutFeed().then(() => site.advance(30_001)),
      'revocation_view_stale',
    ],
    ['it expires', () => site.advance(3_600_000), 'credential_expired'],
  ]
  test.each(changes)('refuses what it has just seen when %s', async (_, change, code) => {
    await warmUp()
    await change()
    expect(await guard.verify(await requestWith(), DEMAND)).toMatchObject({ ok: false, code })
  })

  test('refuses what is one character away from what it has seen', async () => {
    await warmUp()
    const header = (await requestWith()).header('x-service-credential')[0] as string
    for (const at of [10, header.length >> 1, header.length - 40, header.length - 5]) {
      const other = `${header.slice(0, at)}${header[at] === 'A' ? 'B' : 'A'}${header.slice(at + 1)}`
      expect(
        await guard.verify(testRequest('GET', URL, { 'x-service-credential': other }), DEMAND),
        `at ${at}`,
      ).toMatchObject({
        ok: false,
      })
    }
  })

  test('refuses for another scope what it has just accepted', async () => {
    await warmUp()
    expect(await guard.verify(await requestWith(), { scope: 'orders:write' })).toMatchObject({
      ok: false,
      code: 'scope_insufficient',
    })
  })

  test('keeps the text of no credential for longer than until the next heartbeat (A236)', async () => {
    const memoize = vi.spyOn(SignatureCache.prototype, 'memoize')
    await warmUp()
    const noted = memoize.mock.calls.length
    await guard.verify(await requestWith(), DEMAND)
    expect(memoize).toHaveBeenCalledTimes(noted)
    await site.advance(6_000)
    expect(await guard.verify(await requestWith(), DEMAND)).toMatchObject({ ok: true })
    expect(memoize).toHaveBeenCalledTimes(noted + 1)
    memoize.mockRestore()
  })

  test('rejects for a demand that no caller could satisfy', async () => {
    await expect(guard.verify(testRequest('GET', URL), { scope: 'no scope' })).rejects.toThrow(TypeError)
  })
})

describe('a clock that can be frozen', () => {
  function counting() {
    let reads = 0
    const clock = createFreezableClock({
      read: () => ({ wallMs: ++reads, monotonicMs: reads }),
      after: () => () => {},
    })
    return { clock, reads: () => reads }
  }

  test('is read once while it is frozen and again after it', () => {
    const { clock, reads } = counting()
    const seen = clock.whileFrozen(() => [clock.read().wallMs, clock.read().wallMs])
    expect(seen).toEqual([1, 1])
    expect(reads()).toBe(1)
    expect(clock.read().wallMs).toBe(2)
  })

  test('goes on after work that fails, and for work that waits', async () => {
    const { clock } = counting()
    expect(() =>
      clock.whileFrozen(() => {
        throw new Error('failed')
      }),
    ).toThrow('failed')
    expect(clock.read().wallMs).toBe(2)
    const [before, after] = await clock.whileFrozen(async () => {
      const began = clock.read().wallMs
      await undefined
      return [began, clock.read().wallMs]
    })
    expect([before, after]).toEqual([3, 4])
  })
})
