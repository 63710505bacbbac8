import { setTimeout as sleep } from 'node:timers/promises'
import type { SiteId } from '@countersign/core'
import type { CommitTimes } from '../log/commit-times.ts'
import { createWake, type Wake } from '../log/wake.ts'
import { Problem } from '../problem.ts'
import type { EntryPosition } from '../store/logged.ts'
import type { Site } from '../store/operations/sites.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { type CommittedEntry, createReceipt, type Receipt } from './receipt.ts'
import type { SiteReadings } from './site-readings.ts'

export interface ReceiptWait {
  readonly ms: number
  /**
   * `acknowledged`: until every verifier that may still acknowledge has done so. `denied`: until
   * the revoked credential is denied everywhere.
   */
  readonly until: 'acknowledged' | 'denied'
}

export interface ReceiptsParts {
  readonly store: Pick<Store, 'isShared' | 'site'>
  readonly clock: Pick<Clock, 'clocks'>
  readonly commits: Pick<CommitTimes, 'find'>
  readonly readings: Pick<SiteReadings, 'read'>
  /** The maximum age of the view of this node when it decides. */
  readonly viewAgeMsMax: number
}

/** How often a waiting caller reads the store again: on a shared store, and on one of its own. */
const POLL_SHARED_MS = 100
const POLL_MS = 1000
/** Acknowledgements that arrive within this time are read together. */
const GATHER_MS = 10
/**
 * A receipt of 1,000 leases takes about 1 ms. All waiting callers together take at most a twentieth
 * of the event loop.
 */
const LEASES_READ_PER_MS = 50

interface SiteWake {
  readonly wake: Wake
  waiting: number
}

/** Receipts of log entries, and the callers that wait for them. */
export class Receipts {
  readonly #parts: ReceiptsParts
  readonly #sites = new Map<SiteId, SiteWake>()
  /** Settings of sites that are being read for the receipts of one batch. */
  readonly #settings = new Map<SiteId, Promise<Site | undefined>>()
  readonly #stop = new AbortController()

  constructor(parts: ReceiptsParts) {
    this.#parts = parts
  }

  /** How far an entry has got. With a wait, resolves when that is over or after `ms`. */
  async load(
    siteId: SiteId,
    position: EntryPosition,
    wait: ReceiptWait = { ms: 0, until: 'acknowledged' },
  ): Promise<Receipt> {
    const site = this.#sites.get(siteId) ?? { wake: createWake(), waiting: 0 }
    this.#sites.set(siteId, site)
    site.waiting++
    try {
      return await this.#poll(site, siteId, position, wait)
    } finally {
      site.waiting--
      if (site.waiting === 0) this.#sites.delete(siteId)
    }
  }

  async #poll(
    site: SiteWake,
    siteId: SiteId,
    position: EntryPosition,
    { ms: waitMs, until }: ReceiptWait,
  ): Promise<Receipt> {
    const { store, clock, readings } = this.#parts
    const { signal } = this.#stop
    const untilMs = performance.now() + waitMs
    const leftMs = () => Math.max(0, untilMs - performance.now())
    let entry = await this.#committed(siteId, position)
    for (;;) {
      // This node may not have applied the entry when its commit was first looked up.
      if (entry.deniedHereAtMs > clock.clocks().wallMs) entry = await this.#committed(siteId, position)
      // Before the store is read: a change during the read must still wake this caller.
      const { count } = site.wake
      const readers = await readings.read(siteId, { entry, isLatest: waitMs > 0 })
      const receipt = createReceipt(readers, entry, clock.clocks().wallMs)
      const deniedInMs = (receipt.deniedEverywhereAtMs ?? Infinity) - clock.clocks().wallMs
      const isOver = until === 'denied' ? deniedInMs <= 0 : receipt.awaited === 0
      if (isOver || leftMs() === 0 || signal.aborted) return receipt
      const pollMs = Math.min(
        store.isShared ? POLL_SHARED_MS : POLL_MS,
        until === 'denied' ? deniedInMs : Infinity,
      )
      await site.wake.sleep(count, Math.min(leftMs(), pollMs), signal)
      // Many verifiers acknowledge at the same time, and one read for all of them is enough. The
      // more callers wait, the less often each of them reads.
      const gatherMs = GATHER_MS + (site.waiting * readers.leases.length) / LEASES_READ_PER_MS
      await sleep(Math.min(gatherMs, leftMs()))
    }
  }

  async #committed(siteId: SiteId, { epoch, seq, atMs }: EntryPosition): Promise<CommittedEntry> {
    const { commits, viewAgeMsMax } = this.#parts
    const site = await this.#readSite(siteId)
    if (site === undefined) throw new Problem('not_found')
    const { position, committedAtMs, appliedAtMs } = await commits.find(siteId, seq)
    const deniedHereAtMs = appliedAtMs ?? committedAtMs + viewAgeMsMax
    const ageMs = site.maxStalenessSecondsMax * 1000
    const before = site.stalenessBefore
    const headAgeMsMax = Math.max(ageMs, (before?.seconds ?? 0) * 1000)
    let headsDeadAtMs = committedAtMs + headAgeMsMax
    if (before !== undefined && seq > before.seq) {
      // Heads with the higher age were made before the entry that lowered it.
      const lowered = await commits.find(siteId, before.seq)
      headsDeadAtMs = Math.max(committedAtMs + ageMs, lowered.committedAtMs + before.seconds * 1000)
    }
    return { epoch, seq, atMs, position, committedAtMs, deniedHereAtMs, headAgeMsMax, headsDeadAtMs }
  }

  /** Shared by callers that ask at the same moment, before anything else can happen. */
  #readSite(siteId: SiteId): Promise<Site | undefined> {
    const shared = this.#settings.get(siteId)
    if (shared !== undefined) return shared
    const reading = this.#parts.store.site(siteId)
    this.#settings.set(siteId, reading)
    queueMicrotask(() => this.#settings.delete(siteId))
    return reading
  }

  /** Something about the readers of a site has changed: callers that wait read again. */
  wake(siteId: SiteId): void {
    this.#sites.get(siteId)?.wake.wake()
  }

  /** Ends every wait. */
  close(): void {
    this.#stop.abort()
  }
}
