import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { parseTime, type ReceiptFields, type SiteId, signReceipt } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type {
  OpenReceipt,
  ReceiptEntry,
  ReceiptProgress,
  ReceiptRow,
  ReceiptUpdate,
} from '../store/operations/receipts.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { endDrills } from './drill-reports.ts'
import { createReaderChanges, type SeqRange } from './reader-changes.ts'
import type { Receipt } from './receipt.ts'
import { ReceiptCosts } from './receipt-costs.ts'
import { ReceiptQueue } from './receipt-queue.ts'
import {
  createStoredReceipt,
  findDue,
  isChanged,
  type TimedReceipt,
  type UnsignedReceipt,
  updateStoredReceipt,
} from './stored-receipt.ts'
import type { VerifierRegistry } from './verifier-registry.ts'

export interface ReceiptJobParts {
  readonly store: Store
  readonly views: Pick<LiveViews, 'position' | 'readiness' | 'view'>
  readonly clock: Pick<Clock, 'clocks' | 'nowMs'>
  readonly keys: Pick<ServiceKeys, 'feedKey'>
  readonly verifiers: Pick<VerifierRegistry, 'receipt' | 'connected' | 'readers'>
  readonly config: { readonly viewAgeMsMax: number }
  readonly log: Pick<Logger, 'warn'>
}

const EVERY_MS = 1000
/** Verifiers have this part of it to acknowledge an entry before its receipt is written. */
const SETTLED = 0.8
const SEEN_MAX = 1000
/** Positions that are read at a time to find the sites with new entries. */
const SCANNED_MAX = 5000
const JITTER = 0.2
/** A little less than the time between two runs, so that one node keeps its turn. */
const TURN_MS = 700
/** Receipts of one transaction: revocations must not wait for it long. */
const BATCH = 20
/** The same while sites do not take turns. */
const BATCH_IN_ORDER = 10
/** After each batch the job rests for so many times as long as it took, within these bounds. */
const REST = 4
const REST_MS_MIN = 5
const REST_MS_MAX = 500
/** Readers that are compared at a time to find receipts that differ. */
const COMPARED_MAX = 20_000
/** How often open receipts and drills are looked for when this node knows of none. */
const LOOK_MS = 10_000
/** A receipt that verifiers catch up with one by one is not written more often than this. */
const UPDATES_MAX = 16
const SITES_MAX = 200
/** Clocks of nodes may differ by so much. */
const CLOCK_ALLOWANCE_MS = limits.clock_allowance_seconds * 1000

/**
 * Writes the receipts of entries while the service runs. It reads the log after it was committed,
 * so a revocation never waits for it, and it goes on where it stopped after a crash. On a shared
 * store one node at a time does it.
 */
export function startReceipts(parts: ReceiptJobParts, ms: number = EVERY_MS): PeriodicJob {
  let isClosed = false
  const writer = new ReceiptWriter(parts, () => isClosed, ms * SETTLED)
  let isFailing = false
  const job = everyMs(
    ms,
    async () => {
      await writer.run()
      isFailing = false
    },
    (err) => {
      if (!isFailing) parts.log.warn({ err }, 'receipts could not be written; trying again')
      isFailing = true
    },
    JITTER,
  )
  return {
    run: job.run,
    close() {
      isClosed = true
      return job.close()
    },
  }
}

class ReceiptWriter {
  readonly #parts: ReceiptJobParts
  readonly #isClosed: () => boolean
  readonly #settleMs: number
  readonly #changes = createReaderChanges()
  /** Positions of this node: verifiers have had time to acknowledge what was there a while ago. */
  #seen: readonly { readonly atMs: number; readonly position: number }[] = []
  #settledPosition = 0
  #donePosition = -1
  #queue: ReceiptQueue | undefined
  readonly #costs = new ReceiptCosts()
  #hasOpen = true
  #lookedMs = -Infinity
  /** Sites whose verifiers have yet to be looked at. */
  #unseen: readonly SiteId[] = []
  /** Receipts that may differ because of verifiers, by site, in the order of their turns. */
  readonly #changed = new Map<SiteId, SeqRange>()
  #lastDueSite = ''
  /** When this node last took its turn. */
  #turnMs = -Infinity

  constructor(parts: ReceiptJobParts, isClosed: () => boolean, settleMs: number) {
    this.#parts = parts
    this.#isClosed = isClosed
    this.#settleMs = settleMs
  }

