import { checkEntry, type Entry, type Ppid, type Scope, SiteView, verify } from '@countersign/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { type ForgingRelay, forgingRelay } from '../forging-relay.ts'
import { outcome, show } from '../protected.ts'

const START = Date.UTC(2026, 10, 14, 12)
let site: TestSite
let relay: ForgingRelay
let guard: Guard
let credential: TestCredential
/** Another issuer for the same site, which the site does not trust. */
let untrusted: TestSite

async function start(options: Parameters<typeof createTestSite>[0] = {}) {
  site = await createTestSite({ startMs: START, ...options })
  untrusted = await createTestSite({ startMs: START })
  relay = forgingRelay(site)
  credential = await site.issue({ ttlSeconds: 86_400 })
  guard = await site.guard({
    fetch: relay.fetch,
    feedKeys: { [site.feedKey.kid]: site.feedKey.key.publicKey.multikey },
  })
  // A guard does not reload right after it has loaded.
  await site.advance(6_000)
}
beforeEach(() => start())
afterEach(async () => {
  await site.close()
  await untrusted.close()
})

const trusted = () =>
  ['issuer.trusted', untrusted.issuers[0] as NonNullable<(typeof untrusted.issuers)[0]>] as const
const shown = async (one: TestCredential, scope = 'orders:read') => outcome(show(guard, one, { scope }))

describe('A252 a forged issuer.trusted', () => {
  test('S2 is never believed, with heartbeats withheld and released in turns; repeated contradictions are a lasting problem', async () => {
    const forged = await untrusted.issue({ scope: ['admin:all'], ttlSeconds: 86_400 })
    relay.forge(trusted())
    const seen = new Set<string>()
    let accepted = 0
    for (let second = 1; second <= 60; second++) {
      await site.advance(1_000)
      seen.add(await shown(forged, 'admin:all'))
      if ((await shown(credential)) === 'allowed') accepted++
      if (second % 13 === 0) relay.release({ again: true })
    }
    expect(relay.added.length).toBeGreaterThan(3)
    expect(seen).not.toContain('allowed')
    expect(seen).toContain('issuer_untrusted')
    // The guard stays usable for the site's own credentials.
    expect(accepted).toBeGreaterThan(50)
    expect(guard.state().problem?.code).toBe('log_contradicted')
    relay.release()
    await site.advance(10_000)
    expect(guard.state()).toMatchObject({
      ready: true,
      problem: { code: 'log_contradicted', detail: expect.stringContaining('times since') },
    })
    await site.advance(600_000)
    expect(guard.state()).toMatchObject({ ready: true })
    expect(guard.state().problem).toBeUndefined()
  })

  test('control: a view that believes every entry accepts what the relay has forged', async () => {
    const forged = await untrusted.issue({ scope: ['admin:all'] })
    relay.forge(trusted())
    await site.advance(6_000)
    expect(await shown(forged, 'admin:all')).toBe('issuer_untrusted')
    const view = new SiteView({ siteId: site.log.view.siteId, entriesAreProven: true })
    for (const entry of [...site.log.entries, ...relay.added]) {
      const checked = await checkEntry(entry)
      expect(checked && view.apply(checked)).toBe('applied')
    }
    const demand = { scope: ['admin:all'] as Scope[], nowMs: site.clock.nowMs }
    expect((await verify({ header: forged.header }, demand, { site: view, ageMs: 0, ageMsMax: 1 })).ok).toBe(
      true,
    )
  })

  test('control: the same entry in the log of the site is believed with its signed head', async () => {
    const other = await untrusted.issue({ scope: ['orders:read'] })
    await site.append(...trusted())
    expect(await shown(other)).toBe('allowed')
  })
})

describe('A253 a forged grant changes nothing', () => {
  test('user.reinstated', async () => {
    await site.revokeUser('alice')
    await site.advance(2_000)
    const later = await site.issue({ user: 'alice', ttlSeconds: 86_400 })
    relay.forge([
      'user.reinstated',
      { ppid: later.ppid as Ppid, reinstated_at: new Date(site.clock.nowMs - 1_500).toISOString() },
    ])
    await site.advance(6_000)
    expect(relay.added).toHaveLength(1)
    expect(await shown(later)).toBe('credential_revoked')
    expect(
      guard.isActive({ ppid: later.ppid, credentialId: later.credentialId, verifiedAt: site.clock.nowMs }),
    ).toMatchObject({
      active: false,
    })
  })

  test('site.changed that requires no holder proof any more', async () => {
    await site.changeSite({ holder_proof: 'required' })
    expect(await shown(credential)).toBe('proof_required')
    relay.forge([
      'site.changed',
      { bearer: 'on', holder_proof: 'optional', delegation: 'on', credential_ttl_seconds_max: null },
    ])
    await site.advance(6_000)
    expect(relay.added).toHaveLength(1)
    expect(await shown(credential)).toBe('proof_required')
  })

  test('issuer.trusted with a retired key made active', async () => {
    await site.retireKey()
    await site.advance(2_000)
    const later = await site.issue({ ttlSeconds: 86_400 })
    expect(await shown(later)).toBe('issuer_untrusted')
    relay.forge(['issuer.trusted', site.issuers[0] as NonNullable<(typeof site.issuers)[0]>])
    await site.advance(6_000)
    expect(relay.added).toHaveLength(1)
    expect(await shown(later)).toBe('issuer_untrusted')
    expect(await shown(credential)).toBe('allowed')
  })

  test('issuer.trusted that grants one scope and takes another: neither is accepted until the truth is signed', async () => {
    const both = await site.issue({ scope: ['orders:read', 'orders:write'], ttlSeconds: 86_400 })
    await site.trustIssuer({ scope: ['orders:read'] as Scope[] })
    expect([await shown(both, 'orders:read'), await shown(both, 'orders:write')]).toEqual([
      'allowed',
      'scope_insufficient',
    ])
    const [state] = site.issuers
    relay.forge([
      'issuer.trusted',
      { ...(state as NonNullable<typeof state>), scope: ['orders:write'] as Scope[] },
    ])
    await site.advance(6_000)
    expect([await shown(both, 'orders:read'), await shown(both, 'orders:write')]).toEqual([
      'scope_insufficient',
      'scope_insufficient',
    ])
    relay.release()
    await site.advance(6_000)
    expect([await shown(both, 'orders:read'), await shown(both, 'orders:write')]).toEqual([
      'allowed',
      'scope_insufficient',
    ])
  })
})

