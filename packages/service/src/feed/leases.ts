import type { SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { Problem } from '../problem.ts'
import type { LeaseAcks, LeaseEnd, LeaseName, LeaseRow, LeaseTerms } from '../store/operations/leases.ts'
import type { Acknowledged } from '../store/operations/shared/acks.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'

/** The leases of verifier instances, as the store has them and as this node knows better. */
export interface Leases {
  /**
   * Writes the lease of an instance. When this returns it is durable, so the instance may be given
   * a signed head. Throws a Problem `rate_limited` when the key has as many live leases as it may,
   * and when the store cannot be written.
   */
  open(terms: LeaseTerms, streamId: string | undefined): Promise<void>
  /** The stream of an instance has ended. */
  endStream(name: LeaseName, streamId: string): void
  /**
   * An instance has acknowledged the log. It counts for that instance under that key only, never
   * moves it back, and makes no lease. One that acknowledges after it has closed is not closed.
   */
  acknowledge(name: LeaseName, ack: LeaseAck): void
  /** All leases of a site: live ones, and those that ended within a day. */
  ofSite(siteId: SiteId): Promise<readonly LeaseRow[]>
  /** When the store last heard of these instances through any node, by `toName`. */
  heard(names: readonly LeaseName[]): Promise<ReadonlyMap<string, number>>
  close(): Promise<void>
}

interface LeaseAck extends Acknowledged {
  readonly epoch: string
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
  /** What was heard is written after this long, together with all that was heard meanwhile. */
  readonly writeMs: number
}

const PAGE = 1000
const CLAIMS_MAX = 20_000
const CLAIMS_WRITTEN_MAX = 512
const ACKS_KEPT = 16

/** What was heard of an instance and is not in the store yet. */
interface Heard {
  readonly name: LeaseName
  epoch: string
  acks: Acknowledged[]
  heardAtMs: number
  closedAtMs: number | undefined
}

/**
 * Opens the leases of one node. On a store with one process it first ends the streams of processes
 * that came before.
 */
export async function openLeases(parts: LeasesParts): Promise<Leases> {
  const { store, clock, nodeId } = parts
  if (!store.isShared) await store.endLeaseStreamsOfOthers(nodeId, Math.ceil(clock.clocks().wallMs))
  return new LeaseRegister(parts)
}

class LeaseRegister implements Leases {
  readonly #parts: LeasesParts
  /** Heard and not yet written, by `toName`. */
  #heard = new Map<string, Heard>()
  /** Being written at the moment. */
  #writing: ReadonlyMap<string, Heard> = new Map()
  /** Streams that have ended and are not yet written as ended, by stream. */
  readonly #ended = new Map<string, LeaseEnd>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isFailing = false
  #isClosed = false

  constructor(parts: LeasesParts) {
    this.#parts = parts
  }

  async open(terms: LeaseTerms, streamId: string | undefined): Promise<void> {
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

  endStream({ siteId, keyId, instanceId }: LeaseName, streamId: string): void {
    const atMs = Math.ceil(this.#parts.clock.clocks().wallMs)
    this.#ended.set(streamId, { siteId, keyId, instanceId, streamId, atMs })
    this.#writeSoon()
  }

  acknowledge(
    { siteId, keyId, instanceId }: LeaseName,
    { epoch, seq, atMs, isClosing = false }: LeaseAck,
  ): void {
    const name = { siteId, keyId, instanceId }
    const before = this.#heard.get(toName(name))
    if (before === undefined && this.#heard.size >= CLAIMS_MAX) return
    const heard = before ?? { name, epoch, acks: [], heardAtMs: 0, closedAtMs: undefined }
    if (heard.epoch !== epoch) Object.assign(heard, { epoch, acks: [] })
    if (seq > (heard.acks.at(-1)?.seq ?? -1)) heard.acks = [...heard.acks.slice(1 - ACKS_KEPT), { seq, atMs }]
    heard.heardAtMs = Math.max(heard.heardAtMs, Math.floor(atMs))
    heard.closedAtMs = isClosing
      ? Math.ceil(this.#parts.clock.clocks().wallMs)
      : stillClosed(heard.closedAtMs, heard.heardAtMs)
    this.#heard.set(toName(name), heard)
    this.#writeSoon()
  }

  async ofSite(siteId: SiteId): Promise<readonly LeaseRow[]> {
    const { store } = this.#parts
    const found: LeaseRow[] = []
    for (let isEnd = false; !isEnd; ) {
      // What is being written may be in the page or not, so it is added to it in any case.
      const writing = this.#writing
      const page = await store.leases(siteId, { after: found.at(-1), limit: PAGE })
      found.push(...page.map((lease) => this.#asKnown(lease, writing)))
      isEnd = page.length < PAGE
    }
    return found
  }

  async heard(names: readonly LeaseName[]): Promise<ReadonlyMap<string, number>> {
    const sites = new Set(names.map(({ siteId }) => siteId))
    const heard = new Map<string, number>()
    for (const siteId of sites)
      for (const lease of await this.ofSite(siteId)) heard.set(toName(lease), lease.heardAtMs)
    return heard
  }

  /** A lease with what this node has heard and the store has not. */
  #asKnown(lease: LeaseRow, writing: ReadonlyMap<string, Heard>): LeaseRow {
    const name = toName(lease)
    let known = this.#withStream(lease)
    for (const heard of [writing.get(name), this.#heard.get(name)])
      if (heard !== undefined) known = withHeard(known, heard)
    return known
  }

  /** Of its own streams a node knows whether they are open. */
  #withStream(lease: LeaseRow): LeaseRow {
    if (lease.nodeId !== this.#parts.nodeId) return lease
    const end = this.#ended.get(lease.streamId)
    if (end === undefined) return { ...lease, nodeUntilMs: Infinity }
    return { ...lease, nodeId: '', streamId: '', servedAtMs: Math.max(lease.servedAtMs, end.atMs) }
  }

  #writeSoon(): void {
    if (this.#timer !== undefined || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#running ??= this.#write().finally(() => {
        this.#running = undefined
        if (this.#heard.size > 0 || this.#ended.size > 0) this.#writeSoon()
      })
    }, this.#parts.writeMs)
    this.#timer.unref()
  }

  async #write(): Promise<void> {
    const { store, log } = this.#parts
    const ends = [...this.#ended.values()].slice(0, CLAIMS_WRITTEN_MAX)
    const heard = this.#heard
    this.#writing = heard
    this.#heard = new Map()
    try {
      if (ends.length > 0) await store.endLeaseStreams(ends)
      for (const { streamId } of ends) this.#ended.delete(streamId)
      const claims = [...heard.values()].flatMap(({ name, ...each }): LeaseAcks[] =>
        each.epoch === store.epoch ? [{ ...name, ...each }] : [],
      )
      for (let from = 0; from < claims.length; from += CLAIMS_WRITTEN_MAX)
        await store.applyLeaseAcks(claims.slice(from, from + CLAIMS_WRITTEN_MAX))
      this.#isFailing = false
    } catch (err) {
      // What could not be written stays to be written; what was heard meanwhile is newer.
      for (const [name, each] of heard) {
        const newer = this.#heard.get(name)
        this.#heard.set(name, newer === undefined ? each : merged(each, newer))
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

/** Names an instance among all. */
export function toName({ siteId, keyId, instanceId }: LeaseName): string {
  return `${siteId} ${keyId} ${instanceId}`
}

function withHeard(lease: LeaseRow, { epoch, acks, heardAtMs, closedAtMs }: Heard): LeaseRow {
  const before = lease.epoch === epoch ? lease : { seq: 0, acks: [] }
  const news = acks.filter(({ seq }) => lease.epoch !== epoch || seq > before.seq)
  return {
    ...lease,
    epoch,
    seq: news.at(-1)?.seq ?? before.seq,
    acks: [...before.acks, ...news],
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

function merged(older: Heard, newer: Heard): Heard {
  const acks =
    older.epoch === newer.epoch
      ? [...older.acks, ...newer.acks.filter(({ seq }) => seq > (older.acks.at(-1)?.seq ?? -1))]
      : newer.acks
  return {
    ...newer,
    acks: acks.slice(-ACKS_KEPT),
    closedAtMs: newer.closedAtMs ?? stillClosed(older.closedAtMs, newer.heardAtMs),
  }
}