  /**
   * Works until nothing is left to do. First versions and updates take turns, and each batch has a
   * bounded part of every site, so that none of them has to wait for all of another.
   */
  async run(): Promise<void> {
    for (;;) {
      const hasNew = await this.#workAndRest(() => this.#writeNew(this.#findSettled()))
      const hasOpen = await this.#workAndRest(() => this.#updateSome())
      if (!hasNew && !hasOpen) return
    }
  }

  /** Does a batch of work. True: there may be more, and this node has rested. */
  async #workAndRest(work: () => Promise<boolean>): Promise<boolean> {
    // A node that does not trust its log states nothing about it.
    if (this.#isClosed() || !this.#parts.views.readiness().ready) return false
    const beganMs = performance.now()
    if (!(await work())) return false
    const restMs = REST * (performance.now() - beganMs)
    await sleep(Math.min(REST_MS_MAX, Math.max(REST_MS_MIN, restMs)))
    return true
  }

  /** What of these shares may be written in this batch. */
  async #fit<Share extends { readonly siteId: SiteId; readonly limit: number }>(
    shares: readonly Share[],
  ): Promise<readonly Share[]> {
    await this.#loadCosts(shares.map(({ siteId }) => siteId))
    return this.#costs.fit(shares)
  }

  #loadCosts(sites: readonly SiteId[]): Promise<void> {
    return this.#costs.load(sites, async (siteId) => {
      const { leases, streams } = await this.#parts.verifiers.readers(siteId)
      return leases.length + streams.length
    })
  }

  /** The last position that this node has had for a while. */
  #findSettled(): number {
    const nowMs = performance.now()
    this.#seen = [...this.#seen, { atMs: nowMs, position: this.#parts.views.position }]
    const index = this.#seen.findLastIndex(({ atMs }) => atMs <= nowMs - this.#settleMs)
    this.#settledPosition = this.#seen[index]?.position ?? this.#settledPosition
    this.#seen = this.#seen.slice(Math.max(0, index)).slice(-SEEN_MAX)
    return this.#settledPosition
  }

  /** Whether this node may write now. Asked only when there is something to write. */
  async #takeTurn(): Promise<boolean> {
    const { store, clock } = this.#parts
    if (!store.isShared || performance.now() - this.#turnMs < TURN_MS) return true
    const sinceMs = await store.takeTurn('receipts', Math.floor(clock.nowMs()), TURN_MS)
    if (sinceMs !== undefined) this.#turnMs = performance.now()
    return sinceMs !== undefined
  }

  /** Writes a batch of first versions. True: there may be more. */
  async #writeNew(upTo: number): Promise<boolean> {
    if (upTo <= this.#donePosition) return false
    const { store } = this.#parts
    const at = await store.receiptPositions()
    if (at === undefined) return false
    const { log, done } = at
    // Entries of former epochs are few: they are written in the order of the log.
    if (done?.epoch !== log.epoch || done.position > log.position) return this.#writeInOrder(upTo)
    return this.#writeBySite(done, Math.min(upTo, log.position))
  }

  async #writeInOrder(upTo: number): Promise<boolean> {
    const { store } = this.#parts
    const work = await store.entriesWithoutReceipt(upTo, BATCH_IN_ORDER)
    if (work === undefined) return false
    if (work.entries.length > 0 && !(await this.#takeTurn())) return false
    const written = await this.#createReceipts(work.entries)
    // A node that finds no entries writes nothing, unless the progress is beyond the log.
    const isBeyond = work.from !== undefined && work.from.position > work.to.position
    if (written.length > 0 || work.hasMore || isBeyond) {
      if (!(await store.writeReceipts(work, written))) return false
    }
    this.#donePosition = work.to.position
    return work.hasMore
  }

  async #writeBySite(done: ReceiptProgress, upTo: number): Promise<boolean> {
    const { store } = this.#parts
    // Another node has written since, or the log is in a new epoch.
    if (this.#queue?.epoch !== done.epoch || this.#queue.progress !== done.position)
      this.#queue = new ReceiptQueue(done)
    const queue = this.#queue
    const scanTo = Math.min(upTo, queue.scannedTo + SCANNED_MAX)
    if (scanTo > queue.scannedTo)
      queue.add(await store.entriesBySite(queue.epoch, queue.scannedTo, scanTo), scanTo)
    const shares = await this.#fit(queue.next(BATCH))
    const work = await store.receiptWork(queue.epoch, shares)
    const entries = work.flatMap((each) => each.entries)
    if (entries.length > 0 && !(await this.#takeTurn())) return false
    const written = await this.#createReceipts(entries)
    for (const [i, share] of shares.entries()) queue.finish(share, work[i]?.last)
    if (written.length > 0) {
      const to = { epoch: queue.epoch, position: queue.donePosition }
      this.#queue = undefined
      if (!(await store.writeReceipts({ from: done, to }, written))) return false
      queue.progress = to.position
      this.#queue = queue
    }
    if (!queue.isEmpty || queue.scannedTo < upTo) return true
    this.#donePosition = upTo
    return false
  }

  async #createReceipts(entries: readonly ReceiptEntry[]): Promise<readonly ReceiptRow[]> {
    const { store, config } = this.#parts
    // Another node applies an entry within the maximum age of its view, or gives out no heads.
    const appliedMsMax = store.isShared ? config.viewAgeMsMax + CLOCK_ALLOWANCE_MS : 0
    const load = async (entry: ReceiptEntry): Promise<ReceiptRow | undefined> => {
      const live = await this.#load(entry.siteId, entry.seq, entry.atMs)
      if (live === undefined) return undefined
      return this.#sign(createStoredReceipt(entry, live, { nowMs: this.#nowMs(), appliedMsMax }))
    }
    const written = await this.#loadEach(entries, ({ siteId }) => siteId, load)
    if (written.some(({ dueAtMs, receipt }) => dueAtMs !== undefined || receipt.drill_id !== null))
      this.#hasOpen = true
    return written
  }

  /** Writes a batch of receipts again. True: there is more to do now. */
  async #updateSome(): Promise<boolean> {
    const nowMs = performance.now()
    const isLook = nowMs - this.#lookedMs >= (this.#hasOpen ? this.#settleMs : LOOK_MS)
    if (isLook || this.#unseen.length > 0) await this.#findChanged()
    if (isLook) {
      this.#lookedMs = nowMs
      if (await endDrills(this.#parts, () => this.#takeTurn())) this.#hasOpen = true
    }
    if (!this.#hasOpen) return false
    const hasDue = await this.#updateDue()
    return (await this.#updateChanged()) || hasDue || this.#unseen.length > 0
  }

  /** Writes receipts again at certain ages: verifiers may have become silent or gone. */
  async #updateDue(): Promise<boolean> {
    const { store } = this.#parts
    const { receipts, hasMore } = await store.dueReceipts(this.#nowMs(), this.#lastDueSite, BATCH)
    const wasFirst = this.#lastDueSite === ''
    const bySite = [...Map.groupBy(receipts, ({ receipt }) => receipt.site_id)]
    const shares = await this.#fit(bySite.map(([siteId, own]) => ({ siteId, own, limit: own.length })))
    const due = shares.flatMap(({ own, limit }) => own.slice(0, limit))
    const isLeft = hasMore || due.length < receipts.length
    this.#lastDueSite = isLeft ? (shares.at(-1)?.siteId ?? '') : ''
    if (due.length === 0) return !wasFirst
    if (!(await this.#takeTurn())) return false
    const count = await this.#update(due, () => true)
    return count > 0 && (isLeft || !wasFirst)
  }

  /** Finds receipts that may differ because a verifier has caught up or left. */
  async #findChanged(): Promise<void> {
    const { verifiers, views, clock } = this.#parts
    if (this.#unseen.length === 0) {
      this.#unseen = await this.#listOpenSites()
      this.#hasOpen = this.#unseen.length > 0
      this.#changes.keep(this.#unseen)
    }
    if (this.#unseen.length === 0) return
    const sites = (await this.#takeTurn()) ? this.#unseen : []
    let compared = 0
    for (const [i, siteId] of sites.entries()) {
      const found = await verifiers.connected(siteId)
      const headSeq = views.view(siteId)?.head.seq ?? 0
      const range = this.#changes.find(siteId, found, headSeq, clock.clocks().wallMs)
      const left = this.#changed.get(siteId) ?? range
      if (range !== undefined && left !== undefined)
        this.#changed.set(siteId, {
          afterSeq: Math.min(left.afterSeq, range.afterSeq),
          toSeq: Math.max(left.toSeq, range.toSeq),
        })
      compared += found.leases.length + found.streams.length
      // The others follow with the next batch.
      if (compared < COMPARED_MAX) continue
      this.#unseen = sites.slice(i + 1)
      return
    }
    this.#unseen = []
  }

  /** Writes a batch of changed receipts, a part of each site. True: there are more. */
  async #updateChanged(): Promise<boolean> {
    const { store } = this.#parts
    if (this.#changed.size === 0 || !(await this.#takeTurn())) return false
    const turns = [...this.#changed].slice(0, BATCH)
    const limit = Math.ceil(BATCH / turns.length)
    for (const share of await this.#fit(turns.map(([siteId, range]) => ({ siteId, range, limit })))) {
      const { siteId, range } = share
      const open = await store.openReceipts(siteId, range, share.limit)
      await this.#update(
        open,
        (before, next, updates) =>
          isChanged(before, next) && (updates < UPDATES_MAX || next.state === 'complete'),
      )
      this.#changed.delete(siteId)
      const last = open.at(-1)
      // The next turn is after all others.
      if (last !== undefined && open.length === share.limit)
        this.#changed.set(siteId, { afterSeq: last.receipt.seq, toSeq: range.toSeq })
    }
    return this.#changed.size > 0
  }

  async #listOpenSites(): Promise<readonly SiteId[]> {
    const { store } = this.#parts
    const sites: SiteId[] = []
    for (;;) {
      const page = await store.sitesWithOpenReceipts(sites.at(-1) ?? '', SITES_MAX)
      sites.push(...page)
      if (page.length < SITES_MAX) return sites
    }
  }

  /** Returns how many it has written. */
  async #update(
    open: readonly OpenReceipt[],
    isDue: (before: UnsignedReceipt, next: UnsignedReceipt, updates: number) => boolean,
  ): Promise<number> {
    const load = async (each: OpenReceipt): Promise<ReceiptUpdate | undefined> => {
      const { kid: _kid, signature: _signature, ...before } = each.receipt
      const live = await this.#load(before.site_id, before.seq, parseTime(before.at) ?? 0)
      if (live === undefined) return undefined
      const next = updateStoredReceipt(before, live, this.#nowMs())
      if (!isDue(before, next.receipt, each.updates)) return undefined
      return { ...(await this.#sign(next)), updates: each.updates }
    }
    const changes = await this.#loadEach(open, ({ receipt }) => receipt.site_id, load)
    if (changes.length > 0) await this.#parts.store.updateReceipts(changes)
    return changes.length
  }

  /**
   * Entries of former epochs are part of the current one, with the same numbers: a verifier that
   * has acknowledged a later entry of this epoch has applied them.
   */
  async #load(siteId: SiteId, seq: number, atMs: number): Promise<Receipt | undefined> {
    const { verifiers, store } = this.#parts
    try {
      const live = await verifiers.receipt(siteId, { epoch: store.epoch, seq, atMs })
      this.#costs.record(siteId, live.readers)
      return live
    } catch (fault) {
      if (fault instanceof Problem && fault.code === 'not_found') return undefined
      throw fault
    }
  }

  /**
   * Loads receipts in groups, those of a group at the same time, without those that are undefined.
   * One receipt of a site with many readers is a group.
   */
  async #loadEach<Item, Loaded>(
    items: readonly Item[],
    toSite: (item: Item) => SiteId,
    load: (item: Item) => Promise<Loaded | undefined>,
  ): Promise<readonly Loaded[]> {
    await this.#loadCosts(items.map(toSite))
    const loaded: (Loaded | undefined)[] = []
    for (const group of this.#costs.toGroups(items, toSite)) {
      loaded.push(...(await Promise.all(group.map(load))))
      await nextTurn()
    }
    return loaded.filter((each) => each !== undefined)
  }

  async #sign({ receipt, times }: TimedReceipt): Promise<ReceiptRow> {
    const nowMs = this.#nowMs()
    const { kid, key } = this.#parts.keys.feedKey(nowMs)
    const fields: ReceiptFields = { ...receipt, kid }
    return { receipt: await signReceipt(fields, key), dueAtMs: findDue(receipt, nowMs), times }
  }

  #nowMs(): number {
    return Math.ceil(this.#parts.clock.clocks().wallMs)
  }
}
