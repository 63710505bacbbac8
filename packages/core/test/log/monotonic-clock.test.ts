import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMonotonicClock } from '../../src/log/monotonic-clock.ts'
import { NOW } from './log-sample.ts'

const HOUR = 3_600_000
const clocks = (wallMs: number, monotonicMs: number) => ({ wallMs: NOW + wallMs, monotonicMs })

describe('createMonotonicClock', () => {
  test('gives the time of a wall clock that goes as it should', () => {
    const mark = createMonotonicClock()
    for (const ms of [0, 10, 5000, HOUR]) expect(mark.now(clocks(ms, ms))).toEqual({ ms: NOW + ms })
  })

  test('stands still while the wall clock is behind what it gave before', () => {
    const mark = createMonotonicClock()
    mark.now(clocks(1000, 1000))
    expect(mark.now(clocks(-HOUR, 2000))).toEqual({ ms: NOW + 1000 })
    expect(mark.now(clocks(999, HOUR))).toEqual({ ms: NOW + 1000 })
    expect(mark.now(clocks(1001, HOUR + 1))).toEqual({ ms: NOW + 1001 })
  })

  test('begins no earlier than what the store has on record', () => {
    const mark = createMonotonicClock({ confirmedMs: NOW + 5000 })
    expect(mark.now(clocks(0, 0))).toEqual({ ms: NOW + 5000 })
    expect(mark.now(clocks(6000, 6000))).toEqual({ ms: NOW + 6000 })
  })

  test('believes the wall clock at the start, after however long a downtime', () => {
    expect(createMonotonicClock({ confirmedMs: NOW - 1000 * HOUR }).now(clocks(0, 0))).toEqual({ ms: NOW })
  })

  test('moves up to what the store confirms, never back to it', () => {
    const mark = createMonotonicClock()
    mark.now(clocks(0, 0))
    mark.confirm(NOW + 3000, 1000)
    expect(mark.now(clocks(1000, 1000))).toEqual({ ms: NOW + 3000 })
    mark.confirm(NOW - HOUR, 2000)
    expect(mark.now(clocks(2000, 2000))).toEqual({ ms: NOW + 3000 })
  })

  test('reports a wall clock that leaps more than 60 s ahead of the monotonic one, and does not move', () => {
    const mark = createMonotonicClock()
    mark.now(clocks(0, 0))
    expect(mark.now(clocks(61_000, 1000))).toEqual({ ms: NOW + 61_000 })
    expect(mark.now(clocks(61_001, 1000))).toEqual({ jumped: true, aheadMs: 60_001 })
    expect(mark.now(clocks(100 * HOUR, 2000))).toMatchObject({ jumped: true })
    // The clock is corrected, and the jump has had no effect.
    expect(mark.now(clocks(61_000, 3000))).toEqual({ ms: NOW + 61_000 })
  })

  test('does not let many small leaps make a large one', () => {
    const mark = createMonotonicClock()
    let jumped = false
    for (let i = 0; i <= 10 && !jumped; i++) jumped = mark.now(clocks(i * 50_000, i)).jumped === true
    expect(jumped).toBe(true)
  })

  test('is ready again after a sleep when a time from elsewhere confirms the wall clock', () => {
    const mark = createMonotonicClock()
    mark.now(clocks(0, 0))
    expect(mark.now(clocks(HOUR, 10))).toMatchObject({ jumped: true })
    mark.confirm(NOW + HOUR - 200, 20)
    expect(mark.now(clocks(HOUR, 20))).toEqual({ ms: NOW + HOUR })
  })

  test('follows a wall clock that is a little faster than the monotonic one as long as the store confirms it', () => {
    const mark = createMonotonicClock()
    for (let i = 0; i < 100; i++) {
      const now = mark.now(clocks(i * 12_000, i * 10_000))
      expect(now).toEqual({ ms: NOW + i * 12_000 })
      mark.confirm(now.ms as number, i * 10_000)
    }
  })

  test('is not made suspicious by a confirmation that comes late', () => {
    const mark = createMonotonicClock()
    mark.now(clocks(0, 0))
    mark.confirm(NOW - 59_000, 10_000)
    expect(mark.now(clocks(20_000, 10_000))).toEqual({ ms: NOW + 20_000 })
  })

  test('goes back only when an operator resets it, and says by how much', () => {
    const mark = createMonotonicClock({ confirmedMs: NOW + 10 * HOUR })
    mark.now(clocks(0, 0))
    expect(mark.reset(clocks(5, 5))).toEqual({ movedMs: 5 - 10 * HOUR })
    expect(mark.now(clocks(6, 6))).toEqual({ ms: NOW + 6 })
    mark.now(clocks(2 * HOUR, 7))
    expect(mark.reset(clocks(2 * HOUR, 8))).toEqual({ movedMs: 2 * HOUR - 6 })
    expect(mark.now(clocks(2 * HOUR, 9))).toEqual({ ms: NOW + 2 * HOUR })
    expect(createMonotonicClock().reset(clocks(0, 0))).toEqual({ movedMs: 0 })
  })

  test('throws when a clock gives no number', () => {
    const mark = createMonotonicClock()
    expect(() => mark.now({ wallMs: Number.NaN, monotonicMs: 0 })).toThrow(TypeError)
    expect(() => mark.now({ wallMs: NOW, monotonicMs: Infinity })).toThrow(TypeError)
    expect(() => mark.confirm(Number.NaN, 0)).toThrow(TypeError)
    expect(() => mark.reset({ wallMs: Number.NaN, monotonicMs: 0 })).toThrow(TypeError)
    expect(() => createMonotonicClock({ confirmedMs: Number.NaN })).toThrow(TypeError)
  })

  test('never runs back, for any movement of the clocks and across restarts that remember what was confirmed', () => {
    const step = fc.record({
      what: fc.constantFrom('now', 'now', 'now', 'confirm', 'restart'),
      elapsedMs: fc.nat(100_000),
      isAsleep: fc.boolean(),
      skewMs: fc.oneof(fc.constant(0), fc.integer({ min: -10 * HOUR, max: 10 * HOUR })),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50, size: 'max' }), (steps) => {
        let mark = createMonotonicClock()
        let trueMs = 0
        let monotonicMs = 0
        let last = Number.NEGATIVE_INFINITY
        let recorded: number | undefined
        for (const { what, elapsedMs, isAsleep, skewMs } of steps) {
          trueMs += elapsedMs
          monotonicMs += isAsleep ? 0 : elapsedMs
          const now = mark.now(clocks(trueMs + skewMs, monotonicMs))
          if (now.ms !== undefined) {
            expect(now.ms).toBeGreaterThanOrEqual(last)
            last = now.ms
          }
          if (what === 'now' || last === Number.NEGATIVE_INFINITY) continue
          recorded = last
          if (what === 'confirm') mark.confirm(recorded, monotonicMs)
          else {
            mark = createMonotonicClock({ confirmedMs: recorded })
            monotonicMs = 0
          }
        }
      }),
    )
  })
})
