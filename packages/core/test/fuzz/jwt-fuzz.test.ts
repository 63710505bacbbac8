import { expect, test } from 'vitest'
import { fuzzJwts } from './jwt-fuzz.ts'

// `npm run fuzz -- --of tokens` runs a million.

test('mutated access tokens are rejected, with the same answer with and without a cache', {
  tags: 'long',
}, async () => {
  const report = await fuzzJwts({ count: 1000, seed: 7 })
  expect(report.faults).toEqual([])
  expect(report.codes.token_invalid).toBeGreaterThan(667)
  expect(report.unchanged).toBeGreaterThan(0)
  expect(report.twins).toBeGreaterThan(0)
})

test('control arm: a verifier that takes the claims of mutants for those of tokens is caught', async () => {
  const show = (mutant: string, { texts }: { texts: readonly string[] }) =>
    texts.find((text) => text.split('.')[2] === mutant.split('.')[2]) ?? mutant
  const report = await fuzzJwts({ count: 100, seed: 7, show })
  expect(report.faults.length).toBeGreaterThan(0)
})
