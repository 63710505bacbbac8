import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Freshness } from '../../src/log/freshness.ts'
import { NOW } from './log-sample.ts'

describe('Freshness', () => {
  test('is infinite before the first proof, and from a restart until a newer proof', () => {
    const age = new Freshness()
    expect(age.ageMs({ wallMs: NOW, monotonicMs: 0 })).toBe(Infinity)
    age.confirm(NOW, { wallMs: NOW, monotonicMs: 0 })
    expect(age.ageMs({ wallMs: NOW, monotonicMs: 0 })).toBe(0)
    age.restart()
    expect(age.ageMs({ wallMs: NOW, monotonicMs: 0 })).toBe(Infinity)
    // The wall clock is set back, and an older proof or the same one arrives.
    for (const asOfMs of [NOW - 3_600_000, NOW]) age.confirm(asOfMs, { wallMs: asOfMs, monotonicMs: 1 })
    expect(age.ageMs({ wallMs: NOW - 3_600_000, monotonicMs: 2 })).toBe(Infinity)
    age.confirm(NOW + 1, { wallMs: NOW + 1, monotonicMs: 3 })
    expect(age.ageMs({ wallMs: NOW + 1, monotonicMs: 3 })).toBe(0)
  })

  test('goes on with the monotonic clock when the wall clock is set back', () => {
    const age = new Freshness()
    age.confirm(NOW, { wallMs: NOW, monotonicMs: 0 })
    expect(age.ageMs({ wallMs: NOW - 3_600_000, monotonicMs: 40_000 })).toBe(40_000)
  })

  test('goes on with the wall clock when the machine has slept', () => {
    const age = new Freshness()
    age.confirm(NOW, { wallMs: NOW, monotonicMs: 0 })
    expect(age.ageMs({ wallMs: NOW + 3_600_000, monotonicMs: 10 })).toBe(3_600_000)
  })

  test('does not become younger with an old proof that comes again', () => {
    const age = new Freshness()
    age.confirm(NOW, { wallMs: NOW, monotonicMs: 0 })
    // The wall clock is set back, and the previous heartbeat is replayed.
    age.confirm(NOW, { wallMs: NOW - 60_000, monotonicMs: 50_000 })
    age.confirm(NOW - 1, { wallMs: NOW - 60_000, monotonicMs: 50_000 })
    expect(age.ageMs({ wallMs: NOW - 60_000, monotonicMs: 50_000 })).toBe(50_000)
  })

  test('is infinite when a clock gives no number', () => {
    const age = new Freshness()
    age.confirm(NOW, { wallMs: NOW, monotonicMs: 0 })
    expect(age.ageMs({ wallMs: Number.NaN, monotonicMs: 0 })).toBe(Infinity)
    expect(age.ageMs({ wallMs: NOW, monotonicMs: Number.NaN })).toBe(Infinity)
  })

  test('never tells less than the time since a proof came, nor, while the wall clock is right, than the time since it was true', () => {
    const step = fc.record({
      elapsedMs: fc.nat(20_000),
      /** The difference of the wall clock from the true time. */
      skewMs: fc.oneof(fc.constant(0), fc.integer({ min: -100_000, max: 100_000 })),
      /** How long the proof that arrives now was in transit; undefined if none arrives. */
      delayMs: fc.option(fc.nat(30_000)),
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
        const age = new Freshness()
        let trueMs = NOW
        const proofs: { asOfMs: number; receivedMs: number }[] = []
        for (const { elapsedMs, skewMs, delayMs } of steps) {
          trueMs += elapsedMs
          const clocks = { wallMs: trueMs + skewMs, monotonicMs: trueMs - NOW }
          if (delayMs !== null) {
            age.confirm(trueMs - delayMs, clocks)
            proofs.push({ asOfMs: trueMs - delayMs, receivedMs: trueMs })
          }
          const told = age.ageMs(clocks)
          if (proofs.length === 0) {
            expect(told).toBe(Infinity)
            continue
          }
          const newest = Math.max(...proofs.map(({ asOfMs }) => asOfMs))
          const firstCame = Math.min(
            ...proofs.filter(({ asOfMs }) => asOfMs === newest).map(({ receivedMs }) => receivedMs),
          )
          expect(told).toBeGreaterThanOrEqual(trueMs - firstCame)
          if (skewMs >= 0) expect(told).toBeGreaterThanOrEqual(trueMs - newest)
          expect(told).toBeGreaterThanOrEqual(0)
          if (skewMs === 0) expect(told).toBe(trueMs - newest)
        }
      }),
    )
  })
})
