import { randomBytes } from 'node:crypto'
import { formatTime, type SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import type { CommitTimes } from '../log/commit-times.ts'
import { Problem } from '../problem.ts'
import type { EntryPosition } from '../store/logged.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { LeaseName, LeaseRow } from '../store/operations/leases.ts'
import { NO_TIMES, type ReportedTimes } from '../store/reported-times.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { FeedStream, StreamEnd, Verifier } from './feed-stream.ts'
import { createHeadReaders, type HeadReaders } from './head-readers.ts'
import { Leases, toName } from './leases.ts'
import { QueryQuota } from './query-quota.ts'
import { isConnected, type Receipt, readLeaseTimes, type StreamReader } from './receipt.ts'
import { Receipts, type ReceiptWait } from './receipts.ts'
import { createSiteReadings, type SiteReadings } from './site-readings.ts'
import { StreamRegistry, type StreamRegistryOptions } from './stream-registry.ts'

export interface VerifierAck {
  readonly siteId: SiteId
  readonly keyId: string
  /** Undefined for a reader without a name. */
  readonly verifierId: string | undefined
  readonly instanceId: string | undefined
  readonly epoch: string
  readonly seq: number
  /** When it came. */
  readonly atMs: number
  /** What the clock of the verifier said. */
  readonly sentAtMs?: number | undefined
  /** When entries up to `seq` took effect there, as it reports. For instances only. */
  readonly times?: ReportedTimes
  readonly isClosing?: boolean
}

export interface ConnectedVerifiers {
  readonly leases: readonly LeaseRow[]
  readonly streams: readonly StreamReader[]
}

export interface VerifierRegistryParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
  readonly commits: Pick<CommitTimes, 'find'>
  /** The maximum age of the view of this node when it decides. */
  readonly viewAgeMsMax: number
  /** Called when a stream has ended. */
  readonly onEnd: (why: StreamEnd) => void
  /**
   * Called with how far the clock of a verifier instance is ahead of this node's, each time it
   * acknowledges.
   */
  readonly onClock?: (instance: LeaseName, aheadMs: number) => void
}

export interface VerifierRegistryOptions extends StreamRegistryOptions {
  /** How often silent streams are looked for. */
  readonly silenceCheckMs?: number
  /** A reader that was sent more than this and gave no sign of life for `silentMs` is dropped. */
  readonly unheardBytesMax?: number
  readonly silentMs?: number
  /** An instance that has not acknowledged anything for so long is dropped in any case. */
  readonly droppedMs?: number
  /** A query counts for so long after its answer, for each lease that it read. */
  readonly queryRestMsPerLease?: number
}

/** A query of 1,000 leases takes about 1 ms, and a key gets at most 80 answers a second. */
const QUERY_REST_MS_PER_LEASE = 0.1
/** On a store with one process, acknowledgements are written only for the time after a restart. */
const WRITE_MS = 1000
const SHARED_WRITE_MS = 50

interface RegistryState {
  readonly nodeId: string
  /** The streams without an instance, on all nodes. */
  readonly streams: StreamRegistry
  readonly leases: Leases
  readonly readings: SiteReadings
  readonly receipts: Receipts
  readonly headReaders: HeadReaders
}

/** A stream of an instance on this node. */
interface LeasedStream {
  readonly name: LeaseName
  readonly streamId: string
  readonly stream: FeedStream
  seq: number
  /** It has declared that it rejects everything from now on, and has not acknowledged since. */
  isClosing: boolean
}

/** The verifiers that follow the feeds of this store, on any node, and how far each has got. */
export class VerifierRegistry {
  readonly #parts: VerifierRegistryParts & RegistryState
  readonly #options: Required<
    Pick<VerifierRegistryOptions, 'unheardBytesMax' | 'silentMs' | 'droppedMs' | 'queryRestMsPerLease'>
  >
  /** All streams of this node that receipts count, with their readers. */
  readonly #open = new Map<FeedStream, Verifier>()
  readonly #leased = new Map<string, LeasedStream>()
  readonly #quota = new QueryQuota()
  readonly #dropping: PeriodicJob
  #streamsOpened = 0
  #closing: Promise<void> | undefined

