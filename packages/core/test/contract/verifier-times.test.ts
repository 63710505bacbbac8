import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseVerifierTimes } from '../../src/contract/headers.ts'
import { limits } from '../../src/contract/limits.ts'
import { runs } from '../runs.ts'

test('a report of a verifier is read as it was written', () => {
  const times = fc
    .uniqueArray(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), {
      minLength: 1,
      maxLength: limits.verifier_times_max,
    })
    .chain((seqs) =>
      fc.tuple(
        ...seqs
          .sort((one, other) => one - other)
          .map((seq) => fc.record({ seq: fc.constant(seq), agoMs: fc.integer({ min: 0, max: 3_600_000 }) })),
      ),
    )
  fc.assert(
    fc.property(times, (given) => {
      const text = given.map(({ seq, agoMs }) => `${seq}=${agoMs}`).join(', ')
      expect(parseVerifierTimes(text, Number.MAX_SAFE_INTEGER)).toEqual(given)
      // One entry beyond what is acknowledged makes the whole report worthless.
      expect(parseVerifierTimes(text, (given.at(-1)?.seq ?? 1) - 1)).toEqual([])
    }),
  )
})

test('anything else gives few and valid times, or none', () => {
  const texts = fc.oneof(fc.string(), fc.stringMatching(/^[0-9=, -]{0,60}$/))
  fc.assert(
    fc.property(texts, fc.integer({ min: 0, max: 1000 }), (text, seqMax) => {
      const times = parseVerifierTimes(text, seqMax)
      expect(times.length).toBeLessThanOrEqual(limits.verifier_times_max)
      for (const [i, { seq, agoMs }] of times.entries()) {
        expect(seq).toBeLessThanOrEqual(seqMax)
        expect(seq).toBeGreaterThan(times[i - 1]?.seq ?? 0)
        expect(agoMs).toBeLessThanOrEqual(limits.verifier_time_ms_max)
      }
    }),
    { numRuns: runs(2000) },
  )
  expect(parseVerifierTimes(undefined, 9)).toEqual([])
  expect(parseVerifierTimes('1=0'.padEnd(1000), 9)).toEqual([])
})
