import type { SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { type CommitTimesParts, openCommitTimes } from '../../src/log/commit-times.ts'
import type { LoggedEntry } from '../../src/store/operations/log.ts'
import { ClockDouble, quiet } from './log-double.ts'

const SITE = 'a.example' as SiteId
const LONG_MS = 1_000_000_000

/**
 * A node that has loaded the log up to position 10. `noted` is what any node has written into the
 * store.
 */
function begin() {
  const clock = new ClockDouble()
  const startMs = clock.wallMs
  const noted: { position: number; atMs: number }[] = []
  type Reader = Parameters<CommitTimesParts['views']['follow']>[0]
  const readers: Reader[] = []
  const views = {
    position: 10,
    follow: (reader: Reader) => {
      readers.push(reader)
      return () => undefined
    },
  }
  const store = {
    epoch: 'epoch1',
    recordLogTime: async () => undefined,
    // The seq of an entry is its position here.
    committedBy: async (_: SiteId, seq: number) => noted.find(({ position }) => position >= seq),
  }
  const commits = openCommitTimes({ store, views, clock, log: quiet }, LONG_MS)
  const apply = (seq: number) => {
    views.position = seq
    for (const reader of readers)
      reader.applied([{ entry: { site_id: SITE, seq }, position: seq } as LoggedEntry], true)
  }
  const find = async (seq: number) => {
    const { committedAtMs, appliedAtMs, position } = await commits.find(SITE, seq)
    return [committedAtMs - startMs, appliedAtMs === undefined ? undefined : appliedAtMs - startMs, position]
  }
  return { clock, noted, views, readers, apply, find, startMs, commits }
}

describe('the time at which this node applied an entry', () => {
  it('is unknown while another node has it and this one has not', async () => {
    const { clock, noted, apply, find, startMs, commits } = begin()
    noted.push({ position: 11, atMs: startMs + 20 })
    expect(await find(11)).toEqual([20, undefined, 11])
    clock.pass(300)
    apply(11)
    expect(await find(11)).toEqual([20, 300, 11])
    clock.pass(5)
    apply(12)
    expect(await find(12)).toEqual([305, 305, 12])
    await commits.close()
  })

  it('is that of the first page that had the entry, whichever of many it was', async () => {
    const { clock, apply, find, commits } = begin()
    // Each page ends with one of these.
    const ends = [11, 12, 15, 16, 20, 31, 32]
    for (const seq of ends) {
      clock.pass(seq)
      apply(seq)
    }
    const expected = Array.from({ length: 21 }, (_, i) => {
      const at = ends.findIndex((end) => end >= i + 12)
      const ms = ends.slice(0, at + 1).reduce((sum, seq) => sum + seq, 0)
      return [ms, ms, ends[at]]
    })
    const found = await Promise.all(expected.map((_, i) => find(i + 12)))
    expect(found).toEqual(expected)
    await commits.close()
  })

  it('is the commit for entries that were loaded before the node served anything', async () => {
    const { clock, noted, apply, find, startMs, commits } = begin()
    noted.push({ position: 10, atMs: startMs - 500 })
    expect(await find(9)).toEqual([-500, -500, 10])
    clock.pass(4000)
    apply(11)
    expect(await find(9)).toEqual([-500, -500, 10])
    await commits.close()
  })

  it('is now when the log had to be loaded again: the node may have served without the entry', async () => {
    const { clock, noted, views, readers, find, startMs, commits } = begin()
    noted.push({ position: 10, atMs: startMs - 500 })
    for (const reader of readers) reader.lost()
    views.position = 0
    clock.pass(1000)
    expect(await find(9)).toEqual([-500, undefined, 10])
    views.position = 10
    expect(await find(9)).toEqual([-500, 1000, 10])
    await commits.close()
  })
})
