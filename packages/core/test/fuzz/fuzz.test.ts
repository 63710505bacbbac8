import { expect, test } from 'vitest'
import { fuzz } from './fuzz.ts'

// `npm run fuzz` runs a million.

test('2,000 mutated credentials: none accepted, nothing thrown, and the mutants get past the first check', {
  tags: 'long',
}, async () => {
  const report = await fuzz({ count: 2000, seed: 20_261_114 })
  expect(report.faults).toEqual([])
  expect(report.tried).toBe(2000)
  // A fuzzer whose mutants all fail to parse would prove nothing.
  for (const code of [
    'credential_malformed',
    'credential_unsupported',
    'issuer_untrusted',
    'credential_signature_invalid',
    'delegation_invalid',
  ]) {
    expect(report.codes[code], code).toBeGreaterThan(20)
  }
  expect(report.unchanged).toBeGreaterThan(0)
})

test('control arm: a cache that gives every digest the last good answer is caught', async () => {
  const report = await fuzz({
    count: 200,
    seed: 1,
    cache: (honest) => {
      let last: string | undefined
      return {
        jwts: honest.jwts,
        digest: (header) => honest.digest(header),
        findDigest: (header) => honest.findDigest(header),
        memoize: (header, digest) => honest.memoize(header, digest),
        find: (digest) => honest.find(last ?? digest),
        set: (digest, credential, key) => {
          last ??= digest
          return honest.set(digest, credential, key, [])
        },
      }
    },
  })
  expect(report.faults.length).toBeGreaterThan(0)
})

test('control arm: a cache that takes texts of the same length for the same is caught', async () => {
  const report = await fuzz({
    count: 200,
    seed: 1,
    cache: (honest) => {
      const noted = new Map<number, string>()
      return {
        jwts: honest.jwts,
        digest: (header) => honest.digest(header),
        findDigest: (header) => noted.get(header.length),
        memoize: (header, digest) => void noted.set(header.length, digest),
        find: (digest) => honest.find(digest),
        set: (digest, credential, key) => honest.set(digest, credential, key, []),
      }
    },
  })
  expect(report.faults.length).toBeGreaterThan(0)
})
