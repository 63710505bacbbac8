import { expect, test } from 'vitest'
import { fuzz } from './fuzz.ts'

test('6,000 mutated credentials: none accepted, nothing thrown, and the mutants get past the first check', async () => {
  const report = await fuzz({ count: 6000, seed: 20_261_114 })
  expect(report.faults).toEqual([])
  expect(report.tried).toBe(6000)
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

test('control arm: a memory that gives every digest the last good answer is caught', async () => {
  const report = await fuzz({
    count: 200,
    seed: 1,
    memory: (honest) => {
      let last: string | undefined
      return {
        size: 0,
        digest: (header) => honest.digest(header),
        notedDigest: (header) => honest.notedDigest(header),
        note: (header, digest) => honest.note(header, digest),
        forgetTexts: () => honest.forgetTexts(),
        find: (digest) => honest.find(last ?? digest),
        remember: (digest, credential, key) => {
          last ??= digest
          honest.remember(digest, credential, key)
        },
      }
    },
  })
  expect(report.faults.length).toBeGreaterThan(0)
})

test('control arm: a memory that takes texts of the same length for the same is caught', async () => {
  const report = await fuzz({
    count: 200,
    seed: 1,
    memory: (honest) => {
      const noted = new Map<number, string>()
      return {
        size: 0,
        digest: (header) => honest.digest(header),
        notedDigest: (header) => noted.get(header.length),
        note: (header, digest) => void noted.set(header.length, digest),
        forgetTexts: () => noted.clear(),
        find: (digest) => honest.find(digest),
        remember: (digest, credential, key) => honest.remember(digest, credential, key),
      }
    },
  })
  expect(report.faults.length).toBeGreaterThan(0)
})
