import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import type { SiteReaders } from '../../src/feed/receipt.ts'
import { Receipts } from '../../src/feed/receipts.ts'
import type { Site } from '../../src/store/operations/sites.ts'
import { ClockDouble } from '../log/log-double.ts'

const siteId = 'shop.example' as SiteId

it('receipts of one batch read the settings of their site once, and later ones read them again', async () => {
  const clock = new ClockDouble()
  const readers: SiteReaders = {
    readAtMs: clock.wallMs,
    nodes: [],
    leases: [],
    streams: [],
    departed: [],
    headReadersUntilMs: 0,
  }
  const seconds = [60, 30]
  let reads = 0
  const site = async () => ({ maxStalenessSecondsMax: seconds[reads++], stalenessBefore: undefined }) as Site
  const receipts = new Receipts({
    store: { isShared: true, site },
    clock,
    commits: {
      find: async () => ({ committedAtMs: clock.wallMs, position: 0, appliedAtMs: clock.wallMs }),
    },
    readings: { read: async () => readers },
    viewAgeMsMax: 2000,
  })
  const load = (seq: number) => receipts.load(siteId, { epoch: 'epoch', seq, atMs: clock.wallMs })
  const batch = await Promise.all([load(1), load(2), load(3)])
  expect(reads).toBe(1)
  expect(batch).toHaveLength(3)
  // A setting that was changed meanwhile counts for the next one.
  await load(4)
  expect(reads).toBe(2)
})
