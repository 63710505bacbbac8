import type { SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { createSiteReadings } from '../../src/feed/site-readings.ts'
import type { LeaseRow } from '../../src/store/operations/leases.ts'
import { ClockDouble } from '../log/log-double.ts'

const SITE = 'a.example' as SiteId
const LONG_MS = 1_000_000_000

/** Each reading of leases waits until it is let go. */
function begin(reusedMs = LONG_MS) {
  const pending: PromiseWithResolvers<readonly LeaseRow[]>[] = []
  const store = {
    isShared: false,
    epoch: 'epoch000',
    feedNodes: async () => [],
    headReadersUntil: async () => 0,
  }
  const leases = {
    list: () => {
      const reading = Promise.withResolvers<readonly LeaseRow[]>()
      pending.push(reading)
      return reading.promise
    },
  }
  const parts = {
    store,
    clock: new ClockDouble(),
    nodeId: 'node_1',
    leases,
    streams: { readers: async () => [], departed: async () => [] },
  }
  const readings = createSiteReadings(parts, reusedMs)
  readings.applied(10)
  const read = (position = 10, isLatest = false) =>
    readings.read(SITE, { entry: { epoch: 'epoch000', position }, isLatest })
  /** Ends the reading with that number. The instance is named after it. */
  const end = (i: number) => pending[i]?.resolve([{ instanceId: `r${i}` } as LeaseRow])
  const names = async (all: readonly ReturnType<typeof read>[]) =>
    (await Promise.all(all)).map(({ leases: found }) => found.map(({ instanceId }) => instanceId).join())
  return { store, readings, read, end, names, pending }
}

describe('readings of a site', () => {
  it('are shared by all that ask at the same time, and used again', async () => {
    const { read, end, names, pending } = begin()
    const asked = Array.from({ length: 1000 }, () => read())
    end(0)
    expect(new Set(await names(asked))).toEqual(new Set(['r0']))
    expect(await names([read(), read()])).toEqual(['r0', 'r0'])
    expect(pending).toHaveLength(1)
  })

  it('are not used again after their time', async () => {
    const { read, end, names } = begin(0)
    const first = read()
    end(0)
    expect(await names([first])).toEqual(['r0'])
    const second = read()
    end(1)
    expect(await names([second])).toEqual(['r1'])
  })

  it('of other sites are separate', async () => {
    const { readings, read, end, names, pending } = begin()
    const asked = [read(), readings.read('b.example' as SiteId, { isLatest: false })]
    for (const i of [0, 1]) end(i)
    expect(await names(asked)).toEqual(['r0', 'r1'])
    expect(pending).toHaveLength(2)
  })

  it('that began before an entry was committed do not serve its receipt: a lease may be missing', async () => {
    const { store, readings, read, end, names, pending } = begin()
    const before = read(10)
    const receipts = [read(11), read(11)]
    expect(pending).toHaveLength(1)
    end(0)
    expect(await names([before])).toEqual(['r0'])
    await expect.poll(() => pending.length).toBe(2)
    end(1)
    expect(await names(receipts)).toEqual(['r1', 'r1'])
    // This one began when the entry had been applied here.
    readings.applied(12)
    const third = read(12)
    await expect.poll(() => pending.length).toBe(3)
    end(2)
    expect(await names([third, read(12), read(11)])).toEqual(['r2', 'r2', 'r2'])
    store.epoch = 'epoch001'
    const other = readings.read(SITE, { entry: { epoch: 'epoch001', position: 1 }, isLatest: false })
    await expect.poll(() => pending.length).toBe(4)
    end(3)
    expect(await names([other])).toEqual(['r3'])
  })

  it('do not serve a caller that waits for what was heard after they began', async () => {
    const { readings, read, end, names, pending } = begin()
    const first = read()
    readings.changed(SITE)
    const [waiting, any] = [read(10, true), read()]
    end(0)
    expect(await names([first, any])).toEqual(['r0', 'r0'])
    await expect.poll(() => pending.length).toBe(2)
    end(1)
    expect(await names([waiting])).toEqual(['r1'])
    expect(await names([read(10, true)])).toEqual(['r1'])
  })

  it('that fail are not kept', async () => {
    const { read, end, names, pending } = begin()
    const first = read()
    pending[0]?.reject(new Error('down'))
    await expect(first).rejects.toThrow('down')
    const second = read()
    end(1)
    expect(await names([second])).toEqual(['r1'])
  })
})