  /** When this returns, other nodes count this one. */
  static async open(
    parts: VerifierRegistryParts,
    options: VerifierRegistryOptions = {},
  ): Promise<VerifierRegistry> {
    const { store, clock, log, commits, viewAgeMsMax } = parts
    const nodeId = `node_${randomBytes(12).toString('base64url')}`
    let registry: VerifierRegistry | undefined
    const onChange = (siteId: SiteId) => {
      if (registry !== undefined) registry.#changed(siteId)
    }
    const streams = new StreamRegistry({ store, clock, log, nodeId, viewAgeMsMax, onChange }, options)
    await streams.start()
    const writeMs = store.isShared ? (options.reportMs ?? SHARED_WRITE_MS) : WRITE_MS
    const leases = await Leases.open({ store, clock, log, nodeId, writeMs })
    const readings = createSiteReadings({ store, clock, nodeId, leases, streams })
    const receipts = new Receipts({ store, clock, commits, readings, viewAgeMsMax })
    const headReaders = createHeadReaders(store, clock)
    const state = { nodeId, streams, leases, readings, receipts, headReaders }
    registry = new VerifierRegistry({ ...parts, ...state }, options)
    return registry
  }

  private constructor(
    parts: VerifierRegistryParts & RegistryState,
    { silenceCheckMs = 2000, ...options }: VerifierRegistryOptions,
  ) {
    this.#parts = parts
    this.#options = {
      unheardBytesMax: limits.feed_buffer_bytes_max,
      silentMs: limits.feed_silent_seconds * 1000,
      droppedMs: limits.feed_silent_seconds * 4000,
      queryRestMsPerLease: QUERY_REST_MS_PER_LEASE,
      ...options,
    }
    this.#dropping = everyMs(
      silenceCheckMs,
      () => this.#dropSilent(),
      (err) => parts.log.warn({ err }, 'verifiers that do not acknowledge could not be looked up'),
    )
  }

  /**
   * To be called before a reader is given its first signed head. Records the reader durably, and
   * returns the id of a stream. Rejects when the reader must not be served.
   */
  async admit(verifier: Verifier, kind: 'stream' | 'snapshot'): Promise<string> {
    const { leases, headReaders, nodeId } = this.#parts
    const { siteId, keyId, verifierId, isNamed, promise, isObserver } = verifier
    const streamId = `${nodeId}.${++this.#streamsOpened}`
    if (promise !== undefined) {
      const terms = { siteId, keyId, verifierId, isNamed, ...promise }
      await leases.add(terms, kind === 'stream' ? streamId : undefined)
    } else if (!isObserver) await headReaders.cover(siteId)
    return streamId
  }

  /** The stream that was admitted will not be opened. */
  abandoned(verifier: Verifier, streamId: string): void {
    const name = toLeaseName(verifier)
    if (name !== undefined) this.#parts.leases.endStream(name, streamId)
  }

  opened(verifier: Verifier, streamId: string, from: number, stream: FeedStream): void {
    if (verifier.isObserver) return
    this.#open.set(stream, verifier)
    const name = toLeaseName(verifier)
    if (name === undefined) {
      this.#parts.streams.opened(verifier, streamId, from, stream)
      return
    }
    const before = this.#leased.get(toName(name))
    this.#leased.set(toName(name), { name, streamId, stream, seq: 0, isClosing: false })
    before?.stream.close('replaced')
    this.#changed(name.siteId)
  }

  closed(stream: FeedStream, why: StreamEnd): void {
    const { onEnd, leases, streams } = this.#parts
    onEnd(why)
    const verifier = this.#open.get(stream)
    if (verifier === undefined) return
    this.#open.delete(stream)
    const name = toLeaseName(verifier)
    if (name === undefined) {
      streams.closed(stream)
      return
    }
    const leased = this.#leased.get(toName(name))
    // The lease belongs to the stream that has replaced this one.
    if (leased?.stream !== stream) return
    this.#leased.delete(toName(name))
    leases.endStream(name, leased.streamId)
    this.#changed(name.siteId)
  }

  /**
   * Whether signed heads of the site may be given out now. `hasUnleased`: also to readers without a
   * lease.
   */
  mayConfirmHeads(siteId: SiteId, hasUnleased: boolean): boolean {
    const { streams, headReaders } = this.#parts
    return streams.isKnown && (!hasUnleased || headReaders.isCovered(siteId))
  }

  /** A verifier has acknowledged the log. The caller has checked that the log goes that far. */
  acknowledge(ack: VerifierAck): void {
    const { siteId, keyId, verifierId, instanceId, epoch, seq, atMs, sentAtMs, times, isClosing } = ack
    const { leases, streams, onClock } = this.#parts
    if (instanceId === undefined) {
      for (const stream of streams.acknowledge({ siteId, keyId, verifierId, epoch, seq, atMs }))
        stream.heard()
      return
    }
    const name = { siteId, keyId, instanceId }
    leases.acknowledge(name, {
      ...{ epoch, seq, atMs },
      ...(times && { times }),
      ...(isClosing === true && { isClosing }),
    })
    const leased = this.#leased.get(toName(name))
    leased?.stream.heard()
    if (leased !== undefined)
      Object.assign(leased, { seq: Math.max(leased.seq, seq), isClosing: isClosing === true })
    if (sentAtMs !== undefined) onClock?.(name, sentAtMs - atMs)
    this.#changed(siteId)
  }

  /**
   * All readers that follow a site now, and those that fail open and have not closed. Rejects when
   * the store is unavailable.
   */
  async connected(siteId: SiteId): Promise<ConnectedVerifiers> {
    const { clock, store } = this.#parts
    const { leases, streams } = await this.readers(siteId)
    const nowMs = clock.clocks().wallMs
    const found = leases.filter(
      (lease) => isConnected(lease, nowMs) || (lease.failsOpen && lease.closedAtMs === undefined),
    )
    return {
      leases: found.map((lease) =>
        lease.epoch === store.epoch ? lease : { ...lease, seq: 0, acks: [], times: NO_TIMES },
      ),
      streams,
    }
  }

  /** The same with all instances whose lease ended within a day, as they are stored. */
  async readers(siteId: SiteId): Promise<ConnectedVerifiers> {
    const { leases, streams } = await this.#parts.readings.read(siteId, { isLatest: false })
    return { leases, streams }
  }

  /** See `Receipts.load`. */
  receipt(siteId: SiteId, entry: EntryPosition, wait?: ReceiptWait): Promise<Receipt> {
    return this.#parts.receipts.load(siteId, entry, wait)
  }

  /**
   * Retires an instance that is gone. Throws a Problem: `verifier_active` when it is connected, or
   * may still accept requests because its data is fresh; `not_found` when there is none to retire.
   * One that fails open has no bound, so the caller vouches for its end.
   */
  async dismiss(siteId: SiteId, instanceId: string, context: AuditContext): Promise<void> {
    const { leases, store, clock } = this.#parts
    const { wallMs } = clock.clocks()
    const own = (await leases.list(siteId)).filter((lease) => lease.instanceId === instanceId)
    if (own.some((lease) => isConnected(lease, wallMs)))
      throw new Problem('verifier_active', 'This verifier is connected. Close it first: guard.close().')
    const open = own.filter(({ closedAtMs }) => closedAtMs === undefined)
    // Its own bound, because heads of the site may have been valid for longer before.
    const untilMs = Math.max(
      ...open.map((lease) =>
        lease.failsOpen ? -Infinity : readLeaseTimes(lease, Infinity, wallMs).liveUntilMs,
      ),
    )
    if (untilMs > wallMs)
      throw new Problem(
        'verifier_active',
        `This verifier may accept requests until ${formatTime(untilMs)}, because its revocation data is fresh until then. Retire it after that.`,
      )
    if (!(await store.dismissLease(siteId, instanceId, open, Math.ceil(wallMs), context)))
      throw new Problem('not_found', 'No verifier of this site that is gone has this instance id.')
    this.#changed(siteId)
  }

  /**
   * Runs a query about the verifiers of a site for an API key. Throws a Problem `rate_limited` when
   * that key has as many as it may. A query goes on counting for a time that depends on the number
   * of leases.
   */
  query<Answer>(keyId: string, siteId: SiteId, run: () => Promise<Answer>): Promise<Answer> {
    const { readings } = this.#parts
    return this.#quota.run(keyId, run, () => readings.leases(siteId) * this.#options.queryRestMsPerLease)
  }

  /** The random id of this node. */
  get nodeId(): string {
    return this.#parts.nodeId
  }

  /** This node has applied the log up to `position`. */
  applied(position: number): void {
    this.#parts.readings.applied(position)
    this.#parts.streams.applied(position)
  }

  /** How many entries the slowest reader on this node is behind. */
  lag(headSeq: (siteId: SiteId) => number): number {
    let most = this.#parts.streams.lag(headSeq)
    for (const { name, seq } of this.#leased.values()) most = Math.max(most, headSeq(name.siteId) - seq)
    return most
  }

  /** How many instances with a stream on this node have been silent for too long. */
  get silent(): number {
    const sinceMs = performance.now() - this.#options.silentMs
    let count = 0
    for (const { stream } of this.#leased.values()) if (stream.heardAtMs < sinceMs) count++
    return count
  }

  /**
   * Drops readers that give no sign of life. They may have acknowledged to another node, so the
   * store is asked first.
   */
  async #dropSilent(): Promise<void> {
    const { unheardBytesMax, silentMs, droppedMs } = this.#options
    const { store, clock, leases } = this.#parts
    const nowMs = performance.now()
    const closing = new Set(
      [...this.#leased.values()].filter(({ isClosing }) => isClosing).map(({ stream }) => stream),
    )
    const isDue = (stream: FeedStream, { promise }: Verifier) => {
      const quietMs = nowMs - stream.heardAtMs
      if (quietMs <= silentMs) return false
      return (
        stream.unheardBytes > unheardBytesMax ||
        closing.has(stream) ||
        (promise !== undefined && quietMs > droppedMs)
      )
    }
    const due = [...this.#open].filter(([stream, verifier]) => isDue(stream, verifier))
    const names = due.flatMap(([, verifier]) => toLeaseName(verifier) ?? [])
    const heard =
      store.isShared && names.length > 0 ? await leases.heardTimes(names) : new Map<string, number>()
    const { wallMs } = clock.clocks()
    for (const [stream, verifier] of due) {
      const name = toLeaseName(verifier)
      const heardAtMs = name && heard.get(toName(name))
      if (heardAtMs !== undefined && wallMs - heardAtMs <= silentMs) stream.heard()
      else stream.close('silent')
    }
  }

  #changed(siteId: SiteId): void {
    this.#parts.readings.changed(siteId)
    this.#parts.receipts.wake(siteId)
  }

  /** Ends every wait. Other nodes do not count this one any longer. */
  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#parts.receipts.close()
    await this.#dropping.close()
    await this.#parts.leases.close()
    await this.#parts.streams.close()
  }
}

/** The lease of a reader; undefined for a reader without an instance. */
function toLeaseName({ siteId, keyId, promise }: Verifier): LeaseName | undefined {
  return promise && { siteId, keyId, instanceId: promise.instanceId }
}
