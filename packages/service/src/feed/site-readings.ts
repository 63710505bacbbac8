import type { SiteId } from '@countersign/core'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { Leases } from './leases.ts'
import type { CommittedEntry, SiteReaders } from './receipt.ts'
import type { StreamRegistry } from './stream-registry.ts'

/** Loads the readers of a site's log. Concurrent callers share one reading. */
export interface SiteReadings {
  /** At most about 100 ms old. Rejects when the store is unavailable. */
  read(siteId: SiteId, need: ReadingNeed): Promise<SiteReaders>
  /** How many leases the last reading of a site found, while it is still in use. */
  leases(siteId: SiteId): number
  /** Something about the readers of a site has changed on this node. */
  changed(siteId: SiteId): void
  /** This node has applied the log up to `position`. */
  applied(position: number): void
}

interface ReadingNeed {
  /** The reading has to include every lease that was opened before this entry was committed. */
  readonly entry?: Pick<CommittedEntry, 'epoch' | 'position'>
  /** The reading has to include everything that this node knows so far. */
  readonly isLatest: boolean
}

export interface SiteReadingsParts {
  readonly store: Pick<Store, 'isShared' | 'epoch' | 'feedNodes' | 'headReadersUntil'>
  readonly clock: Pick<Clock, 'clocks'>
  readonly nodeId: string
  readonly leases: Pick<Leases, 'list'>
  readonly streams: Pick<StreamRegistry, 'readers' | 'departed'>
}

/** Longer than it takes from an entry to the first version of its receipt. */
const DEPARTED_MS_MAX = 600_000
/** A reading of 1,000 leases takes about 10 ms of the event loop, so it is reused for this long. */
const REUSED_MS = 100

interface Reading {
  readonly readers: Promise<SiteReaders>
  /** The position of this node's view when the reading began. */
  readonly applied: { readonly epoch: string; readonly position: number }
  readonly beganMs: number
  endedMs: number | undefined
  leases: number
  /** Something has changed after the reading began. */
  isOutdated: boolean
}

export function createSiteReadings(parts: SiteReadingsParts, reusedMs = REUSED_MS): SiteReadings {
  const { store, clock, nodeId, leases, streams } = parts
  const readings = new Map<SiteId, Reading>()
  let applied = { epoch: '', position: -1 }

  /**
   * Reads the nodes first: a lease that a node opened before it reported the entry is then among
   * the leases.
   */
  const load = async (siteId: SiteId): Promise<SiteReaders> => {
    const readAtMs = clock.clocks().wallMs
    const nodes = store.isShared ? (await store.feedNodes()).filter((node) => node.nodeId !== nodeId) : []
    const found = await leases.list(siteId)
    const headReadersUntilMs = await store.headReadersUntil(siteId)
    const readers = await streams.readers(siteId)
    // After the readers: one that leaves meanwhile is in one of the two.
    const departed = await streams.departed(siteId, readAtMs - DEPARTED_MS_MAX)
    return { readAtMs, nodes, leases: found, streams: readers, departed, headReadersUntilMs }
  }

  const begin = (siteId: SiteId): Reading => {
    const reading: Reading = {
      readers: load(siteId),
      applied,
      beganMs: performance.now(),
      endedMs: undefined,
      leases: 0,
      isOutdated: false,
    }
    readings.set(siteId, reading)
    const forget = () => {
      if (readings.get(siteId) === reading) readings.delete(siteId)
    }
    reading.readers.then((readers) => {
      reading.endedMs = performance.now()
      reading.leases = readers.leases.length
      setTimeout(forget, reusedMs).unref()
    }, forget)
    return reading
  }

  const isUsable = (
    { applied: known, ...reading }: Reading,
    askedMs: number,
    { entry, isLatest }: ReadingNeed,
  ) => {
    if (reading.beganMs >= askedMs) return true
    if (performance.now() - (reading.endedMs ?? Infinity) >= reusedMs || (isLatest && reading.isOutdated))
      return false
    return entry === undefined || (known.epoch === entry.epoch && known.position >= entry.position)
  }

  return {
    async read(siteId, need) {
      const askedMs = performance.now()
      for (;;) {
        const last = readings.get(siteId)
        if (last === undefined) return begin(siteId).readers
        if (isUsable(last, askedMs, need)) return last.readers
        if (last.endedMs !== undefined) return begin(siteId).readers
        // One reading at a time: the next one begins when this one ends, and serves all callers
        // that wait for it.
        await last.readers.catch(() => undefined)
      }
    },
    leases: (siteId) => readings.get(siteId)?.leases ?? 0,
    changed(siteId) {
      const reading = readings.get(siteId)
      if (reading !== undefined) reading.isOutdated = true
    },
    applied(position) {
      applied = { epoch: store.epoch, position }
    },
  }
}
