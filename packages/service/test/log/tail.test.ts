import type { SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { type TailOptions, type TailPage, tail } from '../../src/log/tail.ts'
import { createWake } from '../../src/log/wake.ts'
import { LogCorrupted } from '../../src/store/log-corrupted.ts'
import { ClockDouble, LogDouble } from './log-double.ts'

const A = 'a.example' as SiteId
const B = 'b.example' as SiteId
const stop = new AbortController()

function follow(store: LogDouble, more: Partial<TailOptions> = {}) {
  const wake = createWake()
  store.onAppend(() => wake.wake())
  const faults: unknown[] = []
  const pages = tail({
    store,
    wake,
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
})
