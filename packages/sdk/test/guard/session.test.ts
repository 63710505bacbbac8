import { afterEach, beforeEach, expect, test } from 'vitest'
import { createGuard, type Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'

let site: TestSite
let guard: Guard
let credential: TestCredential
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  guard = await site.guard()
  credential = await site.issue()
})
afterEach(() => site.close())

const session = (changes: object = {}) => ({
  ppid: credential.ppid,
  credentialId: credential.credentialId,
  verifiedAt: '2026-11-14T12:00:00Z',
  ...changes,
})

test('a session goes on while its credential and its user do, and says how fresh that is', () => {
  expect(guard.isActive(session())).toEqual({
    active: true,
    stale: false,
    view: { epoch: site.log.head.epoch, seq: 2, ageMs: 0 },
  })
})

test('it ends with its credential', async () => {
  await site.revoke(credential)
  expect(guard.isActive(session())).toMatchObject({ active: false, stale: false, code: 'credential_revoked' })
  expect(guard.isActive(session({ credentialId: 'cred_another01' }))).toMatchObject({ active: true })
})

test('it ends with its user; after a reinstatement only a new sign-in counts', async () => {
  await site.revokeUser('alice')
  expect(guard.isActive(session())).toMatchObject({ active: false, code: 'credential_revoked' })
  await site.advance(5_000)
  await site.reinstateUser('alice')
  expect(guard.isActive(session())).toMatchObject({ active: false, code: 'credential_revoked' })
  expect(
    guard.isActive(session({ verifiedAt: '2026-11-14T12:00:06Z', credentialId: 'cred_another01' })),
  ).toMatchObject({ active: true })
  expect(
    guard.isActive(session({ verifiedAt: Date.UTC(2026, 10, 14, 12, 0, 4), credentialId: 'cred_another01' })),
  ).toMatchObject({
    active: false,
  })
})

test('it ends with the end of its credential, at the very millisecond', { tags: 'long' }, async () => {
  const expiresAt = '2026-11-14T13:00:00Z'
  await site.advance(3_599_999)
  expect(guard.isActive(session({ expiresAt }))).toMatchObject({ active: true })
  await site.advance(1)
  expect(guard.isActive(session({ expiresAt }))).toMatchObject({ active: false, code: 'credential_expired' })
  expect(guard.isActive(session({ expiresAt: Date.UTC(2026, 10, 14, 13) }))).toMatchObject({
    active: false,
    code: 'credential_expired',
  })
})

test('it is not active, and said to be stale, while it cannot be known', async () => {
  await site.cutFeed()
  await site.advance(30_000)
  expect(guard.isActive(session())).toMatchObject({ active: true, stale: false })
  await site.advance(1)
  expect(guard.isActive(session())).toMatchObject({
    active: false,
    stale: true,
    code: 'revocation_view_stale',
  })
  const blind = createGuard(site.guardOptions)
  expect(blind.isActive(session())).toMatchObject({
    active: false,
    stale: true,
    code: 'revocation_view_stale',
  })
  await blind.close()
})

test.each([
  { ppid: 'alice' },
  { credentialId: 'cred_' },
  { verifiedAt: 'yesterday' },
  { verifiedAt: Number.NaN },
  { verifiedAt: undefined },
  { expiresAt: 'never' },
])('a session with %j is a mistake, not an active session', (wrong) => {
  expect(() => guard.isActive(session(wrong))).toThrow(TypeError)
})

test('it ends with a parent credential, a holder key, and a cut-off of its issuer or the site', async () => {
  const [{ issuer = '' } = {}] = site.issuers
  const thumbprint = 'x'.repeat(43)
  const whole = session({
    issuer,
    oldestCreatedAt: '2026-11-14T11:00:00Z',
    credentialChain: [credential.credentialId, 'cred_parent00001'],
    holderThumbprints: [thumbprint],
  })
  expect(guard.isActive(whole)).toMatchObject({ active: true })
  for (const end of [
    () => site.revoke('cred_parent00001'),
    () => site.revokeHolder(thumbprint),
    () => site.cutOffIssuer(),
  ]) {
    await end()
    expect(guard.isActive(whole)).toMatchObject({ active: false, code: 'credential_revoked' })
    expect(guard.isActive(session())).toMatchObject({ active: true })
  }
  await site.cutOffSite()
  expect(guard.isActive(session())).toMatchObject({ active: false, code: 'credential_revoked' })
})

test('a cut-off compares the time at which the credential was signed', async () => {
  const [{ issuer = '' } = {}] = site.issuers
  await site.append('issuer.cut_off', { issuer, before: '2026-11-14T11:30:00Z' })
  expect(guard.isActive(session({ issuer }))).toMatchObject({ active: true })
  expect(guard.isActive(session({ issuer, oldestCreatedAt: '2026-11-14T11:30:00Z' }))).toMatchObject({
    active: false,
  })
})
