import { expect, test } from 'vitest'
import { agree } from './agreement.ts'

/** `npm run agreement` compares a million. */
const COUNT = 8_000

test(`the guard and the service say the same about ${COUNT} random presentations while the log goes on (I-10, I-14)`, async () => {
  const { compared, codes, lags, disagreements } = await agree({ count: COUNT, seed: 20_261_115 })
  expect(disagreements.slice(0, 5)).toEqual([])
  expect(compared).toBe(COUNT)
  // It is worth something only if most answers there are were among them.
  for (const code of [
    'allowed',
    'auth_ambiguous',
    'bearer_disabled',
    'credential_expired',
    'credential_malformed',
    'credential_missing',
    'credential_revoked',
    'credential_signature_invalid',
    'issuer_untrusted',
    'proof_invalid',
    'proof_replayed',
    'proof_required',
    'scope_insufficient',
    'site_mismatch',
    'token_invalid',
  ]) {
    expect(codes[code], code).toBeGreaterThan(2)
  }
  expect(lags).toBeLessThan(COUNT / 20)
}, 600_000)

test('control: one answer in a thousand that is another is seen', { tags: 'long' }, async () => {
  const { disagreements } = await agree({
    count: 5_000,
    seed: 7,
    bend: (code, random) =>
      random.oneIn(1_000) ? (code === 'allowed' ? 'credential_revoked' : 'allowed') : code,
  })
  expect(disagreements.length).toBeGreaterThan(0)
})
