import type { CheckedEntry } from '@countersign/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createApplyTimes } from '../../src/feed/apply-times.ts'
import { createTestClock } from '../../src/testing/test-clock.ts'
import { testRequest } from '../../src/testing/test-request.ts'
import { createTestSite } from '../../src/testing/test-site.ts'

const EPOCH = 'epoch000'
const entry = (seq: number, fields: object = { kind: 'site.changed', body: {} }) =>
  ({ epoch: EPOCH, seq, ...fields }) as unknown as CheckedEntry
const user = (seq: number, ppid: string) => entry(seq, { kind: 'user.revoked', body: { ppid } })
const head = (seq: number, epoch = EPOCH) => ({ epoch, seq })

describe('the times that a verifier reports', () => {
  test('say how long ago entries took effect, up to the head that is acknowledged', async () => {
    const clock = createTestClock(0)
    const times = createApplyTimes(clock)
    times.addEntry(entry(1))
    await clock.advance(100)
    times.addEntry(entry(2))
    await clock.advance(20)
    times.addEntry(entry(3))
    await clock.advance(5)
    expect(times.read(head(2))).toEqual({
      applied: [
        { seq: 1, ms: 125 },
        { seq: 2, ms: 25 },
      ],
      denied: [],
    })
    expect(times.read(head(3)).applied).toHaveLength(3)
    expect(times.read(head(3, 'epoch001'))).toEqual({ applied: [], denied: [] })
  })

  test('do not depend on the wall clock', async () => {
    const clock = createTestClock(0)
    const times = createApplyTimes(clock)
    times.addEntry(entry(1))
    clock.jump(-3_600_000)
    await clock.advance(40)
    expect(times.read(head(1)).applied).toEqual([{ seq: 1, ms: 40 }])
  })

  test('are reported again until the service has received them, and then no more', async () => {
    const clock = createTestClock(0)
    const times = createApplyTimes(clock)
    times.addEntry(user(1, 'alice'))
    expect(times.addDenial('user alice')).toBe(1)
    const lost = times.read(head(1))
    await clock.advance(1000)
    const sent = times.read(head(1))
    expect([lost, sent]).toEqual([
      { applied: [{ seq: 1, ms: 0 }], denied: [{ seq: 1, ms: 0 }] },
      { applied: [{ seq: 1, ms: 1000 }], denied: [{ seq: 1, ms: 1000 }] },
    ])
    times.addEntry(entry(2))
    times.confirm(sent)
    expect(times.read(head(2))).toEqual({ applied: [{ seq: 2, ms: 0 }], denied: [] })
  })

  test('have the first denial of each revocation once, and none of what was not revoked lately', () => {
    const times = createApplyTimes(createTestClock(0))
    times.addEntry(user(1, 'alice'))
    times.addEntry(entry(2, { kind: 'site.cut_off', body: { before: '' } }))
    expect(times.addDenial('user bob')).toBeUndefined()
    expect([times.addDenial('user alice'), times.addDenial('user alice')]).toEqual([1, undefined])
    expect(times.addDenial('site')).toBe(2)
    expect(times.read(head(1)).denied).toEqual([{ seq: 1, ms: 0 }])
    expect(times.read(head(2)).denied.map(({ seq }) => seq)).toEqual([1, 2])
  })

  test('begin again in a new epoch', () => {
    const times = createApplyTimes(createTestClock(0))
    times.addEntry(user(1, 'alice'))
    times.addSnapshot(head(5, 'epoch001'))
    expect(times.addDenial('user alice')).toBeUndefined()
    expect(times.read(head(5, 'epoch001')).applied).toEqual([{ seq: 5, ms: 0 }])
  })

  test('are bounded, never too short, and at most a group too long while all fit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.boolean()), { minLength: 1, maxLength: 80 }),
        async (steps) => {
          const clock = createTestClock(0)
          const times = createApplyTimes(clock)
          const appliedMs: number[] = []
          for (const [waitMs, isDenied] of steps) {
            await clock.advance(waitMs)
            const seq = appliedMs.push(clock.read().monotonicMs)
            times.addEntry(user(seq, `u${seq}`))
            if (isDenied) times.addDenial(`user u${seq}`)
          }
          await clock.advance(7)
          const nowMs = clock.read().monotonicMs
          const { applied, denied } = times.read(head(steps.length))
          expect(Math.max(applied.length, denied.length)).toBeLessThanOrEqual(16)
          expect(applied.at(-1)).toEqual({ seq: steps.length, ms: 7 })
          for (const [i, atMs] of appliedMs.entries()) {
            const found = applied.find(({ seq }) => seq > i)
            expect(nowMs - (found?.ms ?? 0)).toBeGreaterThanOrEqual(atMs)
            const isOldest = i < (applied[0]?.seq ?? 0)
            if (!isOldest || applied.length < 16) expect(nowMs - (found?.ms ?? 0) - atMs).toBeLessThan(16)
          }
          for (const { seq, ms } of denied) expect(nowMs - ms).toBe(appliedMs[seq - 1])
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('a guard', () => {
  test('reports with its acknowledgement when it applied an entry, and soon when it first denied', async () => {
    const site = await createTestSite()
    const acks: Headers[] = []
    const guard = await site.guard({
      fetch: (url, init) => {
        if (String(url).endsWith('/feed/ack')) acks.push(new Headers(init?.headers))
        return site.service.fetch(url, init)
      },
    })
    const revoked = await site.issue()
    const other = await site.issue()
    await site.advance(1_000)
    acks.length = 0
    await site.revoke(revoked)
    const seq = guard.state().seq
    expect(acks.at(-1)?.get('x-verifier-applied')).toBe(`${seq}=0`)
    expect(acks.some((headers) => headers.has('x-verifier-denied'))).toBe(false)
    await site.advance(400)
    const show = (credential: string) =>
      guard.verify(testRequest('GET', 'https://shop.example/', { 'x-service-credential': credential }))
    const before = acks.length
    expect((await show(revoked.header)).ok).toBe(false)
    await show(revoked.header)
    expect((await show(other.header)).ok).toBe(true)
    await site.advance(300)
    const denied = acks.slice(before).map((headers) => headers.get('x-verifier-denied'))
    expect(denied).toEqual([`${seq}=0`])
    // Neither names a user or a credential.
    const sent = acks.flatMap((headers) => [...headers.values()]).join()
    expect([sent.includes(revoked.credentialId), sent.includes(revoked.ppid)]).toEqual([false, false])
    await guard.close()
  })
})
