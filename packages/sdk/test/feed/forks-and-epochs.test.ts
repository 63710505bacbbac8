import {
  type CredentialId,
  type Entry,
  type EpochStatement,
  type EpochStatementFields,
  formatTime,
  GENESIS_HASH,
  generatePrivateKey,
  type Ppid,
  sha256Hex,
  signEpochStatement,
  signSnapshot,
} from '@countersign/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createGuard } from '../../src/guard/guard.ts'
import type { GuardState } from '../../src/guard/state.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { forgingRelay } from '../forging-relay.ts'
import { meddled } from '../network.ts'
import { outcome, show } from '../protected.ts'

let site: TestSite
let revoked: TestCredential
let good: TestCredential
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  revoked = await site.issue({ user: 'alice', ttlSeconds: 86_400 })
  good = await site.issue({ user: 'bob', ttlSeconds: 86_400 })
})
afterEach(() => site.close())

/** Entries of other users, until the log is longer than it was. */
async function revokeOthers(count: number) {
  for (let i = 0; i < count; i++) await site.revoke(`cred_${String(i).padStart(26, 'x')}`)
}

describe('A258 (B1) another history of the same epoch', () => {
  test('is never believed, shorter or longer: the guard shows both heads and says what to do', async () => {
    const guard = await site.guard()
    await site.revoke(revoked)
    expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
    const proven = site.log.head

    await site.restore({ keepEpoch: true })
    await site.advance(60_000)
    expect(guard.state()).toMatchObject({
      ready: false,
      problem: { code: 'lower_head' },
      fork: { proven, offered: site.log.head },
    })
    await revokeOthers(3)
    await site.advance(120_000)
    expect(site.log.head.seq).toBeGreaterThan(proven.seq)
    expect(guard.state()).toMatchObject({
      ready: false,
      problem: { code: 'fork' },
      fork: { proven, offered: site.log.head },
    })
    expect(guard.state().problem?.detail).toContain('countersign accept-rollback')
    for (const credential of [revoked, good])
      expect(await outcome(show(guard, credential))).toBe('revocation_view_stale')

    // The remedy: a new epoch. What the guard has proof of stays revoked.
    await site.restore()
    await site.advance(40_000)
    expect(guard.state()).toMatchObject({ ready: true, carriedRevocations: 1 })
    expect(guard.state()).not.toHaveProperty('fork')
    expect(guard.state().problem).toBeUndefined()
    expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
    expect(await outcome(show(guard, good))).toBe('allowed')
  })

  test('control: a guard without a proven head follows it', async () => {
    await site.revoke(revoked)
    await site.restore({ keepEpoch: true })
    await revokeOthers(3)
    const guard = await site.guard()
    expect(await outcome(show(guard, revoked))).toBe('allowed')
  })

  test('the entry at the proven head is asked for before a snapshot with a higher head is loaded', async () => {
    const feeds: string[] = []
    let isBroken = false
    const fetch = meddled(site.service.fetch, {
      before: (path, init) => {
        const cursor = new Headers(init.headers).get('last-event-id') ?? ''
        if (!path.endsWith('/feed')) return undefined
        feeds.push(cursor)
        // The service no longer goes on from here: 409, as after a forged entry.
        return isBroken && cursor.endsWith('.3') ? problem(409) : undefined
      },
    })
    const guard = await site.guard({ fetch })
    await site.revoke(revoked)
    await site.cutFeed()
    await revokeOthers(2)
    isBroken = true
    await site.repairFeed()
    await site.advance(20_000)
    expect(guard.state()).toMatchObject({ ready: true, seq: 5 })
    expect(feeds.map((cursor) => cursor.split('.')[1])).toEqual(expect.arrayContaining(['3', '2', '5']))
    expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
  })

  test('a relay that answers with the entry, which it has kept, for a service that was set back makes no proven revocation vanish', async () => {
    let kept = ''
    let isLying = false
    const fetch = meddled(site.service.fetch, {
      before: (path, init) => {
        const cursor = new Headers(init.headers).get('last-event-id') ?? ''
        if (!isLying || !path.endsWith('/feed')) return undefined
        const [, seq] = cursor.split('.')
        if (seq !== '3' && seq !== '4') return undefined
        return seq === '4' ? problem(409) : stream(kept)
      },
    })
    const guard = await site.guard({ fetch })
    const other = await site.issue({ user: 'carol' })
    await site.revokeUser('bob')
    await site.revoke(revoked)
    kept = sseText(site.log.entries.at(-1))
    expect(guard.state().seq).toBe(4)
    await site.advance(6_000)

    isLying = true
    await site.restore({ keepEpoch: true })
    await revokeOthers(4)
    await site.advance(20_000)
    expect(guard.state()).toMatchObject({ ready: true, seq: 6, carriedRevocations: 2 })
    expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
    expect(await outcome(show(guard, good))).toBe('credential_revoked')
    expect(await outcome(show(guard, other))).toBe('allowed')
    // Control: a guard without a proof believes the service.
    expect(await outcome(show(await site.guard(), revoked))).toBe('allowed')
  })

  test('a relay that answers with 410 although the signed base is lower makes the guard load nothing', async () => {
    let isLying = false
    const fetch = meddled(site.service.fetch, {
      before: (path) => (isLying && path.endsWith('/feed') ? problem(410) : undefined),
    })
    const guard = await site.guard({ fetch })
    await site.revoke(revoked)
    const proven = site.log.head
    await site.advance(6_000)
    isLying = true
    await site.restore({ keepEpoch: true })
    await revokeOthers(4)
    await site.advance(60_000)
    expect(guard.state()).toMatchObject({ ready: false, seq: 3 })
    expect(guard.state()).not.toHaveProperty('carriedRevocations')
    expect(await outcome(show(guard, good))).toBe('revocation_view_stale')
    // Control: the service itself shows another entry there.
    isLying = false
    await site.advance(60_000)
    expect(guard.state()).toMatchObject({ ready: false, problem: { code: 'fork' }, fork: { proven } })
  })

  test('a node that lags behind another is not taken for a fork', async () => {
    let isLagging = false
    const fetch = meddled(site.service.fetch, {
      before: async (path) => {
        if (!isLagging || !path.endsWith('/snapshot')) return undefined
        isLagging = false
        return oldSnapshot
      },
    })
    const old = await site.service.fetch(`https://countersign.test/api/sites/${site.siteId}/snapshot`, {
      headers: { 'x-api-key': 'svc_sk_test' },
    })
    const oldSnapshot = new Response(await old.arrayBuffer(), {
      headers: { 'content-type': 'application/x-ndjson' },
    })
    const states: GuardState[] = []
    const guard = await site.guard({ fetch, onStateChange: (state) => states.push(state) })
    await site.advance(6_000)
    await site.revoke(revoked)
    isLagging = true
    site.service.say('event: credential.revoked\ndata: {}\n\n')
    await site.advance(10_000)
    expect(states.map(({ problem }) => problem?.code)).toContain('node_behind')
    expect(states.some(({ fork }) => fork !== undefined)).toBe(false)
    expect(guard.state()).toMatchObject({ ready: true, seq: 3 })
  })
})

