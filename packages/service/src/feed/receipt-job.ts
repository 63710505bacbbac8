import { setTimeout as sleep } from 'node:timers/promises'
import { parseTime, type ReceiptFields, type SiteId, signReceipt } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { OpenReceipt, ReceiptRow, ReceiptUpdate } from '../store/operations/receipts.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { endDrills } from './drill-reports.ts'
import { createReaderChanges } from './reader-changes.ts'
import type { Receipt } from './receipt.ts'
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
  readonly verifiers: Pick<VerifierRegistry, 'receipt' | 'connected'>
  readonly config: { readonly viewAgeMsMax: number }
  readonly log: Pick<Logger, 'warn'>
}

const EVERY_MS = 1000
const JITTER = 0.2
/** A little less than the time between two runs, so that one node keeps its turn. */
const TURN_MS = 700
/** Receipts of one transaction: revocations must not wait for it long. */
const BATCH = 50
/** After each batch the job rests for so many times as long as it took. */
const REST = 4
const REST_MS_MIN = 5
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
  const writer = new ReceiptWriter(parts, () => isClosed)
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
  readonly #changes = createReaderChanges()
  /** The position of this node at the last run: verifiers have had time to acknowledge. */
  #seenPosition = 0
  #donePosition = -1
  #hasOpen = true
  #lookedMs = -Infinity
  #isTurn = false

  constructor(parts: ReceiptJobParts, isClosed: () => boolean) {
    this.#parts = parts
    this.#isClosed = isClosed
  }

  async run(): Promise<void> {
    const { views } = this.#parts
    // A node that does not trust its log states nothing about it.
    if (!views.readiness().ready) return
    const upTo = this.#seenPosition
    this.#seenPosition = views.position
    this.#isTurn = false
    if (upTo > this.#donePosition) await this.#writeNew(upTo)
    const isLook = this.#hasOpen || performance.now() - this.#lookedMs >= LOOK_MS
    if (!isLook) return
    this.#lookedMs = performance.now()
    await this.#updateDue()
    await this.#updateOpen()
    if (await endDrills(this.#parts, () => this.#takeTurn())) this.#hasOpen = true
  }

  /** Whether this node may write now. Asked only when there is something to write. */
  async #takeTurn(): Promise<boolean> {
    const { store, clock } = this.#parts
    this.#isTurn ||=
      !store.isShared || (await store.takeTurn('receipts', Math.floor(clock.nowMs()), TURN_MS)) !== undefined
    return this.#isTurn
  }

  async #writeNew(upTo: number): Promise<void> {
    const { store, config } = this.#parts
    await this.#inBatches(async () => {
      const work = await store.entriesWithoutReceipt(upTo, BATCH)
      if (work === undefined) return false
      if (work.entries.length > 0 && !(await this.#takeTurn())) return false
      // Another node applies an entry within the maximum age of its view, or gives out no heads.
      const appliedMsMax = store.isShared ? config.viewAgeMsMax + CLOCK_ALLOWANCE_MS : 0
      const written = await loadEach(work.entries, async (entry): Promise<ReceiptRow | undefined> => {
        const live = await this.#load(entry.siteId, entry.seq, entry.atMs)
        if (live === undefined) return undefined
        return this.#sign(createStoredReceipt(entry, live, { nowMs: this.#nowMs(), appliedMsMax }))
      })
      // A node that finds no entries writes nothing, unless the progress is beyond the log.
      const isBeyond = work.from !== undefined && work.from.position > work.to.position
      if (written.length > 0 || work.hasMore || isBeyond) {
        if (!(await store.writeReceipts(work, written))) return false
        if (written.some(({ dueAtMs, receipt }) => dueAtMs !== undefined || receipt.drill_id !== null))
          this.#hasOpen = true
      }
      this.#donePosition = work.to.position
      return work.hasMore
    })
  }

  /** Writes receipts again at certain ages: verifiers may have become silent or gone. */
  async #updateDue(): Promise<void> {
    const { store } = this.#parts
    await this.#inBatches(async () => {
      const due = await store.dueReceipts(this.#nowMs(), BATCH)
      if (due.length === 0 || !(await this.#takeTurn())) return false
      const count = await this.#update(due, () => true)
      return count === BATCH
    })
  }

  /** Writes receipts again when a verifier has caught up or left. */
  async #updateOpen(): Promise<void> {
    const { store, verifiers, views, clock } = this.#parts
    const sites = await this.#listOpenSites()
    this.#hasOpen = sites.length > 0
    this.#changes.keep(sites)
    if (sites.length === 0 || !(await this.#takeTurn())) return
    for (const siteId of sites) {
      const found = await verifiers.connected(siteId)
      const headSeq = views.view(siteId)?.head.seq ?? 0
      const range = this.#changes.find(siteId, found, headSeq, clock.clocks().wallMs)
      if (range === undefined) continue
      let { afterSeq } = range
      await this.#inBatches(async () => {
        const open = await store.openReceipts(siteId, { afterSeq, toSeq: range.toSeq }, BATCH)
        const last = open.at(-1)
        if (last === undefined) return false
        await this.#update(
          open,
          (before, next, updates) =>
            isChanged(before, next) && (updates < UPDATES_MAX || next.state === 'complete'),
        )
        afterSeq = last.receipt.seq
        return open.length === BATCH
      })
    }
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
    const changes = await loadEach(open, async (each): Promise<ReceiptUpdate | undefined> => {
      const { kid: _kid, signature: _signature, ...before } = each.receipt
      const live = await this.#load(before.site_id, before.seq, parseTime(before.at) ?? 0)
      if (live === undefined) return undefined
      const next = updateStoredReceipt(before, live, this.#nowMs())
      if (!isDue(before, next.receipt, each.updates)) return undefined
      return { ...(await this.#sign(next)), updates: each.updates }
    })
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
      return await verifiers.receipt(siteId, { epoch: store.epoch, seq, atMs })
    } catch (fault) {
      if (fault instanceof Problem && fault.code === 'not_found') return undefined
      throw fault
    }
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

  /** Runs `batch` until it returns false, with a rest after each. */
  async #inBatches(batch: () => Promise<boolean>): Promise<void> {
    for (;;) {
      const beganMs = performance.now()
      if (this.#isClosed() || !(await batch())) return
      await sleep(Math.max(REST_MS_MIN, REST * (performance.now() - beganMs)))
    }
  }
}

/** Loads something for each item at the same time, without those that are undefined. */
async function loadEach<Item, Loaded>(
  items: readonly Item[],
  load: (item: Item) => Promise<Loaded | undefined>,
): Promise<readonly Loaded[]> {
  const loaded = await Promise.all(items.map(load))
  return loaded.filter((each) => each !== undefined)
}