describe('A256 (S5) forged entries, then a cut, then honesty', () => {
  test.each([1, 3])(
    '%i of them: good credentials are accepted again without a restart and without new entries',
    async (count) => {
      relay.forge(...Array.from({ length: count }, trusted))
      await site.advance(5_000)
      expect(relay.added).toHaveLength(count)
      expect(guard.state().seq).toBe(2 + count)
      relay.release()
      relay.cut()
      await site.advance(10_000)
      expect(site.log.head.seq).toBe(2)
      expect(guard.state()).toMatchObject({ ready: true, seq: 2, connection: 'following' })
      expect(await shown(credential)).toBe('allowed')
    },
  )

  test('a forged revocation denies while it is pending and is gone with the next signed snapshot', async () => {
    relay.forge([
      'user.revoked',
      { ppid: credential.ppid as Ppid, revoked_at: new Date(START).toISOString() },
    ])
    await site.advance(5_000)
    expect(await shown(credential)).toBe('credential_revoked')
    relay.release()
    await site.advance(10_000)
    expect(await shown(credential)).toBe('allowed')
  })
})

describe('acknowledgements', () => {
  test('name proven heads only', async () => {
    const acknowledged = () => site.service.acknowledged.get(guard.state().verifierId)
    expect(acknowledged()).toMatchObject({ seq: 2 })
    relay.withhold()
    await site.revoke(credential)
    await site.advance(5_000)
    expect(guard.state().seq).toBe(3)
    expect(await shown(credential)).toBe('credential_revoked')
    expect(acknowledged()).toMatchObject({ seq: 2 })
    relay.release()
    await site.advance(6_000)
    expect(acknowledged()).toMatchObject({ seq: 3 })
  })
})

describe('more entries than are followed without a proof', () => {
  test('make the guard load a snapshot, once', { tags: 'long' }, async () => {
    relay.withhold()
    const entries: Entry[] = []
    for (let i = 0; i < 10_001; i++) {
      const body = {
        credential_id: `cred_${String(i).padStart(26, 'b')}` as never,
        revoked_at: new Date(START).toISOString(),
      }
      entries.push(await site.log.append('credential.revoked', body, site.clock.nowMs))
    }
    const text = (entry: Entry) =>
      `id: ${entry.epoch}.${entry.seq}\nevent: ${entry.kind}\ndata: ${JSON.stringify(entry)}\n\n`
    const before = relay.count('snapshot')
    site.service.say(entries.slice(0, 10_000).map(text).join(''))
    await site.advance(1)
    expect(guard.state()).toMatchObject({ ready: true, seq: 10_002 })
    expect(relay.count('snapshot')).toBe(before)
    relay.release()
    site.service.say(entries.slice(10_000).map(text).join(''))
    await site.advance(6_000)
    expect(relay.count('snapshot')).toBe(before + 1)
    expect(guard.state()).toMatchObject({ ready: true, seq: 10_003, revocations: 10_001 })
  })
})

describe('the bound on the age', () => {
  test('is the smaller of the guard and the signed head', async () => {
    site.service.stateMaxAge(10)
    await site.service.heartbeat()
    await site.advance(1)
    const strict = await site.guard({ maxStalenessSeconds: 5 })
    await site.cutFeed()
    await site.advance(4_000)
    expect([await shown(credential), await outcome(show(strict, credential))]).toEqual(['allowed', 'allowed'])
    await site.advance(5_000)
    expect([await shown(credential), await outcome(show(strict, credential))]).toEqual([
      'allowed',
      'revocation_view_stale',
    ])
    await site.advance(2_000)
    expect(guard.state().ready).toBe(false)
    expect(await shown(credential)).toBe('revocation_view_stale')
    expect(
      guard.isActive({ ppid: credential.ppid, credentialId: credential.credentialId, verifiedAt: START }),
    ).toMatchObject({
      stale: true,
    })
  })
})
