import {
  type Entry,
  formatTime,
  GENESIS_HASH,
  generatePrivateKey,
  type Heartbeat,
  type HeartbeatFields,
  type PrivateKey,
  signHeartbeat,
} from '@countersign/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FeedKeys } from '../../src/feed/feed-keys.ts'
import { LogFollower } from '../../src/feed/log-follower.ts'
import type { VerifierApi } from '../../src/feed/verifier-api.ts'
import { createGuard } from '../../src/guard/guard.ts'
import { rest } from '../../src/testing/test-clock.ts'
import { createTestFeedKeys } from '../../src/testing/test-feed-keys.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { createHandFeed, entryBytes, heartbeatBytes } from '../hand-feed.ts'
import { createGate, meddled } from '../network.ts'
import { outcome, show } from '../protected.ts'

let site: TestSite
let credential: TestCredential
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  credential = await site.issue({ ttlSeconds: 86_400 })
})
afterEach(() => site.close())

const parseData = (text: string) => JSON.parse(/data: (.*)/.exec(text)?.[1] ?? '')
const event = (name: string, data: unknown, id = '') =>
  `${id === '' ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/**
 * Changes the next entry that comes, and nothing else. Gives a gate that can keep snapshots back.
 */
async function guardWithMeddling(change: (text: string) => string) {
  let isArmed = false
  const snapshots = createGate()
  let snapshotCount = 0
  const fetch = meddled(site.service.fetch, {
    feedText: (text) => {
      if (!isArmed || !text.startsWith('id: ')) return text
      isArmed = false
      return change(text)
    },
    before: async (path) => {
      if (!path.endsWith('/snapshot')) return undefined
      snapshotCount++
      await snapshots.pass()
      return undefined
    },
  })
  const guard = await site.guard({ fetch })
  // Trust that was lost right after a snapshot is not regained at once.
  await site.advance(6_000)
  return { guard, snapshots, snapshotCount: () => snapshotCount, arm: () => (isArmed = true) }
}

/** The entry with something changed, the heartbeat after it left as it is. */
const changedEntry = (change: (entry: Record<string, unknown>) => unknown) => (text: string) => {
  const [entryText = '', ...others] = text.split('\n\n')
  const entry = parseData(entryText) as Record<string, unknown>
  const id = /id: (.*)/.exec(entryText)?.[1]
  const name = /event: (.*)/.exec(entryText)?.[1] ?? ''
  return event(name, change(entry), id) + others.join('\n\n')
}

/** The first line of a snapshot of the log as it is now. */
const headLine = () => {
  const as_of = formatTime(site.clock.nowMs)
  return `${JSON.stringify({ type: 'head', site_id: site.siteId, ...site.log.head, as_of, max_age_seconds: 60, base: { seq: 0, hash: GENESIS_HASH } })}\n`
}

describe('what cannot be the log', () => {
  const lies: [string, (text: string) => string, string][] = [
    ['a wrong hash', changedEntry((entry) => ({ ...entry, hash: 'ab'.repeat(32) })), 'wrong_hash'],
    [
      'another body than was hashed',
      changedEntry((e) => ({ ...e, body: { credential_id: 'cred_somebodyelse', revoked_at: e.at } })),
      'wrong_hash',
    ],
    [
      'a kind that is not known',
      (text) => text.replaceAll('credential.revoked', 'wallet.revoked'),
      'entry_unreadable',
    ],
    ['a member that is not known', changedEntry((entry) => ({ ...entry, note: 1 })), 'entry_unreadable'],
    [
      'an entry under the name of another kind',
      (text) => text.replace('event: credential.revoked', 'event: token.revoked'),
      'entry_unreadable',
    ],
    [
      'an entry without a name',
      (text) => text.replace('event: credential.revoked\n', ''),
      'entry_unreadable',
    ],
    [
      'an entry with the id of another',
      (text) => text.replace(/id: (\w+)\.\d+/, 'id: $1.99'),
      'entry_unreadable',
    ],
    ['an entry that is no JSON', (text) => text.replace('data: {', 'data: '), 'entry_unreadable'],
    ['an event that never ends', () => `data: ${'x'.repeat(300_000)}`, 'answer_unreadable'],
  ]
  test.each(lies)('%s: nothing counts any more until a new snapshot is in', async (_, lie, code) => {
    const { guard, snapshots, arm } = await guardWithMeddling(lie)
    expect(await outcome(show(guard, credential))).toBe('allowed')
    snapshots.shut()
    arm()
    await site.revoke(await site.issue())
    expect(guard.state()).toMatchObject({ ready: false, ageMs: Infinity, problem: { code } })
    expect(await outcome(show(guard, credential))).toBe('revocation_view_stale')
    snapshots.open()
    await site.advance(6_000)
    expect(guard.state()).toMatchObject({ ready: true, seq: 3, connection: 'following' })
    expect(guard.state()).not.toHaveProperty('problem')
    expect(await outcome(show(guard, credential))).toBe('allowed')
  })

  test('the truth, as a control: nothing is loaded again', async () => {
    const { guard, snapshotCount, arm } = await guardWithMeddling((text) => text)
    arm()
    await site.revoke(await site.issue())
    expect(guard.state()).toMatchObject({ ready: true, seq: 3 })
    expect(snapshotCount()).toBe(1)
  })

  test('a hole: an entry was lost, and with it a revocation', async () => {
    const { guard, arm, snapshots } = await guardWithMeddling(() => ': lost\n\n')
    const { guard: honest } = await guardWithMeddling((text) => text)
    arm()
    site.revoke(credential)
    await rest(10)
    expect(guard.state().seq).toBe(2)
    snapshots.shut()
    site.revoke(await site.issue())
    await rest(10)
    expect(guard.state()).toMatchObject({ ready: false, problem: { code: 'hole' } })
    expect(await outcome(show(guard, credential))).toBe('revocation_view_stale')
    expect(await outcome(show(honest, credential))).toBe('credential_revoked')
    snapshots.open()
    await site.advance(6_000)
    expect(guard.state()).toMatchObject({ ready: true, seq: 4 })
    expect(await outcome(show(guard, credential))).toBe('credential_revoked')
  })

  test('an entry of another site', async () => {
    const other = await createTestSite({ siteId: 'other.example', startMs: site.clock.nowMs })
    const { guard, snapshots, arm } = await guardWithMeddling(() => {
      const entry = other.log.entries[0]
      return event(entry?.kind ?? '', entry, `${entry?.epoch}.${entry?.seq}`)
    })
    snapshots.shut()
    arm()
    await site.revoke(await site.issue())
    expect(guard.state()).toMatchObject({ ready: false, problem: { code: 'other_site' } })
    snapshots.open()
  })

  test('an entry twice, as a control: it is applied once', async () => {
    const { guard, arm, snapshotCount } = await guardWithMeddling(
      (text) => `${text.split('\n\n')[0]}\n\n${text}`,
    )
    arm()
    await site.revoke(await site.issue())
    expect(guard.state()).toMatchObject({ ready: true, seq: 3, revocations: 1 })
    expect(snapshotCount()).toBe(1)
  })
})

describe('a heartbeat', () => {
  /** What the service would say now, changed, and signed by whom we like. */
  const heartbeat = async (changes: Partial<HeartbeatFields>, key: PrivateKey = site.feedKey.key) => {
    const { epoch, seq, hash } = site.revocationData.site.head
    const site_id = site.revocationData.site.siteId
    const fields = {
      site_id,
      epoch,
      seq,
      hash,
      as_of: asOf(0),
      max_age_seconds: 60,
      kid: site.feedKey.kid,
      ...changes,
    }
    return signHeartbeat(fields, key)
  }
  const asOf = (aheadMs: number) => new Date(site.clock.nowMs + aheadMs).toISOString()

  /** A guard that hears no heartbeat but those that it is told. */
  async function deaf(options: Parameters<TestSite['guard']>[0] = {}) {
    const snapshots = createGate()
    const fetch = meddled(site.service.fetch, {
      feedText: (text) => text.replaceAll(/event: heartbeat\ndata: .*\n\n/g, ': none\n\n'),
      before: async (path) => {
        if (path.endsWith('/snapshot')) await snapshots.pass()
        return undefined
      },
    })
    const guard = await site.guard({ ...options, fetch })
    await site.advance(6_000)
    const tell = async (said: Heartbeat | string) => {
      // Told past the one in the middle: he only takes away what begins with a heartbeat's name.
      site.service.say(
        `data: ${typeof said === 'string' ? said : JSON.stringify(said)}\nevent: heartbeat\n\n`,
      )
      await rest(10)
    }
    return { guard, tell, snapshots }
  }

  test('with the head that was applied, signed, makes the view young (control)', async () => {
    const { guard, tell } = await deaf()
    expect(guard.state().ageMs).toBe(6_000)
    await tell(await heartbeat({}))
    expect(guard.state().ageMs).toBe(0)
  })

  test('A197 that is forged, unsigned, or old proves nothing: the age goes on growing', async () => {
    const { guard, tell } = await deaf()
    const otherKey = await generatePrivateKey('Ed25519')
    const good = await heartbeat({})
    for (const said of [
      await heartbeat({}, otherKey),
      { ...good, as_of: asOf(1_000) },
      { ...good, signature: 'A'.repeat(86) },
      await heartbeat({ kid: 'another-key' }, otherKey),
      await heartbeat({ as_of: asOf(-60_000) }),
      JSON.stringify({ ...good, more: 1 }),
      '{}',
      'not json',
    ]) {
      await tell(said)
      expect(guard.state()).toMatchObject({ ready: true, ageMs: 6_000, connection: 'following' })
    }
    await site.advance(8_000)
    await tell(await heartbeat({ as_of: asOf(-10_000) }))
    expect(guard.state().ageMs).toBe(10_000)
    await site.advance(20_001)
    expect(await outcome(show(guard, credential))).toBe('revocation_view_stale')
  })

  test('that is repeated later proves no later moment', async () => {
    const { guard, tell } = await deaf()
    const once = await heartbeat({})
    await tell(once)
    expect(guard.state().ageMs).toBe(0)
    await site.advance(9_000)
    await tell(once)
    expect(guard.state().ageMs).toBe(9_000)
  })

  test('that has not happened yet is not believed: more than 5 s ahead', async () => {
    const { guard, tell } = await deaf()
    await tell(await heartbeat({ as_of: asOf(5_001) }))
    expect(guard.state()).toMatchObject({ ageMs: 6_000, problem: { code: 'clock_behind' } })
    // B8: either may be wrong, and the operator needs both times.
    expect(guard.state().problem?.detail).toMatch(
      /signed its head at 2026-\S+Z.*says 2026-\S+Z.*service is ahead, or this one is behind/,
    )
    await tell(await heartbeat({ as_of: asOf(5_000) }))
    expect(guard.state().ageMs).toBe(0)
  })

  test('of a log that goes on further proves nothing, and twice in a row means that entries are missing', async () => {
    const { guard, tell } = await deaf()
    await tell(await heartbeat({ seq: 9, hash: 'cd'.repeat(32) }))
    expect(guard.state()).toMatchObject({ ageMs: 6_000, connection: 'following' })
    await tell(await heartbeat({ seq: 10, hash: 'ce'.repeat(32) }))
    expect(guard.state()).toMatchObject({ ready: true, problem: { code: 'entries_missing' } })
    expect(guard.state().connection).not.toBe('following')
    await site.advance(3_000)
    expect(guard.state().connection).toBe('following')
  })

  test.each<[string, () => Partial<HeartbeatFields>, string]>([
    [
      'of a lower head',
      () => ({ seq: 1, hash: site.log.entries[0]?.hash ?? '', as_of: asOf(1) }),
      'lower_head',
    ],
    ['of another log at the same place', () => ({ hash: 'ab'.repeat(32) }), 'fork'],
    ['of another epoch', () => ({ epoch: 'fedcba9876543210' }), 'other_epoch'],
    ['of another site', () => ({ site_id: 'other.example' as never }), 'other_site'],
  ])('%s, signed, takes the trust away', async (_, changes, code) => {
    const { guard, tell, snapshots } = await deaf()
    snapshots.shut()
    await tell(await heartbeat(changes()))
    expect(guard.state()).toMatchObject({ ready: false, ageMs: Infinity, problem: { code } })
    expect(await outcome(show(guard, credential))).toBe('revocation_view_stale')
    snapshots.open()
    await site.advance(8_000)
    expect(await outcome(show(guard, credential))).toBe('allowed')
  })

  test.each([
    ['trusted', () => ({})],
    ['pinned', () => ({ feedKeys: { [site.feedKey.kid]: site.feedKey.key.publicKey.multikey } })],
  ])('of the successor of a %s key is accepted; of any other key it is not', async (_, options) => {
    const { guard, tell } = await deaf(options())
    const other = await createTestFeedKeys(site.clock.nowMs)
    await site.advance(5_000)
    await site.rotateFeedKey()
    await site.advance(1)
    await tell(await heartbeat({ kid: other.current.kid }, other.current.key))
    expect(guard.state()).toMatchObject({ ageMs: 11_001, problem: { code: 'feed_key_untrusted' } })
    await tell(await heartbeat({}))
    expect(guard.state().ageMs).toBe(0)
    expect(guard.state().problem).toBeUndefined()
  })
})

describe('the connection', () => {
  test('that breaks is made again where it ended: nothing is loaded again', async () => {
    const { guard, snapshotCount } = await guardWithMeddling((text) => text)
    await site.cutFeed()
    await site.revoke(credential)
    expect(await outcome(show(guard, credential))).toBe('allowed')
    await site.repairFeed()
    await site.advance(5_000)
    expect(guard.state()).toMatchObject({ ready: true, seq: 3, connection: 'following' })
    expect(await outcome(show(guard, credential))).toBe('credential_revoked')
    expect(snapshotCount()).toBe(1)
  })

  test('on which nothing comes is given up after 12 s, and made again', async () => {
    const guard = await site.guard()
    await site.silenceFeed()
    await site.advance(11_000)
    expect(guard.state().connection).toBe('following')
    await site.advance(2_000)
    expect(guard.state()).toMatchObject({ problem: { code: 'silent' } })
    await site.repairFeed()
    await site.advance(13_000)
    expect(guard.state()).toMatchObject({ ready: true, connection: 'following' })
  })

  test('that a proxy buffers is a problem until something arrives, with words that lead there', async () => {
    // The header of each response passes, and no byte of a feed.
    const { fetch } = createHandFeed(site)
    const guard = await site.guard({ fetch })
    await site.advance(13_000)
    const problem = {
      code: 'silent',
      detail:
        'https://countersign.test/api/sites/shop.example/feed has sent nothing for 12 s. Check the network, and that no proxy buffers the feed; countersign doctor tests it.',
    }
    expect(guard.state().problem).toEqual(problem)
    await site.advance(6_000)
    expect(guard.state()).toMatchObject({ connection: 'following', problem })
    await site.advance(20_000)
    expect(guard.state()).toMatchObject({ ready: false, problem })
  })

  test('on which only comments come is given up too: another node may have its store', async () => {
    const guard = await site.guard({
      fetch: meddled(site.service.fetch, {
        feedText: (text) => text.replaceAll(/event: heartbeat\ndata: .*\n\n/g, ': alive\n\n'),
      }),
    })
    await site.advance(14_000)
    expect(guard.state()).toMatchObject({ connection: 'following' })
    await site.advance(6_000)
    expect(guard.state().problem?.code).toBe('no_heartbeat')
    expect(await outcome(show(guard, credential))).toBe('allowed')
    await site.advance(15_000)
    expect(await outcome(show(guard, credential))).toBe('revocation_view_stale')
  })

  test('I-3 is refused by age and not by bytes: 30 s after the last proof, and not before', async () => {
    const guard = await site.guard()
    await site.cutFeed()
    await site.advance(30_000)
    expect(await outcome(show(guard, credential))).toBe('allowed')
    await site.advance(1)
    expect(await outcome(show(guard, credential))).toBe('revocation_view_stale')
  })

  test('is tried again by itself, sooner than 10 s after the service is back (I-21)', {
    tags: 'long',
  }, async () => {
    const guard = await site.guard()
    await site.cutFeed()
    await site.advance(600_000)
    expect(guard.state().ready).toBe(false)
    await site.repairFeed()
    await site.advance(10_000)
    expect(guard.state()).toMatchObject({ ready: true, connection: 'following' })
  })

  test('A192 with a cursor that is too old begins with a snapshot, and refuses until it is in', async () => {
    const { guard, snapshots } = await guardWithMeddling((text) => text)
    await site.cutFeed()
    await site.revoke(credential)
    await site.revoke(await site.issue())
    site.service.forgetEntries()
    snapshots.shut()
    await site.repairFeed()
    await site.advance(5_000)
    expect(guard.state()).toMatchObject({ ready: false, problem: { code: 'cursor_expired' } })
    expect(await outcome(show(guard, credential))).toBe('revocation_view_stale')
    snapshots.open()
    await site.advance(1_000)
    expect(guard.state()).toMatchObject({ ready: true, seq: 4 })
    expect(await outcome(show(guard, credential))).toBe('credential_revoked')
  })

  test('to a log that was restored begins with a snapshot: another epoch', async () => {
    const { guard, snapshots } = await guardWithMeddling((text) => text)
    const { epoch } = guard.state()
    snapshots.shut()
    await site.restore()
    await site.advance(3_000)
    expect(guard.state()).toMatchObject({ ready: false, problem: { code: 'cursor_ahead' } })
    snapshots.open()
    await site.advance(3_000)
    expect(guard.state().ready).toBe(true)
    expect(guard.state().epoch).not.toBe(epoch)
    expect(await outcome(show(guard, credential))).toBe('allowed')
  })

  test('to a log that has become shorter within its epoch is never trusted again', async () => {
    const guard = await site.guard()
    await site.revoke(credential)
    await site.restore({ keepEpoch: true })
    await site.advance(60_000)
    expect(guard.state()).toMatchObject({ ready: false, problem: { code: 'lower_head' } })
    expect(await outcome(show(guard, credential))).toBe('revocation_view_stale')
  })

  test.each([['rejecting', 'api_key_invalid']] as const)(
    'A190 that is refused says so loudly, and is tried again slowly (%s)',
    async (network, code) => {
      let calls = 0
      const fetch = meddled(site.service.fetch, { before: () => void calls++ })
      const guard = await site.guard({ fetch })
      site.service.setNetwork(network)
      await rest()
      await site.advance(31_000)
      expect(guard.state()).toMatchObject({ ready: false, problem: { code } })
      calls = 0
      await site.advance(300_000)
      expect(calls).toBeGreaterThan(30)
      expect(calls).toBeLessThan(80)
      await site.repairFeed()
      await site.advance(10_000)
      expect(guard.state()).toMatchObject({ ready: true })
    },
  )

  test.each([401, 403, 404, 429, 503])(
    'I-21 a relay that answers %i and asks for a day of patience delays the guard by less than 10 s',
    async (status) => {
      let isLying = false
      const lie = () => new Response('no', { status, headers: { 'retry-after': '86400' } })
      const fetch = meddled(site.service.fetch, { before: () => (isLying ? lie() : undefined) })
      const guard = await site.guard({ fetch })
      isLying = true
      await site.cutFeed()
      await site.advance(300_000)
      expect(guard.state()).toMatchObject({ ready: false, problem: { code: `http_${status}` } })
      isLying = false
      await site.repairFeed()
      await site.advance(10_000)
      expect(guard.state()).toMatchObject({ ready: true })
    },
  )

  test('A198 waits as long as the service asks for, but less than 5 s longer than otherwise', async () => {
    const tries: number[] = []
    const fetch = meddled(site.service.fetch, {
      before: (path) => {
        if (!path.endsWith('/snapshot')) return undefined
        tries.push(site.clock.nowMs)
        return new Response('{}', { status: 429, headers: { 'retry-after': tries.length < 10 ? '3' : '20' } })
      },
    })
    const guard = createGuard({ ...site.guardOptions, fetch })
    guard.ready().catch(() => undefined)
    await site.advance(200_000)
    const waits = tries.slice(1).map((ms, i) => ms - (tries[i] ?? 0))
    expect(waits.length).toBeGreaterThan(12)
    for (const ms of waits.slice(0, 9)) expect(ms).toBeGreaterThanOrEqual(3_000)
    for (const ms of waits.slice(9)) expect(ms).toBeGreaterThanOrEqual(4_500)
    for (const ms of waits) expect(ms).toBeLessThan(10_000)
    await guard.close()
  })

  test('to a relay that sends a snapshot without end gives it up, and keeps what it has proof of', {
    tags: 'long',
  }, async () => {
    let isLying = false
    const line = `${JSON.stringify(site.log.lines().find(({ type }) => type === 'issuer'))}\n`
    const many = new TextEncoder().encode(line.repeat(1_000))
    const lie = () => {
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(headLine())),
        pull: (controller) => controller.enqueue(many),
      })
      return new Response(body, { headers: { 'content-type': 'application/x-ndjson' } })
    }
    const problems: unknown[] = []
    const fetch = meddled(site.service.fetch, {
      before: (path) => (isLying && path.endsWith('/snapshot') ? lie() : undefined),
    })
    const guard = await site.guard({ fetch, onStateChange: ({ problem }) => problems.push(problem?.code) })
    await site.revoke(credential)
    await site.advance(6_000)
    isLying = true
    site.service.say('event: credential.revoked\ndata: {}\n\n')
    for (let i = 0; i < 30 && !problems.includes('snapshot_too_large'); i++) await site.advance(1_000)
    expect(problems).toContain('snapshot_too_large')
    expect(guard.state()).toMatchObject({ ready: false, seq: 3, revocations: 1 })
    isLying = false
    await site.advance(31_000)
    expect(guard.state()).toMatchObject({ ready: true, seq: 3 })
    expect(await outcome(show(guard, credential))).toBe('credential_revoked')
  })

  test('to a relay that sends a line of a snapshot now and then gives it up after ten minutes', {
    tags: 'long',
  }, async () => {
    const { clock } = site
    let snapshots = 0
    async function* slow(signal: AbortSignal) {
      snapshots++
      yield new TextEncoder().encode(headLine())
      for (;;) {
        await new Promise<void>((resolve, reject) => {
          clock.after(10_000, resolve)
          signal.addEventListener('abort', () => reject(signal.reason))
        })
        yield new TextEncoder().encode(
          `${JSON.stringify(site.log.lines().find(({ type }) => type === 'issuer'))}\n`,
        )
      }
    }
    const api = {
      snapshot: async (signal: AbortSignal) => slow(signal),
      acknowledge: async () => {},
    } as unknown as VerifierApi
    const keys = {} as FeedKeys
    const client = new LogFollower({
      siteId: site.log.view.siteId,
      api,
      keys,
      clock,
      onChange: () => undefined,
    })
    client.start()
    await clock.advance(599_999)
    expect([client.connection, snapshots, client.problem]).toEqual(['loading', 1, undefined])
    await clock.advance(1)
    expect([client.connection, client.problem?.code]).toEqual(['waiting', 'snapshot_too_slow'])
    await clock.advance(10_000)
    expect([client.connection, snapshots]).toEqual(['loading', 2])
    await client.close()
  })

  test.each<[string, () => Response]>([
    ['a page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['nothing', () => new Response(null, { status: 204 })],
    ['a redirect', () => new Response(null, { status: 307, headers: { location: 'https://evil.example/' } })],
  ])('to something else than the service (%s) is seen as that', async (_, answer) => {
    const fetch = meddled(site.service.fetch, {
      before: (path) => (path.endsWith('/feed') ? answer() : undefined),
    })
    const guard = await site.guard({ fetch })
    await site.advance(1)
    expect(guard.state()).toMatchObject({
      ready: true,
      problem: { code: expect.stringMatching(/^(?:answer_unknown|http_307)$/) },
    })
  })

  test('names itself, says which feed it speaks, and tells how far it has come', async () => {
    const seen: Headers[] = []
    const fetch = meddled(site.service.fetch, {
      before: (path, init) => void (path.endsWith('/feed') && seen.push(new Headers(init.headers))),
    })
    await site.guard({ fetch, verifierId: 'checkout-1' })
    await site.advance(1_000)
    await site.revoke(credential)
    await site.advance(1_000)
    expect(seen).toHaveLength(1)
    expect(seen[0]?.get('x-verifier-id')).toBe('checkout-1')
    expect(seen[0]?.get('feed-version')).toBe('1')
    expect(seen[0]?.get('last-event-id')).toMatch(/^[0-9a-z]+\.2$/)
    expect(site.service.acknowledged.get('checkout-1')).toMatchObject({ seq: 3 })
    const [one, two] = [await site.guard(), await site.guard()]
    expect(one.state().verifierId).not.toBe(two.state().verifierId)
  })
})

test('entries that come before their proof are acknowledged with it, and at once', async () => {
  const feed = createHandFeed(site)
  const guard = site.guard({ fetch: feed.fetch, verifierId: 'checkout-1' })
  const connection = await feed.connection()
  await connection.push(await heartbeatBytes(site))
  await guard
  const acknowledgedSeq = () => site.service.acknowledged.get('checkout-1')?.seq
  const before = site.log.head.seq
  expect(acknowledgedSeq()).toBe(before)
  // The report of the same head would be repeated now.
  await site.clock.advance(5_000)
  await site.revoke(credential)
  await connection.push(entryBytes(site.log.entries.at(-1) as Entry))
  await connection.push(await heartbeatBytes(site))
  expect(acknowledgedSeq()).toBe(before + 1)
})

test('what is proven is acknowledged while more entries arrive all the time', async () => {
  const feed = createHandFeed(site)
  const guard = site.guard({ fetch: feed.fetch, verifierId: 'checkout-1' })
  const connection = await feed.connection()
  await connection.push(await heartbeatBytes(site))
  await guard
  for (let i = 0; i < 5; i++) {
    const proof = await heartbeatBytes(site)
    const provenSeq = site.log.head.seq
    await site.revoke(await site.issue())
    const entry = entryBytes(site.log.entries.at(-1) as Entry)
    // No chunk ends with a proof of all that it brought.
    await connection.push(Buffer.concat([proof, entry]))
    await site.clock.advance(300)
    expect(site.service.acknowledged.get('checkout-1')?.seq).toBe(provenSeq)
  }
})

test('a guard whose clock is behind goes on to say that it is there', async () => {
  const feed = createHandFeed(site)
  let acknowledgements = 0
  const fetch = meddled(feed.fetch, {
    before: (path) => {
      if (path.endsWith('/ack')) acknowledgements++
      return undefined
    },
  })
  const guard = site.guard({ fetch, verifierId: 'checkout-1' })
  const connection = await feed.connection()
  await connection.push(await heartbeatBytes(site))
  const { state } = await guard
  await site.revoke(credential)
  await connection.push(entryBytes(site.log.entries.at(-1) as Entry))
  acknowledgements = 0
  for (let i = 0; i < 3; i++) {
    await site.clock.advance(5_000)
    await connection.push(await heartbeatBytes(site, 3_600_000))
  }
  expect(state().problem?.code).toBe('clock_behind')
  expect(acknowledgements).toBe(3)
})

describe('a snapshot', () => {
  test('that is signed by no key we know, or not whole, is not used', async () => {
    const otherSite = await createTestSite({ startMs: site.clock.nowMs })
    for (const answer of [
      () =>
        otherSite.service.fetch(`https://countersign.test/api/sites/shop.example/snapshot`, {
          headers: { 'x-api-key': 'svc_sk_test' },
        }),
      async () => {
        const whole = await site.service.fetch(`https://countersign.test/api/sites/shop.example/snapshot`, {
          headers: { 'x-api-key': 'svc_sk_test' },
        })
        return new Response((await whole.text()).slice(0, -300), {
          headers: { 'content-type': 'application/x-ndjson' },
        })
      },
    ]) {
      const fetch = meddled(site.service.fetch, {
        before: (path) => (path.endsWith('/snapshot') ? answer() : undefined),
      })
      const guard = createGuard({ ...site.guardOptions, fetch })
      guard.ready().catch(() => undefined)
      await site.advance(10_000)
      expect(guard.state()).toMatchObject({
        ready: false,
        seq: 0,
        problem: { code: expect.stringMatching(/snapshot_unsigned|answer_unreadable|feed_key_untrusted/) },
      })
      await guard.close()
    }
  })

  test('is as old as the question: its time under way counts even when the wall clock is slow', async () => {
    const gate = createGate()
    gate.shut()
    const fetch = meddled(site.service.fetch, {
      before: async (path, init) => {
        if (path.endsWith('/feed')) return new Promise<Response>(() => undefined)
        if (!path.endsWith('/snapshot')) return undefined
        const response = await site.service.fetch(
          'https://countersign.test/api/sites/shop.example/snapshot',
          init,
        )
        await gate.pass()
        return response
      },
    })
    // The wall clock of this guard is slow, so that it alone would see too little of the time on
    // the way.
    const clock = {
      ...site.clock,
      read: () => ({ ...site.clock.read(), wallMs: site.clock.read().wallMs - 4_000 }),
    }
    const guard = createGuard({ ...site.guardOptions, clock, fetch })
    guard.ready().catch(() => undefined)
    await site.advance(20_000)
    gate.open()
    await rest(10)
    expect(guard.state().ageMs).toBe(20_000)
    await guard.close()
  })
})
