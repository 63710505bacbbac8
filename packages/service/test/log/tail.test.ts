import type { Clocks, SiteId } from '@countersign/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CommittedParts } from '../../src/log/committed-parts.ts'
import { type TailOptions, type TailPage, tail } from '../../src/log/tail.ts'
import { createWake } from '../../src/log/wake.ts'
import { LogCorrupted } from '../../src/store/log-corrupted.ts'
import type { LoggedEntry } from '../../src/store/operations/log.ts'
import { systemClocks } from '../../src/system-clocks.ts'
import { ClockDouble, LogDouble } from './log-double.ts'

const A = 'a.example' as SiteId
const B = 'b.example' as SiteId
const C = 'c.example' as SiteId
const D = 'd.example' as SiteId
const stop = new AbortController()

function follow(store: LogDouble, more: Partial<TailOptions> = {}) {
  const wake = createWake()
  const committed = new CommittedParts()
  store.onAppend((position, part) => {
    if (part !== undefined) committed.add(part)
    wake.wake(position)
  })
  const faults: unknown[] = []
  const pages = tail({
    store,
    wake,
    committed,
    clocks: new ClockDouble().clocks,
    signal: stop.signal,
    onFailure: (fault) => faults.push(fault),
    ...more,
  })
  const next = async (): Promise<TailPage> => {
    const { value } = await pages.next()
    if (value === undefined) throw new Error('the tail has ended')
    return value
  }
  return { wake, faults, next, pages }
}

const positions = ({ entries }: TailPage) => entries.map(({ position }) => position)

