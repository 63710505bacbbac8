import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMemoryNonces, type NonceUse } from '../../src/holder/nonces.ts'
import { runs } from '../runs.ts'

const START_MS = Date.UTC(2026, 10, 14, 12, 0, 0, 500)
const use = (more: Partial<NonceUse> = {}): NonceUse => {
  const { nowMs = START_MS + 60_000, createdMs = Math.floor(nowMs / 1000) * 1000 } = more
  return {
    holderKey: 'zHolder',
    nonce: 'n'.repeat(24),
    nowMs,
    createdMs,
    usableUntilMs: createdMs + 60_001,
    ...more,
  }
}

describe('nonces in memory', () => {
  test('pass once for each holder', () => {
    const nonces = createMemoryNonces({ startedAtMs: START_MS })
    expect(nonces.consume(use())).toBe('fresh')
    expect(nonces.consume(use())).toBe('replayed')
    expect(nonces.consume(use({ nonce: 'm'.repeat(24) }))).toBe('fresh')
    expect(nonces.consume(use({ holderKey: 'zOther' }))).toBe('fresh')
    expect(nonces.consume(use({ createdMs: START_MS + 59_500 }))).toBe('replayed')
  })

  test('reject everything that an earlier process may have accepted, the second of the start included', () => {
    const created = (createdMs: number, options = {}) =>
      createMemoryNonces({ startedAtMs: START_MS, ...options }).consume(
        use({ createdMs, nowMs: Math.max(START_MS, createdMs) }),
      )
    const startSecondMs = START_MS - 500
    expect([0, 1000, 10_000, 11_000].map((ms) => created(startSecondMs + ms))).toEqual([
      'rejected',
      'rejected',
      'rejected',
      'fresh',
    ])
    expect([-1000, 0, 1000].map((ms) => created(startSecondMs + ms, { aheadMsMax: 0 }))).toEqual([
      'rejected',
      'rejected',
      'fresh',
    ])
    expect([0, 2000, 3000].map((ms) => created(startSecondMs + ms, { aheadMsMax: 2000 }))).toEqual([
      'rejected',
      'rejected',
      'fresh',
    ])
    expect(created(startSecondMs, { startedAtMs: startSecondMs, aheadMsMax: 0 })).toBe('rejected')
  })

  test('pass at once where there was no earlier process', () => {
    expect(createMemoryNonces({ startedAtMs: -Infinity }).consume(use({ createdMs: 0 }))).toBe('fresh')
  })

  test('reject what is further ahead than a later process would account for', () => {
    const nowMs = START_MS + 60_000
    const nonces = createMemoryNonces({ startedAtMs: START_MS, aheadMsMax: 2000 })
    expect(nonces.consume(use({ nowMs, createdMs: nowMs + 2001 }))).toBe('rejected')
    expect(nonces.consume(use({ nowMs, createdMs: nowMs + 2000 }))).toBe('fresh')
  })

  test('move the bar up instead of forgetting, when there are too many', () => {
    const nonces = createMemoryNonces({ startedAtMs: START_MS, capacity: 8 })
    const nowMs = START_MS + 60_500
    const at = (i: number) => use({ nonce: `nonce-${i}`, nowMs, createdMs: nowMs - 20_000 + i * 1000 })
    for (let i = 0; i < 8; i++) expect(nonces.consume(at(i))).toBe('fresh')
    for (let i = 0; i < 8; i++) expect(nonces.consume(at(i))).toBe('replayed')
    expect(nonces.consume(at(8))).toBe('fresh')
    expect(nonces.consume(at(0))).toBe('rejected')
    expect(nonces.consume({ ...at(0), nonce: 'an honest one of the same second' })).toBe('rejected')
    expect(nonces.consume(at(1))).toBe('replayed')
    expect(
      nonces.consume({ ...at(1), nonce: 'one of the second that must be forgotten to make room for it' }),
    ).toBe('rejected')
    expect(nonces.consume(at(8))).toBe('replayed')
    expect(nonces.consume(at(9))).toBe('fresh')
  })

  test('reject times that are not numbers', () => {
    const nonces = createMemoryNonces({ startedAtMs: START_MS })
    expect(nonces.consume(use({ createdMs: Number.NaN }))).toBe('rejected')
    expect(nonces.consume(use({ nowMs: Number.NaN, createdMs: START_MS + 60_000 }))).toBe('rejected')
  })

  test.each([
    { startedAtMs: Number.NaN },
    { startedAtMs: Infinity },
    { startedAtMs: START_MS, aheadMsMax: -1 },
    { startedAtMs: START_MS, aheadMsMax: 10_001 },
    { startedAtMs: START_MS, aheadMsMax: Number.NaN },
    { startedAtMs: START_MS, capacity: 7 },
    { startedAtMs: START_MS, capacity: 8.5 },
    { startedAtMs: START_MS, capacity: Infinity },
  ])('throw a TypeError for %j', (options) => expect(() => createMemoryNonces(options)).toThrow(TypeError))

  test('remember a nonce for as long as its proof can be used, and then no more', () => {
    const nonces = createMemoryNonces({ startedAtMs: START_MS })
    const consumeAfter = (afterMs: number, nonce?: string) =>
      nonces.consume(use({ nowMs: START_MS + 60_000 + afterMs, nonce: nonce ?? `${afterMs}` }))
    expect(consumeAfter(0, 'once')).toBe('fresh')
    for (let afterMs = 10_000; afterMs <= 70_000; afterMs += 10_000) {
      expect(consumeAfter(afterMs)).toBe('fresh')
      expect(consumeAfter(afterMs, 'once')).toBe('replayed')
    }
    for (let afterMs = 80_000; afterMs <= 200_000; afterMs += 10_000)
      expect(consumeAfter(afterMs)).toBe('fresh')
    expect(consumeAfter(200_000, 'once')).toBe('fresh')
  })

  test.each([1, 5, 7, 8, 9, 10, 11, 12, 13, 30, 90])(
    'reject no proof of the last minute when one comes from ahead every %i s',
    (seconds) => {
      const nonces = createMemoryNonces({ startedAtMs: START_MS })
      for (let i = 0; i < 150; i++) {
        const nowMs = START_MS + 71_000 + i * seconds * 1000
        expect(nonces.consume(use({ nonce: `ahead-${i}`, nowMs, createdMs: nowMs + 10_000 }))).toBe('fresh')
        expect(nonces.consume(use({ nonce: `late-${i}`, nowMs, createdMs: nowMs - 60_000 }))).toBe('fresh')
      }
    },
  )

  test('let no proof pass twice, whatever the clock, the load and restarts do', () => {
    const PROOFS = 40
    const step = fc.oneof(
      { weight: 30, arbitrary: fc.record({ kind: fc.constant('use' as const), proof: fc.nat(PROOFS - 1) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('clock' as const),
          byMs: fc.oneof(fc.constantFrom(500, 1000, 12_000, -1), fc.integer({ min: -90_000, max: 90_000 })),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
    )
    const created = fc.oneof(fc.integer({ min: -12, max: 12 }), fc.integer({ min: -60, max: 90 }))
    const setup = fc.record({
      createdSeconds: fc.array(created, { minLength: PROOFS, maxLength: PROOFS }),
      aheadMsMax: fc.constantFrom(0, 2000, 10_000),
      capacity: fc.constantFrom(8, 16, 24),
    })
    fc.assert(
      fc.property(
        setup,
        fc.array(step, { maxLength: 150, size: 'max' }),
        ({ createdSeconds, aheadMsMax, capacity }, steps) => {
          const open = (startedAtMs: number) => createMemoryNonces({ startedAtMs, aheadMsMax, capacity })
          let nowMs = START_MS
          let latestMs = nowMs
          let nonces = open(nowMs - 200_000)
          const fresh = new Set<number>()
          for (const step of steps) {
            if (step.kind === 'clock') nowMs += step.byMs
            latestMs = Math.max(latestMs, nowMs)
            if (step.kind === 'restart') {
              nowMs = latestMs
              nonces = open(nowMs)
            }
            if (step.kind !== 'use') continue
            const createdMs = START_MS - 500 + (createdSeconds[step.proof] as number) * 1000
            const answer = nonces.consume(use({ nonce: `proof-${step.proof}`, createdMs, nowMs }))
            if (answer !== 'fresh') continue
            expect(fresh.has(step.proof)).toBe(false)
            fresh.add(step.proof)
          }
        },
      ),
      { numRuns: runs(3000) },
    )
  })

  test('reject no proof that is young enough while there is room', () => {
    const arrival = fc.record({
      afterMs: fc.integer({ min: 0, max: 30_000 }),
      ageMs: fc.integer({ min: -10_000, max: 60_000 }),
    })
    fc.assert(
      fc.property(fc.array(arrival, { maxLength: 200 }), (arrivals) => {
        const nonces = createMemoryNonces({ startedAtMs: START_MS, capacity: 8 * 200 })
        let nowMs = START_MS + 71_000
        const uses = arrivals.map(({ afterMs, ageMs }, i) => {
          nowMs += afterMs
          return use({ nonce: `nonce-${i}`, nowMs, createdMs: nowMs - ageMs })
        })
        for (const [i, one] of uses.entries()) {
          expect(nonces.consume(one)).toBe('fresh')
          for (const earlier of uses.slice(Math.max(0, i - 20), i + 1)) {
            if (earlier.usableUntilMs > one.nowMs)
              expect(nonces.consume({ ...earlier, nowMs: one.nowMs })).toBe('replayed')
          }
        }
      }),
      { numRuns: runs(200) },
    )
  })
})
