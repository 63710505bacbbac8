import type { SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { loadAllRows } from '../all-rows.ts'
import { Problem } from '../problem.ts'
import type { LeaseAcks, LeaseEnd, LeaseName, LeaseRow, LeaseTerms } from '../store/operations/leases.ts'
import type { Acknowledged } from '../store/operations/shared/acks.ts'
import { addTimes, NO_TIMES, type ReportedTimes } from '../store/reported-times.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'

interface LeaseAck extends Acknowledged {
  readonly epoch: string
  readonly times?: ReportedTimes
  /** The instance rejects everything from now on. */
  readonly isClosing?: boolean
}

export interface LeasesParts {
  readonly store: Pick<
    Store,
    | 'isShared'
    | 'epoch'
    | 'openLease'
    | 'endLeaseStreams'
    | 'endLeaseStreamsOfOthers'
    | 'applyLeaseAcks'
    | 'leases'
  >
  readonly clock: Pick<Clock, 'clocks'>
  readonly log: Pick<Logger, 'warn'>
  readonly nodeId: string
  /** Acknowledgements are written after this long, together. */
  readonly writeMs: number
}

const PENDING_MAX = 20_000
const WRITTEN_MAX = 512
const ACKS_KEPT = 16

/** The acknowledgements of an instance that are not in the store yet. */
interface PendingAcks {
  readonly name: LeaseName
  epoch: string
  acks: Acknowledged[]
  times: ReportedTimes
  heardAtMs: number
  closedAtMs: number | undefined
}

/** The leases of verifier instances: those of the store, with what only this node knows yet. */
export class Leases {
  readonly #parts: LeasesParts
  /** Not yet written, by `toName`. */
  #pending = new Map<string, PendingAcks>()
  /** Being written at the moment. */
  #writing: ReadonlyMap<string, PendingAcks> = new Map()
  /** Streams that have ended and are not yet written as ended, by stream. */
  readonly #ended = new Map<string, LeaseEnd>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isFailing = false
  #isClosed = false

  /** On a store with one process, first ends the streams of earlier processes. */
  static async open(parts: LeasesParts): Promise<Leases> {
    const { store, clock, nodeId } = parts
    if (!store.isShared) await store.endLeaseStreamsOfOthers(nodeId, Math.ceil(clock.clocks().wallMs))
    return new Leases(parts)
  }

  private constructor(parts: LeasesParts) {
    this.#parts = parts
  }

  /**
   * Writes the lease of an instance. When this returns, the lease is durable, so the instance may
   * be given a signed head. Throws a Problem `rate_limited` when the key has as many live leases as
   * it may, and when the store cannot be written.
   */
  async add(terms: LeaseTerms, streamId: string | undefined): Promise<void> {
    const { store, clock, nodeId } = this.#parts
    const liveMax = limits.feed_leases_per_key_max
    const nowMs = Math.ceil(clock.clocks().wallMs)
    const opened = await store.openLease({ ...terms, nodeId, streamId, epoch: store.epoch, nowMs, liveMax })
    if (opened === 'open') return
    throw new Problem(
      'rate_limited',
      `This key has ${liveMax} verifiers whose revocation data may still be fresh. Close guards that end with guard.close(), dismiss those that failed open and are gone, or use another key.`,
      {
        retryAfterSeconds: limits.feed_heartbeat_seconds,
        policy: { name: 'feed_leases', quota: liveMax, windowSeconds: 1 },
      },
    )
  }

  /** The stream of an instance has ended. */
  endStream({ siteId, keyId, instanceId }: LeaseName, streamId: string): void {
    const atMs = Math.ceil(this.#parts.clock.clocks().wallMs)
    this.#ended.set(streamId, { siteId, keyId, instanceId, streamId, atMs })
    this.#writeSoon()
  }

  /**
   * An instance has acknowledged the log. Applies to that instance under that key only, never moves
   * it back, and creates no lease. An instance that acknowledges after it has closed is not closed.
   */
  acknowledge(
    { siteId, keyId, instanceId }: LeaseName,
    { epoch, seq, atMs, times = NO_TIMES, isClosing = false }: LeaseAck,
  ): void {
    const name = { siteId, keyId, instanceId }
    const before = this.#pending.get(toName(name))
    if (before === undefined && this.#pending.size >= PENDING_MAX) return
    const pending = before ?? { name, epoch, acks: [], times: NO_TIMES, heardAtMs: 0, closedAtMs: undefined }
    if (pending.epoch !== epoch) Object.assign(pending, { epoch, acks: [], times: NO_TIMES })
    if (seq > (pending.acks.at(-1)?.seq ?? -1))
      pending.acks = [...pending.acks.slice(1 - ACKS_KEPT), { seq, atMs }]
    pending.times = addTimes(pending.times, times)
    pending.heardAtMs = Math.max(pending.heardAtMs, Math.floor(atMs))
    pending.closedAtMs = isClosing
      ? Math.ceil(this.#parts.clock.clocks().wallMs)
      : stillClosed(pending.closedAtMs, pending.heardAtMs)
    this.#pending.set(toName(name), pending)
    this.#writeSoon()
  }

  /** All leases of a site: live ones, and those that ended within a day. */
  async list(siteId: SiteId): Promise<readonly LeaseRow[]> {
    const { store } = this.#parts
    return loadAllRows(async (after, limit) => {
      // What is being written may be in the page or not, so it is added in any case.
      const [writing, ended] = [this.#writing, new Map(this.#ended)]
      const page = await store.leases(siteId, { after, limit })
      return page.map((lease) => this.#withPending(lease, writing, ended))
    })
  }

  /** When these instances last acknowledged to any node, by `toName`. */
  async heardTimes(names: readonly LeaseName[]): Promise<ReadonlyMap<string, number>> {
    const sites = new Set(names.map(({ siteId }) => siteId))
    const heard = new Map<string, number>()
    for (const siteId of sites)
      for (const lease of await this.list(siteId)) heard.set(toName(lease), lease.heardAtMs)
    return heard
  }

  /** A lease with what was not in the store yet when it was read. */
  #withPending(
    lease: LeaseRow,
    writing: ReadonlyMap<string, PendingAcks>,
    ended: ReadonlyMap<string, LeaseEnd>,
  ): LeaseRow {
    const name = toName(lease)
    let known = this.#withStream(lease, ended)
    for (const pending of [writing.get(name), this.#pending.get(name)])
      if (pending !== undefined) known = withAcks(known, pending)
    return known
  }

  /** This node knows which of its own streams are open. */
  #withStream(lease: LeaseRow, ended: ReadonlyMap<string, LeaseEnd>): LeaseRow {
    if (lease.nodeId !== this.#parts.nodeId) return lease
    const end = ended.get(lease.streamId) ?? this.#ended.get(lease.streamId)
    if (end === undefined) return { ...lease, nodeUntilMs: Infinity }
    return { ...lease, nodeId: '', streamId: '', servedAtMs: Math.max(lease.servedAtMs, end.atMs) }
  }

  #writeSoon(): void {
    if (this.#timer !== undefined || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#running ??= this.#write().finally(() => {
        this.#running = undefined
        if (this.#pending.size > 0 || this.#ended.size > 0) this.#writeSoon()
      })
    }, this.#parts.writeMs)
    this.#timer.unref()
  }

  async #write(): Promise<void> {
    const { store, log } = this.#parts
    const ends = [...this.#ended.values()].slice(0, WRITTEN_MAX)
    const pending = this.#pending
    this.#writing = pending
    this.#pending = new Map()
    try {
      if (ends.length > 0) await store.endLeaseStreams(ends)
      for (const { streamId } of ends) this.#ended.delete(streamId)
      const acks = [...pending.values()].flatMap(({ name, ...each }): LeaseAcks[] =>
        each.epoch === store.epoch ? [{ ...name, ...each }] : [],
      )
      for (let from = 0; from < acks.length; from += WRITTEN_MAX)
        await store.applyLeaseAcks(acks.slice(from, from + WRITTEN_MAX))
      this.#isFailing = false
    } catch (err) {
      // Written with the next attempt, together with what has arrived since.
      for (const [name, each] of pending) {
        const newer = this.#pending.get(name)
        this.#pending.set(name, newer === undefined ? each : merged(each, newer))
      }
      if (!this.#isFailing)
        log.warn({ err }, 'acknowledgements of verifiers could not be written; trying again')
      this.#isFailing = true
    } finally {
      this.#writing = new Map()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
    await this.#write()
  }
}

/** A key for an instance of any site. */
export function toName({ siteId, keyId, instanceId }: LeaseName): string {
  return `${siteId} ${keyId} ${instanceId}`
}

function withAcks(lease: LeaseRow, { epoch, acks, times, heardAtMs, closedAtMs }: PendingAcks): LeaseRow {
  const before = lease.epoch === epoch ? lease : { seq: 0, acks: [], times: NO_TIMES }
  const news = acks.filter(({ seq }) => lease.epoch !== epoch || seq > before.seq)
  return {
    ...lease,
    epoch,
    seq: news.at(-1)?.seq ?? before.seq,
    acks: [...before.acks, ...news],
    times: addTimes(before.times, times),
    heardAtMs: Math.max(lease.heardAtMs, heardAtMs),
    closedAtMs:
      closedAtMs !== undefined && closedAtMs >= lease.declaredAtMs
        ? closedAtMs
        : stillClosed(lease.closedAtMs, heardAtMs),
  }
}

/** An instance that acknowledges after it has closed is not closed. */
function stillClosed(closedAtMs: number | undefined, heardAtMs: number): number | undefined {
  return closedAtMs !== undefined && closedAtMs < heardAtMs ? undefined : closedAtMs
}

function merged(older: PendingAcks, newer: PendingAcks): PendingAcks {
  const acks =
    older.epoch === newer.epoch
      ? [...older.acks, ...newer.acks.filter(({ seq }) => seq > (older.acks.at(-1)?.seq ?? -1))]
      : newer.acks
  return {
    ...newer,
    acks: acks.slice(-ACKS_KEPT),
    times: older.epoch === newer.epoch ? addTimes(older.times, newer.times) : newer.times,
    closedAtMs: newer.closedAtMs ?? stillClosed(older.closedAtMs, newer.heardAtMs),
  }
}