describe('A192 a guard that is older than the base of the log', () => {
  test('loads a snapshot, says so for ten minutes, and follows the log', async () => {
    const guard = await site.guard()
    await site.cutFeed()
    await site.revoke(revoked)
    await revokeOthers(2)
    site.service.forgetEntries()
    await site.repairFeed()
    await site.advance(20_000)
    expect(guard.state()).toMatchObject({
      ready: true,
      seq: 5,
      connection: 'following',
      problem: { code: 'older_than_base', detail: expect.stringContaining('kept the 0 revocations') },
    })
    expect(guard.state()).not.toHaveProperty('carriedRevocations')
    expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
    await site.revoke(good)
    expect(await outcome(show(guard, good))).toBe('credential_revoked')
    await site.advance(600_000)
    expect(guard.state()).toMatchObject({ ready: true, seq: 6 })
    expect(guard.state()).not.toHaveProperty('problem')
  })

  test('keeps what the log lacks, and prints both', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { onStateChange: _, ...options } = site.guardOptions
    const guard = createGuard(options)
    try {
      await guard.ready()
      await site.revoke(revoked)
      await site.cutFeed()
      await site.restore({ keepEpoch: true })
      await revokeOthers(4)
      site.service.forgetEntries()
      await site.repairFeed()
      await site.advance(20_000)
      expect(guard.state()).toMatchObject({
        ready: true,
        seq: 6,
        carriedRevocations: 1,
        problem: { code: 'older_than_base', detail: expect.stringContaining('kept the 1 revocations') },
      })
      expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
      expect(await outcome(show(guard, good))).toBe('allowed')
      const printed = warn.mock.calls.map(([text]) => String(text))
      expect(printed.filter((text) => text.includes('older_than_base'))).toHaveLength(1)
      expect(printed.some((text) => text.includes('lacks 1 revocations'))).toBe(true)
    } finally {
      warn.mockRestore()
      await guard.close()
    }
  })

  test('control: a guard whose proven entry is the base says nothing', async () => {
    const guard = await site.guard()
    site.service.forgetEntries()
    await site.cutFeed()
    await revokeOthers(2)
    await site.repairFeed()
    site.service.say('event: credential.revoked\ndata: {}\n\n')
    await site.advance(20_000)
    expect(guard.state()).toMatchObject({ ready: true, seq: 4 })
    expect(guard.state()).not.toHaveProperty('problem')
  })

  test('finds a store that was set back by the hash of the base', async () => {
    const guard = await site.guard()
    await site.revoke(revoked)
    await site.cutFeed()
    await site.restore({ keepEpoch: true })
    await revokeOthers(1)
    site.service.forgetEntries()
    await revokeOthers(2)
    await site.repairFeed()
    await site.advance(20_000)
    expect(guard.state()).toMatchObject({ ready: false, seq: 3, problem: { code: 'fork' } })
  })
})

