import {
  type CredentialId,
  didKey,
  didKeyMethod,
  type EntryBodies,
  formatTime,
  generatePrivateKey,
  type Ppid,
  type SiteId,
} from '@countersign/core'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { LiveViews, type LiveViewsOptions } from '../../src/log/live-views.ts'
import { Problem } from '../../src/problem.ts'
import { RowForged, StoreUnavailable } from '../../src/store/errors.ts'
import { unreadableEntry } from '../../src/store/log-corrupted.ts'
import { ClockDouble, EPOCH, LogDouble, quiet } from './log-double.ts'

const A = 'a.example' as SiteId
const B = 'b.example' as SiteId
const user = 'did:service:ppid_aaaaaaaaaaaa' as Ppid
const credential = 'cred_aaaaaaaaaaaa' as CredentialId
const revoked_at = formatTime(1_700_000_000_000)
const STALE = { code: 'revocation_view_stale' }

const opened: LiveViews[] = []
afterEach(async () => {
  for (const views of opened.splice(0)) await views.close()
})

async function open(
  store: LogDouble,
  clock = new ClockDouble(),
  options: Partial<LiveViewsOptions> = {},
): Promise<LiveViews> {
  const views = await LiveViews.open(store, clock, quiet, { viewAgeMsMax: 2000, ...options })
  opened.push(views)
  return views
}

