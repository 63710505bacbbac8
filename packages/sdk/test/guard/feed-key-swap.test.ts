import { feedKeySha256 } from '@countersign/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGuard, type Guard } from '../../src/guard/guard.ts'
import type { GuardOptions } from '../../src/guard/options.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { outcome, show, showToken } from '../protected.ts'

/**
 * A relay past TLS that may answer in place of the service: with keys, a log and an issuer of its
 * own. `evil` is all of that; the two sites have the same name, and the relay has seen the API key.
 */
let site: TestSite
let evil: TestSite
let isEvil: boolean
let good: TestCredential
let forged: TestCredential
let guards: Guard[]
beforeEach(async () => {
  const startMs = Date.UTC(2026, 10, 14, 12)
  site = await createTestSite({ startMs })
  evil = await createTestSite({ startMs })
  isEvil = false
  guards = []
  good = await site.issue()
  forged = await evil.issue()
})
afterEach(async () => {
  for (const guard of guards) await guard.close()
  await site.close()
  await evil.close()
})

const fetch: NonNullable<GuardOptions['fetch']> = (url, init) =>
  (isEvil ? evil : site).service.fetch(url, init)
const make = (options: Partial<GuardOptions> = {}) => {
  const guard = createGuard({ ...site.guardOptions, fetch, ...options })
  guards.push(guard)
  return guard
}
const advance = async (ms: number) => {
  await evil.advance(ms)
  await site.advance(ms)
}
/** Cuts what is open, and answers in the service's place from now on. */
const takeOver = async () => {
  isEvil = true
  await site.cutFeed()
}
const giveBack = async () => {
  isEvil = false
  await evil.cutFeed()
  await site.repairFeed()
}
const pins = async () => ({
  [site.feedKey.kid]: site.feedKey.key.publicKey.multikey,
  next: `sha256:${await feedKeySha256(site.feedKeys.next.key.publicKey)}`,
})

/** What a guard says to the forged credential over a minute, each distinct verdict once. */
const verdicts = async (guard: Guard) => {
  const seen = new Set<string>()
  for (let s = 0; s < 60; s += 2) {
    await advance(2_000)
    seen.add(await outcome(show(guard, forged)))
  }
  return [...seen].sort()
}

describe('S3 A254 a relay that swaps the feed keys', () => {
  test('after first contact, without pins: nothing it signs is accepted, it is reported, and the guard recovers by itself', {
    tags: 'long',
  }, async () => {
    const problems = new Set<string>()
    const guard = make({ onStateChange: ({ problem }) => problem && problems.add(problem.code) })
    await guard.ready()
    expect(await outcome(show(guard, good))).toBe('allowed')
    await takeOver()
    expect(await verdicts(guard)).not.toContain('allowed')
    expect(problems).toContain('feed_key_untrusted')
    expect(guard.state()).toMatchObject({
      ready: false,
      problem: { code: 'feed_key_untrusted', detail: expect.stringContaining('doctor') },
    })
    await giveBack()
    await advance(10_000)
    expect(await outcome(show(guard, good))).toBe('allowed')
    expect(await outcome(show(guard, forged))).not.toBe('allowed')
    // What remains is the lasting report of a log that was contradicted again and again.
    expect(guard.state()).toMatchObject({ ready: true, problem: { code: 'log_contradicted' } })
  })

  test('from the start, with pins: nothing it signs is accepted', { tags: 'long' }, async () => {
    await takeOver()
    const guard = make({ feedKeys: await pins() })
    const ready = guard.ready().then(() => 'ready')
    await advance(6_000)
    expect(await verdicts(guard)).toEqual(['revocation_view_stale'])
    expect(guard.state()).toMatchObject({ ready: false, problem: { code: 'feed_key_untrusted' } })
    await giveBack()
    await advance(10_000)
    expect(await ready).toBe('ready')
    expect(await outcome(show(guard, good))).toBe('allowed')
    expect(await outcome(show(guard, forged))).toBe('issuer_untrusted')
  })

  test('control: from the start, without pins, it is believed, as good as TLS', {
    tags: 'long',
  }, async () => {
    await takeOver()
    const guard = make()
    expect(await verdicts(guard)).toContain('allowed')
  })
})

describe('a legitimate rotation', () => {
  test.each([
    ['without pins', async () => ({})],
    ['with pins of current and next', async () => ({ feedKeys: await pins() })],
  ])('keeps guards %s working, also one after the other', async (_, options) => {
    const guard = make(await options())
    await guard.ready()
    const token = await site.exchange(good)
    for (let i = 0; i < 3; i++) {
      await site.rotateFeedKey()
      await advance(40_000)
      expect(guard.state()).toMatchObject({ ready: true })
      expect(guard.state().problem).toBeUndefined()
      expect(await outcome(show(guard, good))).toBe('allowed')
      expect(await outcome(showToken(guard, token))).toBe('allowed')
    }
  })

  test('S6 of a compromised key keeps them working, and what the old key signs is worth nothing', {
    tags: 'long',
  }, async () => {
    const guard = make()
    await guard.ready()
    const stolen = site.feedKey
    await site.rotateFeedKey({ compromised: true })
    await advance(20_000)
    expect(guard.state()).toMatchObject({ ready: true })
    // The relay has the old key, and everything else of its own.
    Object.defineProperty(evil.feedKeys, 'current', { value: stolen })
    Object.defineProperty(evil.feedKeys, 'chain', { value: site.feedKeys.chain })
    await takeOver()
    expect(await verdicts(guard)).not.toContain('allowed')
    expect(guard.state().problem?.code).toBe('feed_key_withdrawn')
  })
})