describe('A259 a new epoch', () => {
  test('that no signed statement leads to is never followed, and the guard says so', async () => {
    const guard = await site.guard()
    const { epoch } = guard.state()
    await site.restore({ isUnannounced: true })
    await site.advance(300_000)
    expect(guard.state()).toMatchObject({ ready: false, epoch, problem: { code: 'epoch_unlinked' } })
    expect(guard.state().problem?.detail).toContain('restart the guard')
    expect(await outcome(show(guard, good))).toBe('revocation_view_stale')
    // A guard that starts now has nothing to compare with.
    expect(await outcome(show(await site.guard(), good))).toBe('allowed')
  })

  test.each([
    ['signed by the feed key, as a control', 'feed', {}, 'following'],
    ['signed by another key', 'other', {}, 'epoch_unlinked'],
    ['of another site', 'feed', { site_id: 'other.example' }, 'epoch_unlinked'],
    [
      'that continues another epoch',
      'feed',
      { previous: { epoch: 'otherepoch', seq: 2, hash: '0'.repeat(64) } },
      'epoch_unlinked',
    ],
  ])('with a statement %s', async (_, signer, changes, expected) => {
    let isRewritten = false
    const fetch = meddled(site.service.fetch, {
      before: (path) =>
        isRewritten && path.endsWith('/snapshot') ? snapshotWith(statement, site) : undefined,
    })
    const guard = await site.guard({ fetch })
    const { epoch, seq, hash } = site.log.head
    isRewritten = true
    await site.restore({ isUnannounced: true })
    const key = signer === 'feed' ? site.feedKey.key : await generatePrivateKey('Ed25519')
    const fields = {
      site_id: site.log.view.siteId,
      epoch: site.log.head.epoch,
      at: formatTime(site.clock.nowMs),
      kid: site.feedKey.kid,
    }
    const statement = await signEpochStatement(
      { ...fields, previous: { epoch, seq, hash }, ...changes } as EpochStatementFields,
      key,
    )
    await site.advance(40_000)
    const { ready, connection, problem: told } = guard.state()
    expect(told?.code ?? connection).toBe(expected)
    expect(ready).toBe(expected === 'following')
  })

  test('that lacks proven revocations is followed: they stay revoked here and their number is reported', async () => {
    const states: GuardState[] = []
    const guard = await site.guard({ onStateChange: (state) => states.push(state) })
    const token = await site.exchange(await site.issue({ user: 'carol' }))
    await site.revoke(revoked)
    await site.revokeUser('bob')
    await site.revokeToken(token)
    const { epoch } = guard.state()
    await site.restore()
    await site.advance(10_000)
    expect(guard.state()).toMatchObject({ ready: true, carriedRevocations: 3 })
    expect(guard.state().epoch).not.toBe(epoch)
    expect(states.at(-1)).toMatchObject({ carriedRevocations: 3 })
    expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
    expect(await outcome(show(guard, good))).toBe('credential_revoked')
    expect(await outcome(show(guard, await site.issue({ user: 'bob' })))).toBe('credential_revoked')
    // Control: a guard that never saw them accepts.
    expect(await outcome(show(await site.guard(), revoked))).toBe('allowed')

    // A second change of epochs, and a snapshot of the same epoch, keep them too.
    await site.restore()
    await site.advance(10_000)
    site.service.say('event: credential.revoked\ndata: {}\n\n')
    await site.advance(10_000)
    expect(guard.state()).toMatchObject({ ready: true, carriedRevocations: 3 })
    expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
    expect(await outcome(show(guard, good))).toBe('credential_revoked')

    // A reinstatement in the new epoch lifts that of the user; a revocation there takes the place
    // of the carried one.
    await site.reinstateUser('bob')
    await site.revoke(revoked)
    await site.advance(2_000)
    expect(guard.state()).toMatchObject({ carriedRevocations: 1 })
    expect(await outcome(show(guard, good))).toBe('credential_revoked')
    expect(await outcome(show(guard, await site.issue({ user: 'bob' })))).toBe('allowed')
    expect(await outcome(show(guard, revoked))).toBe('credential_revoked')
  })

  test('does not keep a revocation that nothing has proven', async () => {
    const relay = forgingRelay(site)
    const guard = await site.guard({ fetch: relay.fetch })
    relay.forge(
      ['user.revoked', { ppid: good.ppid as Ppid, revoked_at: formatTime(site.clock.nowMs) }],
      [
        'credential.revoked',
        { credential_id: good.credentialId as CredentialId, revoked_at: formatTime(site.clock.nowMs) },
      ],
    )
    await site.advance(6_000)
    expect(await outcome(show(guard, good))).toBe('credential_revoked')
    await site.restore()
    relay.release()
    await site.advance(10_000)
    expect(guard.state()).toMatchObject({ ready: true })
    expect(guard.state()).not.toHaveProperty('carriedRevocations')
    expect(await outcome(show(guard, good))).toBe('allowed')
  })

  test('without a listener the console shows how many are carried', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { onStateChange: _, ...options } = site.guardOptions
    const guard = createGuard(options)
    try {
      await guard.ready()
      await site.revoke(revoked)
      await site.advance(1_000)
      await site.restore()
      await site.advance(10_000)
      expect(guard.state()).toMatchObject({ ready: true, carriedRevocations: 1 })
      expect(
        warn.mock.calls.flat().filter((text) => String(text).includes('lacks 1 revocations')),
      ).toHaveLength(1)
    } finally {
      warn.mockRestore()
      await guard.close()
    }
  })
})

/** A snapshot of the site's log with this statement, signed by its feed key. */
async function snapshotWith(statement: EpochStatement, { log, clock, feedKey }: TestSite): Promise<Response> {
  const head = {
    type: 'head',
    site_id: log.view.siteId,
    ...log.head,
    as_of: formatTime(clock.nowMs),
    max_age_seconds: 60,
    base: { seq: 0, hash: GENESIS_HASH },
  } as const
  const lines = [head, { type: 'epoch', ...statement }, ...log.lines()]
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const end = await signSnapshot(
    head,
    { lines: lines.length, sha256: await sha256Hex(text) },
    feedKey.kid,
    feedKey.key,
  )
  return new Response(`${text}${JSON.stringify(end)}\n`, {
    headers: { 'content-type': 'application/x-ndjson' },
  })
}

const sseText = (entry: Entry | undefined) =>
  entry === undefined
    ? ''
    : `id: ${entry.epoch}.${entry.seq}\nevent: ${entry.kind}\ndata: ${JSON.stringify(entry)}\n\n`

const stream = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } })

function problem(status: number): Response {
  return new Response('{"code":"cursor_ahead","detail":"cursor_ahead"}', {
    status,
    headers: { 'content-type': 'application/problem+json' },
  })
}