describe('the tail of the log', () => {
  it('gives every entry once and in order, page by page, and says where the log ends', async () => {
    const store = new LogDouble()
    for (let i = 0; i < 5; i++) await store.site(`s${i}.example` as SiteId)
    const { next } = follow(store, { pageSize: 3 })
    const pages = [await next(), await next(), await next()]
    expect(pages.flatMap(positions)).toEqual([1, 2, 3, 4, 5])
    expect(pages.map(({ isEnd }) => isEnd)).toEqual([false, false, true])
  })

  it('sees an entry that is appended while it sleeps, without waiting for the poll', async () => {
    const store = new LogDouble()
    const { next } = follow(store)
    expect(positions(await next())).toEqual([])
    const following = next()
    await store.site(A)
    expect(positions(await following)).toEqual([1])
  })

  it('sees an entry without any wake-up, because it polls', async () => {
    const store = new LogDouble()
    const { next } = follow(store)
    await next()
    await store.append(
      A,
      'site.changed',
      { bearer: 'on', holder_proof: 'optional', delegation: 'on', credential_ttl_seconds_max: null },
      { silent: true },
    )
    expect(positions(await next())).toEqual([1])
  })

  it('sees an entry that is appended between the look and the sleep', async () => {
    const store = new LogDouble()
    let open = () => {}
    store.gate = new Promise((resolve) => {
      open = resolve
    })
    const { next, wake } = follow(store)
    const first = next()
    wake.wake()
    open()
    await first
    const reads = store.reads
    const second = next() // Must look again at once: no timer, no other wake-up.
    await new Promise(setImmediate)
    expect(store.reads).toBe(reads + 1)
    await second
  })

  it('does not look again for an entry that it has read when it is told of it', async () => {
    const store = new LogDouble()
    let open = () => {}
    store.gate = new Promise((resolve) => {
      open = resolve
    })
    await store.append(
      A,
      'site.changed',
      { bearer: 'on', holder_proof: 'optional', delegation: 'on', credential_ttl_seconds_max: null },
      { silent: true },
    )
    const { next, wake } = follow(store)
    const first = next()
    wake.wake(1)
    open()
    expect(positions(await first)).toEqual([1])
    const reads = store.reads
    const second = next()
    await new Promise(setImmediate)
    expect(store.reads).toBe(reads)
    wake.wake(2)
    await second
    expect(store.reads).toBe(reads + 1)
  })

  it('takes the time before it asks', async () => {
    const store = new LogDouble()
    const clock = new ClockDouble()
    const asked = clock.clocks()
    let open = () => {}
    store.gate = new Promise((resolve) => {
      open = resolve
    })
    const { next } = follow(store, { clocks: clock.clocks })
    const page = next()
    clock.pass(1500)
    open()
    expect((await page).askedAt).toEqual(asked)
  })

  it('tells of a store that does not answer, and goes on where it was', async () => {
    const store = new LogDouble()
    await store.site(A)
    const { next, faults } = follow(store)
    await next()
    store.isDown = true
    await store.site(B)
    const following = next()
    await expect.poll(() => faults.length).toBeGreaterThan(0)
    store.isDown = false
    expect(positions(await following)).toEqual([2])
  })

  it('notices that the end of the log has been cut off', async () => {
    const store = new LogDouble()
    await store.site(A)
    await store.site(B)
    const { next, wake } = follow(store)
    await next()
    store.entries.pop()
    wake.wake()
    await expect(next()).rejects.toThrow(LogCorrupted)
  })

  it('notices that the last entry is another one', async () => {
    const store = new LogDouble()
    await store.site(A)
    const { next, wake } = follow(store)
    await next()
    store.entries = []
    await store.site(B)
    wake.wake()
    await expect(next()).rejects.toThrow(LogCorrupted)
  })

  it('notices a hole', async () => {
    const store = new LogDouble()
    await store.site(A)
    await store.site(B)
    store.entries.shift()
    await expect(follow(store).next()).rejects.toThrow('entry 1 of the log is missing')
  })

  describe('gives what this process has committed', () => {
    const OWN = { own: true }
    let nowMs = performance.now()
    beforeEach(() => {
      vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
    })
    afterEach(() => {
      vi.restoreAllMocks()
    })

    it('without reading it from the store', async () => {
      const store = new LogDouble()
      const { next } = follow(store)
      await next()
      const following = next()
      await store.site(A, OWN)
      expect(await following).toMatchObject({ entries: [{ position: 1 }], isEnd: true, end: store.end })
      expect(store.reads).toBe(1)
    })

    it('all of it before it sleeps', async () => {
      const store = new LogDouble()
      const { next } = follow(store)
      await next()
      for (const site of [A, B, C, D]) await store.site(site, OWN)
      const pages = [await next(), await next(), await next(), await next()]
      expect(pages.flatMap(positions)).toEqual([1, 2, 3, 4])
      expect(store.reads).toBe(1)
    })

    it('after what others have appended before it', async () => {
      const store = new LogDouble()
      const { next } = follow(store)
      await next()
      await store.site(A, { silent: true })
      await store.site(B, OWN)
      expect(positions(await next())).toEqual([1, 2])
      expect(store.reads).toBe(2)
      const following = next()
      await store.site(C, OWN)
      expect(positions(await following)).toEqual([3])
    })

    it('and still reads the store, which others may have cut', async () => {
      const store = new LogDouble()
      const { next, pages } = follow(store)
      await next()
      await store.site(A, OWN)
      const followed = (async () => {
        for await (const { end } of pages) {
          // There is always one more of its own before it could sleep.
          await store.site(`s${end.position}.example` as SiteId, OWN)
          await new Promise(setImmediate)
          nowMs += 10
          if (store.reads > 1) store.entries.pop()
        }
      })()
      await expect(followed).rejects.toThrow(LogCorrupted)
    })

    it('with a time before the commit, which never goes back', async () => {
      const store = new LogDouble()
      const clock = new ClockDouble()
      const committed = new CommittedParts()
      const { next } = follow(store, { clocks: clock.clocks, committed })
      const first = (await next()).askedAt
      clock.pass(1000)
      const [one, two, three] = [await store.site(A), await store.site(B), await store.site(C)]
      const add = (position: number, before: Clocks) => {
        const end = { ...store.end, position }
        committed.add({ entries: store.entries.slice(position - 1, position), isEnd: true, end, before })
      }
      const now = systemClocks()
      add(one, { wallMs: now.wallMs, monotonicMs: now.monotonicMs - 400 })
      const second = (await next()).askedAt
      expect(second.monotonicMs).toBeGreaterThan(first.monotonicMs)
      expect(second.monotonicMs).toBeLessThanOrEqual(clock.monotonicMs - 400)
      // The machine was paused: only the clock on the wall has gone on.
      add(two, { ...now, wallMs: now.wallMs - 30_000 })
      expect((await next()).askedAt).toEqual(second)
      clock.pass(100)
      add(three, systemClocks())
      const last = (await next()).askedAt
      expect(last.monotonicMs).toBeGreaterThan(second.monotonicMs)
      expect(last.monotonicMs).toBeLessThanOrEqual(clock.monotonicMs)
    })

    it('not before the end of the log has been read: other entries may follow', async () => {
      const store = new LogDouble()
      const committed = new CommittedParts()
      for (const site of [A, B, C]) await store.site(site)
      const { next } = follow(store, { committed, pageSize: 3 })
      expect(await next()).toMatchObject({ isEnd: false })
      const position = await store.site(D)
      const end = store.end
      await store.site('e.example' as SiteId)
      committed.add({ entries: store.entries.slice(3, 4), isEnd: true, end, before: systemClocks() })
      const page = await next()
      expect([positions(page), page.isEnd, page.end]).toEqual([[position, position + 1], false, store.end])
    })

    it('with a time that no failed read has moved', async () => {
      const store = new LogDouble()
      const clock = new ClockDouble()
      const { next, wake, faults } = follow(store, { clocks: clock.clocks })
      await next()
      store.isDown = true
      clock.pass(100)
      wake.wake()
      const following = next()
      await expect.poll(() => faults.length).toBe(1)
      clock.pass(10)
      await store.site(A, { own: true, agoMs: 50 })
      const { askedAt, entries } = await following
      expect(entries).toHaveLength(1)
      expect(askedAt.monotonicMs).toBeLessThanOrEqual(clock.monotonicMs - 50)
    })

    it('and then reads what others were reported to have appended meanwhile', async () => {
      const store = new LogDouble()
      const { next, wake } = follow(store)
      await next()
      const { entriesAfter } = store
      const open = Promise.withResolvers<void>()
      store.entriesAfter = async (...args) => {
        const page = await entriesAfter.apply(store, args)
        await open.promise
        return page
      }
      wake.wake()
      const following = next()
      await new Promise(setImmediate)
      // The read that is running sees neither of the two.
      await store.site(A, OWN)
      await store.site(B, { silent: true })
      wake.wake(2)
      open.resolve()
      expect(positions(await following)).toEqual([])
      expect(positions(await next())).toEqual([1])
      const { reads } = store
      const last = next()
      await new Promise(setImmediate)
      expect(store.reads).toBe(reads + 1)
      expect(positions(await last)).toEqual([2])
    })

    it('and notices when the store has not kept it, or another one', async () => {
      const change = (entries: LoggedEntry[], i: number) => {
        const { position, entry } = entries[i] as LoggedEntry
        const body = { bearer: 'off', holder_proof: 'optional', delegation: 'on' }
        entries[i] = { position, entry: { ...entry, body } as never }
      }
      const damages: ((entries: LoggedEntry[]) => void)[] = [
        (entries) => entries.pop(),
        (entries) => change(entries, 0),
        (entries) => change(entries, 1),
      ]
      for (const damage of damages) {
        const store = new LogDouble()
        const { next, wake } = follow(store)
        await next()
        for (const site of [A, B]) await store.site(site, OWN)
        expect([await next(), await next()].flatMap(positions)).toEqual([1, 2])
        damage(store.entries)
        wake.wake()
        await expect(next()).rejects.toThrow(LogCorrupted)
      }
    })
  })
})