describe('the live views', () => {
  it('know the whole log before they open', async () => {
    const store = new LogDouble()
    await store.site(A)
    await store.append(A, 'user.revoked', { ppid: user, revoked_at })
    await store.site(B)
    const views = await open(store)
    expect(views.position).toBe(3)
    expect(views.view(A)?.userRevocation(user, 0)).toBeDefined()
    expect(views.view(B)?.userRevocation(user, 0)).toBeUndefined()
    expect(views.revocationData(A)).toMatchObject({ ageMs: 0, ageMsMax: 2000, site: { siteId: A } })
    expect(views.readiness()).toEqual({ ready: true })
  })

  it('know nothing of a site that has no log', async () => {
    const views = await open(new LogDouble())
    expect([views.view(A), views.revocationData(A)]).toEqual([undefined, undefined])
  })

  it('have applied a revocation when `reached` says so, whether or not a wake-up came', async () => {
    for (const silent of [true, false]) {
      const store = new LogDouble()
      await store.site(A)
      const views = await open(store)
      const position = await store.append(
        A,
        'credential.revoked',
        { credential_id: credential, revoked_at },
        { silent },
      )
      expect(views.view(A)?.credentialRevocation(credential)).toBeUndefined()
      await views.waitFor(position)
      expect(views.view(A)?.credentialRevocation(credential)).toBeDefined()
    }
  })

  /** The clock stands still, so the next regular read of the store does not come. */
  async function openBetweenReads() {
    vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    onTestFinished(() => {
      vi.restoreAllMocks()
    })
    const store = new LogDouble()
    await store.site(A)
    return { store, views: await open(store) }
  }

  it('apply what this process has committed without reading it from the store', async () => {
    const { store, views } = await openBetweenReads()
    const { reads } = store
    const own = { own: true }
    const position = await store.append(A, 'user.revoked', { ppid: user, revoked_at }, own)
    await views.waitFor(position)
    expect(views.view(A)?.userRevocation(user, 0)).toBeDefined()
    expect(store.reads).toBe(reads)
  })

  it('deny what this process has revoked, though the store cannot be read after the commit', async () => {
    const { store, views } = await openBetweenReads()
    const position = await store.append(A, 'user.revoked', { ppid: user, revoked_at }, { own: true })
    store.isDown = true
    await views.waitFor(position)
    expect(views.view(A)?.userRevocation(user, 0)).toBeDefined()
  })

  it('apply nothing that this process has committed to a former epoch', async () => {
    const store = new LogDouble()
    await store.site(A)
    const views = await open(store)
    const [handOver] = store.listeners
    const former = new LogDouble()
    former.epoch = 'e0000001'
    former.onAppend((position, part) => handOver?.(position, part))
    for (const site of [B, A]) await former.site(site, { own: true })
    await store.append(A, 'user.revoked', { ppid: user, revoked_at })
    await views.waitFor(2)
    expect([views.view(B), views.readiness()]).toEqual([undefined, { ready: true }])
  })

  it('do not wait for what they have reached', async () => {
    const store = new LogDouble()
    await store.site(A)
    const views = await open(store, undefined, { waitMsMax: 0 })
    await views.waitFor(0)
    await views.waitFor(1)
    await views.waitForSeq(A, { epoch: EPOCH, seq: 1 })
  })

  it('say 503 when they do not get that far in time', async () => {
    const store = new LogDouble()
    await store.site(A)
    const views = await open(store, undefined, { waitMsMax: 20 })
    await expect(views.waitFor(2)).rejects.toMatchObject(STALE)
    await expect(views.waitForSeq(A, { epoch: EPOCH, seq: 2 })).rejects.toMatchObject(STALE)
    await expect(views.waitForSeq(A, { epoch: 'another0', seq: 1 })).rejects.toMatchObject(STALE)
    await expect(views.waitForSeq(B, { epoch: EPOCH, seq: 0 })).rejects.toMatchObject(STALE)
  })

  it('wait for no place that the log does not have, once the store has said so since', async () => {
    const store = new LogDouble()
    await store.site(A)
    const clock = new ClockDouble()
    const views = await open(store, clock, { waitMsMax: 3_600_000 })
    const places = [
      { site: A, epoch: EPOCH, seq: 2 },
      { site: A, epoch: 'another0', seq: 1 },
      { site: B, epoch: EPOCH, seq: 1 },
    ]
    const ended = Promise.all(
      places.map((place) => expect(views.waitForSeq(place.site, place)).rejects.toMatchObject(STALE)),
    )
    clock.pass(1)
    await ended
  })

  it('wait for a place while the store has said nothing since', async () => {
    const store = new LogDouble()
    await store.site(A)
    const clock = new ClockDouble()
    const views = await open(store, clock)
    store.isDown = true
    const reached = views.waitForSeq(A, { epoch: EPOCH, seq: 2 })
    clock.pass(1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    await store.append(A, 'user.revoked', { ppid: user, revoked_at }, { silent: true })
    store.isDown = false
    await reached
  })

  it('reach a place in the log of one site, whatever happens to others', async () => {
    const store = new LogDouble()
    await store.site(A)
    const views = await open(store)
    const reached = views.waitForSeq(A, { epoch: EPOCH, seq: 2 })
    await store.site(B)
    await store.append(A, 'user.revoked', { ppid: user, revoked_at })
    await reached
    expect(views.view(A)?.head.seq).toBe(2)
  })

  describe('age', () => {
    it('is counted from before the store was asked', async () => {
      const store = new LogDouble()
      const clock = new ClockDouble()
      let answer = () => {}
      store.gate = new Promise((resolve) => {
        answer = resolve
      })
      const opening = open(store, clock)
      await expect.poll(() => store.reads).toBe(1)
      clock.pass(700)
      answer()
      expect((await opening).age().ageMs).toBe(700)
    })

    it('grows while the store does not answer, by either clock, and ends all readiness', async () => {
      const store = new LogDouble()
      await store.site(A)
      const clock = new ClockDouble()
      const views = await open(store, clock)
      store.isDown = true
      clock.monotonicMs += 2000
      expect(views.readiness().ready).toBe(true)
      clock.monotonicMs += 1
      expect(views.revocationData(A)?.ageMs).toBe(2001)
      expect(views.readiness().ready).toBe(false)
      clock.monotonicMs -= 2001
      clock.wallMs += 3000
      expect(views.revocationData(A)?.ageMs).toBe(3000)
    })

    it('shrinks again when the store answers', async () => {
      const store = new LogDouble()
      const clock = new ClockDouble()
      const views = await open(store, clock)
      store.isDown = true
      clock.pass(60_000)
      await new Promise((resolve) => setTimeout(resolve, 300))
      expect(views.age().ageMs).toBe(60_000)
      store.isDown = false
      await expect.poll(() => views.age().ageMs).toBe(0)
    })

    it('is infinite after a page that is not the end: it is not known yet whether those entries are genuine (A271)', {
      tags: 'long',
    }, async () => {
      const store = new LogDouble()
      const clock = new ClockDouble()
      const views = await open(store, clock)
      clock.pass(1000)
      const entriesAfter = store.entriesAfter.bind(store)
      store.entriesAfter = async (position, limit) => {
        const page = await entriesAfter(position, limit)
        store.isDown = page.entries.length === limit
        return page
      }
      store.isDown = true
      for (let i = 0; i < 2500; i++) await store.site(`s${i}.example` as SiteId)
      store.isDown = false
      await expect.poll(() => views.position).toBe(2000)
      expect(views.age().ageMs).toBe(Infinity)
      store.isDown = false
      await expect.poll(() => views.age().ageMs).toBe(0)
      expect(views.position).toBe(2500)
    })

    it('is infinite, and the node not ready, when the clock of the machine has jumped', async () => {
      const clock = new ClockDouble()
      const views = await open(new LogDouble(), clock)
      clock.fault = new Problem('store_unavailable')
      expect(views.readiness()).toMatchObject({ ready: false })
    })
  })

  describe('of a damaged log', () => {
    const damages: Record<string, (store: LogDouble) => void | Promise<unknown>> = {
      'a body was edited': (store) => {
        const placed = store.entries[1]
        const body = {
          ...(placed?.entry.body as EntryBodies['user.revoked']),
          ppid: 'did:service:ppid_bbbbbbbbbbbb' as Ppid,
        }
        store.entries[1] = { position: 2, entry: { ...placed?.entry, body } as never }
      },
      'the last entry was deleted (A182)': (store) => {
        store.positionSaid = store.entries.length
        store.entries.pop()
      },
      'the last entry was deleted, and the end of the whole log moved too': async (store) => {
        store.headsSaid = [...(await store.siteHeads({ after: undefined, limit: 9 }))]
        store.entries.pop()
      },
      'the log of a whole site was deleted': (store) => {
        store.headsSaid = [{ siteId: B, epoch: EPOCH, seq: 1, hash: '1'.repeat(64) }]
      },
      'a row is no entry': (store) => {
        store.entriesAfter = async () => {
          throw unreadableEntry(2)
        }
      },
      'an entry in the middle was deleted': (store) => void store.entries.splice(1, 1),
      'an entry was deleted and the others renumbered': (store) => {
        store.entries = store.entries
          .filter((_, i) => i !== 1)
          .map(({ entry }, i) => ({ position: i + 1, entry }))
      },
      'the entries were replaced by others with their own hashes (A271)': async (store) => {
        const { end } = store
        store.entries = []
        await store.site(A)
        await store.append(A, 'user.revoked', {
          ppid: 'did:service:ppid_cccccccccccc' as Ppid,
          revoked_at: '2026-01-01T00:00:00Z' as never,
        })
        store.endSaid = end
      },
      'an entry was added behind the end that the log row states (A271)': async (store) => {
        const { end } = store
        await store.site(B)
        store.endSaid = end
      },
      'the log row has a wrong MAC (A271)': (store) => {
        store.entriesAfter = async () => {
          throw new RowForged('log', '1')
        }
      },
      'a head has a wrong MAC (A271)': (store) => {
        store.siteHeads = async () => {
          throw new RowForged('heads', A)
        }
      },
      'an entry is of another epoch': (store) => {
        store.epoch = 'e0000001'
        return store.site(B)
      },
    }
    for (const [name, damage] of Object.entries(damages)) {
      it(`are never ready: ${name}`, async () => {
        const store = new LogDouble()
        await store.site(A)
        await store.append(A, 'user.revoked', { ppid: user, revoked_at })
        await store.append(A, 'credential.revoked', { credential_id: credential, revoked_at })
        await damage(store)
        if (store.epoch !== EPOCH) store.epoch = EPOCH
        const views = await open(store)
        expect(views.readiness().ready).toBe(false)
        expect(views.age().ageMs).toBe(Infinity)
        for (const siteId of [A, B]) expect(views.revocationData(siteId)?.ageMs ?? Infinity).toBe(Infinity)
        await expect(views.waitFor(99)).rejects.toMatchObject(STALE)
      })
    }

    it('stop saying yes when the log row counts fewer deleted API keys than before (A272)', async () => {
      const store = new LogDouble()
      await store.site(A)
      store.endSaid = { ...store.end, keysDeleted: 2 }
      const views = await open(store)
      expect(views.readiness().ready).toBe(true)
      store.endSaid = { ...store.end, keysDeleted: 1 }
      await expect
        .poll(() => views.readiness())
        .toMatchObject({ ready: false, why: expect.stringContaining('deleted API keys') })
    })

    it('stop saying yes when the log is cut while they follow it, and do not come back with what is left', async () => {
      const store = new LogDouble()
      await store.site(A)
      await store.append(A, 'user.revoked', { ppid: user, revoked_at })
      const views = await open(store)
      store.entries.pop()
      await expect.poll(() => views.readiness().ready).toBe(false)
      await store.append(A, 'credential.revoked', { credential_id: credential, revoked_at })
      await new Promise((resolve) => setTimeout(resolve, 300))
      expect(views.revocationData(A)?.ageMs).toBe(Infinity)
    })
  })

  it('read a log of a new epoch from its beginning, and what was known before counts no more', async () => {
    const store = new LogDouble()
    await store.site(A)
    await store.append(A, 'user.revoked', { ppid: user, revoked_at })
    const views = await open(store)
    const before = views.revocationData(A)
    expect(before?.ageMs).toBe(0)
    store.epoch = 'e0000001'
    store.entries = []
    await store.site(A)
    await expect.poll(() => views.view(A)?.head).toMatchObject({ epoch: 'e0000001', seq: 1 })
    await expect.poll(() => views.readiness()).toEqual({ ready: true })
    expect([before?.ageMs, views.revocationData(A)?.ageMs]).toEqual([Infinity, 0])
  })

  it('follow a fail-over that has lost entries, and decide nothing until the store knows of it', {
    tags: 'long',
  }, async () => {
    const store = new LogDouble()
    await store.site(A)
    await store.append(A, 'user.revoked', { ppid: user, revoked_at })
    const views = await open(store)
    let asked = 0
    let isPromoted = false
    store.followEpoch = async () => {
      asked++
      if (!isPromoted) throw new StoreUnavailable('a standby')
      store.epoch = 'e0000001'
      store.entries = []
      await store.site(A)
    }
    store.entries.pop()
    // Every answer is an intact log now, only a shorter one.
    await expect.poll(() => asked).toBeGreaterThan(2)
    expect(views.readiness().ready).toBe(false)
    expect(views.revocationData(A)?.ageMs).toBe(Infinity)
    isPromoted = true
    await expect.poll(() => views.readiness()).toEqual({ ready: true })
    expect(views.view(A)?.head).toMatchObject({ epoch: 'e0000001', seq: 1 })
  })

  it('decide nothing after a report of damage, until the store has been asked for its epoch', async () => {
    const store = new LogDouble()
    await store.site(A)
    const views = await open(store)
    let follow = () => {}
    store.followEpoch = () => new Promise((resolve) => (follow = resolve))
    views.reportDamage(unreadableEntry(1), EPOCH)
    expect(views.revocationData(A)?.ageMs).toBe(Infinity)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(views.readiness().ready).toBe(false)
    store.epoch = 'e0000001'
    store.entries = []
    await store.site(A)
    follow()
    await expect.poll(() => views.readiness()).toEqual({ ready: true })
    // What a reader of the former epoch found is no fault of this one.
    views.reportDamage(unreadableEntry(1), EPOCH)
    expect(views.readiness()).toEqual({ ready: true })
    views.reportDamage(unreadableEntry(1), 'e0000001')
    store.followEpoch = async () => {}
    follow()
    await expect
      .poll(() => views.readiness())
      .toMatchObject({ ready: false, why: 'entry 1 of the log is damaged' })
  })

  it('do not come back with what is left of a log when the store cannot be asked for its epoch at once', {
    tags: 'long',
  }, async () => {
    const store = new LogDouble()
    await store.site(A)
    await store.append(A, 'user.revoked', { ppid: user, revoked_at })
    const views = await open(store)
    let failures = 2
    store.followEpoch = async () => {
      if (failures-- > 0) throw new StoreUnavailable('down')
    }
    store.entries.pop()
    await expect
      .poll(() => views.readiness())
      .toMatchObject({ ready: false, why: 'entry 2 of the log has gone' })
    expect(failures).toBe(-1)
  })

  it('do not open when the store cannot be asked', async () => {
    const store = new LogDouble()
    store.isDown = true
    await expect(open(store)).rejects.toThrow('down')
  })

  it('judge by the issuer that the log speaks of', async () => {
    const { publicKey } = await generatePrivateKey('Ed25519')
    const issuer = didKey(publicKey)
    const id = didKeyMethod(publicKey).split('#')[1] as string
    const store = new LogDouble()
    await store.site(A)
    await store.append(A, 'issuer.trusted', {
      issuer,
      keys: [{ id, key: id, status: 'active' }],
      scope: null,
      credential_ttl_seconds_max: null,
    })
    const views = await open(store)
    expect(views.view(A)?.issuer(issuer)?.keys.size).toBe(1)
  })

  it('let no caller wait after they have been closed', async () => {
    const store = new LogDouble()
    const views = await open(store)
    const waiting = views.waitFor(7)
    const ended = expect(waiting).rejects.toMatchObject(STALE)
    await views.close()
    await ended
    await expect(views.waitFor(7)).rejects.toMatchObject(STALE)
    expect(store.listeners.size).toBe(0)
  })
})
