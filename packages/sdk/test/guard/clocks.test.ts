import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { GuardClock } from '../../src/feed/clock.ts'
import { createGuard, type Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { createHandFeed, heartbeatBytes } from '../hand-feed.ts'
import { outcome, show } from '../protected.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

let site: TestSite
let guard: Guard
let credential: TestCredential
/** How far the wall clock of the guard is off. That of the service is right. */
let offMs: number
/** How long the machine of the guard has slept: its monotonic clock stood still. */
let sleptMs: number
let clock: GuardClock
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  offMs = 0
  sleptMs = 0
  clock = {
    read: () => {
      const { wallMs, monotonicMs } = site.clock.read()
      return { wallMs: wallMs + offMs, monotonicMs: monotonicMs - sleptMs }
    },
    after: (ms, callback) => site.clock.after(ms, callback),
  }
  guard = await site.guard({ clock })
  credential = await site.issue({ ttlSeconds: 600 })
})
afterEach(() => site.close())
const seen = () => outcome(show(guard, credential))

describe('the wall clock of the guard', () => {
  test.each([HOUR, 10 * DAY])(
    'jumps %i ms ahead: refused until it is right again, and nothing is made to expire',
    async (jumpMs) => {
      expect(await seen()).toBe('allowed')
      offMs = jumpMs
      expect(await seen()).toBe('revocation_view_stale')
      expect(guard.state()).toMatchObject({ ready: false, problem: { code: 'clock_jumped' } })
      await site.advance(20_000)
      expect(await seen()).toBe('revocation_view_stale')
      offMs = 0
      await site.advance(5_000)
      expect(await seen()).toBe('allowed')
    },
  )

  test.each([-HOUR, -10 * DAY])(
    'A080 jumps %i ms: what was expired stays expired',
    { tags: 'long' },
    async (jumpMs) => {
      await site.advance(599_999)
      expect(await seen()).toBe('allowed')
      await site.advance(1)
      expect(await seen()).toBe('credential_expired')
      offMs = jumpMs
      expect(await seen()).toBe('credential_expired')
      await site.advance(20_000)
      expect(await seen()).toBe('credential_expired')
      await site.advance(20_000)
      // Heartbeats from the future are not believed, so by now the revocation data is stale, too.
      expect(guard.state()).toMatchObject({ ready: false, problem: { code: 'clock_behind' } })
      offMs = 0
      await site.advance(10_000)
      expect(await seen()).toBe('credential_expired')
    },
  )

  test('jumps back: the age is counted by the other clock, so that stale revocation data does not become young', async () => {
    await site.cutFeed()
    offMs = -HOUR
    await site.advance(30_000)
    expect(await seen()).toBe('allowed')
    await site.advance(1)
    expect(await seen()).toBe('revocation_view_stale')
  })

  test('jumps back: a heartbeat that a relay has kept back does not become young', async () => {
    const feed = createHandFeed(site)
    const relayed = await site.guard({ fetch: feed.fetch, clock })
    const seenThere = () => outcome(show(relayed, credential))
    let connection = await feed.connection()
    await site.advance(1_000)
    const heartbeat = await heartbeatBytes(site)
    const heartbeatMs = site.clock.nowMs
    for (let i = 0; i < 3; i++) {
      await connection.cut('hang')
      connection = await feed.connection()
    }
    expect(await seenThere()).toBe('revocation_view_stale')
    offMs = heartbeatMs - site.clock.nowMs
    await connection.push(heartbeat)
    expect(relayed.state().connection).toBe('following')
    expect(await seenThere()).toBe('revocation_view_stale')
    // Control: one that is new makes the guard ready, once the clock is right.
    offMs = 0
    await connection.push(await heartbeatBytes(site))
    expect(await seenThere()).toBe('allowed')
  })

  test('is a little off: no effect', async () => {
    for (offMs of [-4_000, 4_000]) {
      await site.advance(10_000)
      expect(await seen()).toBe('allowed')
    }
    expect(guard.state().ageMs).toBeGreaterThanOrEqual(4_000)
  })

  test.each([
    [-HOUR, 'clock_behind'],
    [HOUR, 'clock_ahead'],
    [31_000, 'clock_ahead'],
  ])('is %i ms off from the start: the guard never becomes ready, and says why', async (wrongMs, code) => {
    offMs = wrongMs
    const clock: GuardClock = {
      read: () => ({ ...site.clock.read(), wallMs: site.clock.nowMs + offMs }),
      after: (ms, callback) => site.clock.after(ms, callback),
    }
    const wrong = createGuard({ ...site.guardOptions, clock })
    wrong.ready().catch(() => undefined)
    await site.advance(8_000)
    expect(wrong.state()).toMatchObject({ ready: false, problem: { code } })
    expect(await outcome(show(wrong, credential))).toBe('revocation_view_stale')
    await wrong.close()
  })
})

test('a machine that slept knows that it may have missed something, and recovers by itself', async () => {
  const revoked = await site.issue({ user: 'bob' })
  // While it slept nothing reached it, and its monotonic clock stood still.
  site.service.setNetwork('silent')
  await site.append('user.revoked', { ppid: revoked.ppid as never, revoked_at: '2026-11-14T12:00:00Z' })
  await site.clock.advance(0)
  site.clock.jump(10 * 60_000)
  expect(await outcome(show(guard, revoked))).toBe('revocation_view_stale')
  site.service.setNetwork('ok')
  await site.advance(20_000)
  expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
  expect(guard.state().ready).toBe(true)
})

test('a timer that fires a fraction too early is not set again for that fraction', async () => {
  const delays: number[] = []
  const { wallMs: loadedAtMs } = site.clock.read()
  // A clock that begins to lag behind its timers just before the data becomes stale.
  const read = () => {
    const { wallMs, monotonicMs } = site.clock.read()
    const lagMs = wallMs > loadedAtMs + 30_000 ? 0.01 : 0
    return { wallMs: wallMs - lagMs, monotonicMs: monotonicMs - lagMs }
  }
  const after: GuardClock['after'] = (ms, callback) => {
    delays.push(ms)
    return site.clock.after(ms, callback)
  }
  await site.guard({ clock: { read, after } })
  await site.cutFeed()
  await site.advance(60_000)
  expect(delays.filter((ms) => ms > 0 && ms < 1)).toEqual([])
})
