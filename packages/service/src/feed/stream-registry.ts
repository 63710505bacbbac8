import type { SiteId } from '@countersign/core'
import type { Logger } from 'pino'
import { allRows } from '../all-rows.ts'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import type { FeedStreamRow, NodeView, RemoteAck } from '../store/operations/feed-streams.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { DepartedReaders } from './departed-readers.ts'
import type { FeedStream, Verifier } from './feed-stream.ts'
import { type LocalStream, LocalStreams } from './local-streams.ts'
import { type DepartedStream, type StreamReader, toReaders } from './receipt.ts'

export interface StreamRegistryParts {
  readonly store: Pick<
    Store,
    | 'isShared'
    | 'epoch'
    | 'reportStreams'
    | 'endFeedNode'
    | 'applyAcks'
    | 'feedStreams'
    | 'recordDeparted'
    | 'departedReaders'
  >
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
  readonly nodeId: string
  /** The maximum age of the view of this node when it decides. */
  readonly viewAgeMsMax: number
  /** Called when something about the readers of a site has changed. */
  readonly onChange: (siteId: SiteId) => void
}

export interface StreamRegistryOptions {
  /** Changes are reported to the other nodes after this long, together. */
  readonly reportMs?: number
  readonly renewMs?: number
  /**
   * A node that does not renew its lease counts as gone. Longer than clocks of nodes may differ.
   */
  readonly leaseMs?: number
}

const REPORT_MS = 50
const RENEW_MS = 2000
const LEASE_MS = 10_000
const STREAMS_REPORTED_MAX = 500
/** An acknowledgement may arrive before the node with the connection has reported the stream. */
const UNMATCHED_MS_MAX = 3000
const FORWARDED_MAX = 20_000
const ACKS_KEPT = 16
const MARKS_KEPT = 16
const NO_ACKS: FeedStreamRow['acks'] = []

interface ForwardedAck {
  readonly ack: RemoteAck
  readonly sinceMs: number
}

/**
 * The streams without an instance on all nodes of the store. Each node reports its own streams and
 * how far its view has applied the log, and forwards acknowledgements for streams of other nodes.
 */
export class StreamRegistry {
  readonly #parts: StreamRegistryParts
  readonly #options: Required<StreamRegistryOptions>
  readonly #local = new LocalStreams()
  /** Not yet reported to the other nodes. */
  readonly #changed = new Set<LocalStream>()
  readonly #ended = new Set<string>()
  readonly #forwarded = new Map<string, ForwardedAck>()
  readonly #departed: DepartedReaders
  #hasLease = false
  /** On the monotonic clock: before the store was last asked to renew the row of this node. */
  #renewedMs = -Infinity
  #marks: NodeView['marks'] = []
  #marksEpoch = ''
  #isFailing = false
  #isClosed = false
  #soon: NodeJS.Timeout | undefined
  /** Undefined on a store with one process. */
  readonly #reporting: PeriodicJob | undefined
  #closing: Promise<void> | undefined

  constructor(parts: StreamRegistryParts, options: StreamRegistryOptions = {}) {
    this.#parts = parts
    this.#departed = new DepartedReaders(parts)
    this.#options = { reportMs: REPORT_MS, renewMs: RENEW_MS, leaseMs: LEASE_MS, ...options }
    if (parts.store.isShared)
      this.#reporting = everyMs(
        this.#options.renewMs,
        () => this.#reportNews(),
        (err) => this.#onReportFailure(err),
      )
  }

  /** Writes the row of this node. Before that it may decide nothing and give out no heads. */
  async start(): Promise<void> {
    if (this.#parts.store.isShared) await this.#report()
  }

  /** Whether other nodes still count this one. If they do not, it must give out no heads. */
  get isKnown(): boolean {
    const { store, clock } = this.#parts
    return !store.isShared || clock.clocks().monotonicMs - this.#renewedMs < this.#options.leaseMs
  }

  /** This node has applied the log up to `position`. */
  applied(position: number): void {
    const { store, clock } = this.#parts
    if (!store.isShared || position === this.#marks.at(-1)?.position) return
    if (store.epoch !== this.#marksEpoch) this.#marks = []
    this.#marksEpoch = store.epoch
    this.#marks = [...this.#marks.slice(1 - MARKS_KEPT), { position, atMs: Math.ceil(clock.clocks().wallMs) }]
    this.#reportSoon()
  }

  opened(
    { siteId, keyId, verifierId, isNamed }: Verifier,
    streamId: string,
    seq: number,
    stream: FeedStream,
  ): void {
    const { store, clock, nodeId } = this.#parts
    const { epoch } = store
    const connectedAtMs = clock.clocks().wallMs
    const row = { streamId, nodeId, siteId, keyId, verifierId, isNamed, connectedAtMs, epoch, seq }
    const local: LocalStream = { stream, row: { ...row, acks: NO_ACKS } }
    this.#local.add(local)
    this.#change(local)
  }

  closed(stream: FeedStream): void {
    const local = this.#local.remove(stream)
    if (local === undefined) return
    this.#changed.delete(local)
    this.#departed.add(local.row)
    if (this.#parts.store.isShared) this.#ended.add(local.row.streamId)
    this.#reportSoon()
    this.#parts.onChange(local.row.siteId)
  }

  /**
   * Applies an acknowledgement to the readers of that name with that key, or to the only reader
   * without a name. Never moves a reader back. Returns the streams of this node among them.
   */
  acknowledge(ack: RemoteAck): readonly FeedStream[] {
    const { isShared } = this.#parts.store
    const own = this.#local.find(ack)
    // Without a name it is for the only reader without a name, and another node may have one too.
    const isSure = ack.verifierId !== undefined || (!isShared && own.length === 1)
    if (isSure) for (const local of own) this.#apply(local, ack)
    if (isShared && (!isSure || own.length === 0)) this.#forward(ack)
    this.#parts.onChange(ack.siteId)
    return isSure ? own.map(({ stream }) => stream) : []
  }

  #apply(local: LocalStream, { epoch, seq, atMs }: RemoteAck): void {
    const { row } = local
    if (row.epoch !== epoch || row.seq >= seq) return
    row.seq = seq
    row.acks = [...row.acks.slice(1 - ACKS_KEPT), { seq, atMs }]
    this.#change(local)
  }

  /**
   * For a stream of another node. The highest acknowledgement of a verifier replaces the others.
   */
  #forward(ack: RemoteAck): void {
    const name = toName(ack)
    const before = this.#forwarded.get(name)
    if (before === undefined && this.#forwarded.size >= FORWARDED_MAX) return
    if (before !== undefined && before.ack.epoch === ack.epoch && before.ack.seq >= ack.seq) return
    this.#forwarded.set(name, { ack, sinceMs: performance.now() })
    this.#reportSoon()
  }

  #change(local: LocalStream): void {
    if (!this.#parts.store.isShared) return
    this.#changed.add(local)
    this.#reportSoon()
  }

  #reportSoon(): void {
    if (this.#reporting === undefined || this.#soon !== undefined || this.#isClosed) return
    this.#soon = setTimeout(() => {
      this.#soon = undefined
      this.#reporting?.run()
    }, this.#options.reportMs)
    this.#soon.unref()
  }

  async #reportNews(): Promise<void> {
    await this.#report()
    this.#isFailing = false
    if (this.#changed.size > 0 || this.#ended.size > 0 || this.#forwarded.size > 0) this.#reportSoon()
  }

  /** What could not be reported is reported with the next renewal. */
  #onReportFailure(err: unknown): void {
    if (!this.#isFailing)
      this.#parts.log.warn({ err }, 'could not report the streams of this node to other nodes; trying again')
    this.#isFailing = true
  }

  async #report(): Promise<void> {
    const { store, clock, nodeId, viewAgeMsMax } = this.#parts
    do {
      const changed = takeFirst(this.#changed, STREAMS_REPORTED_MAX)
      const streams = changed.map(({ row }) => row)
      const ended = takeFirst(this.#ended, STREAMS_REPORTED_MAX)
      const seqs = streams.map(({ seq }) => seq)
      const nowMs = clock.nowMs()
      const askedMs = clock.clocks().monotonicMs
      const expiresAtMs = nowMs + this.#options.leaseMs
      const view = { ageMsMax: viewAgeMsMax, epoch: this.#marksEpoch, marks: this.#marks }
      const lease = await store.reportStreams({ nodeId, nowMs, expiresAtMs, view, streams, ended })
      this.#renewedMs = askedMs
      // Streams that changed again while they were being written stay.
      for (const [i, local] of changed.entries()) if (local.row.seq === seqs[i]) this.#changed.delete(local)
      for (const streamId of ended) this.#ended.delete(streamId)
      // The lease had expired, so the store may have dropped the earlier reports.
      if (lease === 'begun' && this.#hasLease) for (const local of this.#local.all()) this.#changed.add(local)
      this.#hasLease = true
    } while (this.#changed.size > 0 || this.#ended.size > 0)
    await this.#applyForwarded()
  }

  async #applyForwarded(): Promise<void> {
    const { store, clock } = this.#parts
    const forwarded = [...this.#forwarded.values()]
    if (forwarded.length === 0) return
    const acks = forwarded.map(({ ack }) => ack)
    const unmatched = new Set((await store.applyAcks(acks, clock.nowMs())).map(toName))
    const sinceMs = performance.now() - UNMATCHED_MS_MAX
    for (const each of forwarded) {
      const name = toName(each.ack)
      const isDone = !unmatched.has(name) || each.sinceMs < sinceMs
      if (isDone && this.#forwarded.get(name) === each) this.#forwarded.delete(name)
      this.#parts.onChange(each.ack.siteId)
    }
  }

  /**
   * All readers without an instance that follow a site now. Rejects when the store is unavailable.
   */
  async readers(siteId: SiteId): Promise<readonly StreamReader[]> {
    const { store, clock, nodeId } = this.#parts
    const found = new Map<string, FeedStreamRow>()
    const rows = allRows<FeedStreamRow>((last, limit) =>
      store.feedStreams(siteId, clock.nowMs(), { after: last?.streamId, limit }),
    )
    if (store.isShared) for await (const row of rows) found.set(row.streamId, row)
    const own = new Map(this.#local.atSite(siteId).map(({ row }) => [row.streamId, row]))
    for (const { streamId, nodeId: servedBy } of found.values())
      if (servedBy === nodeId && !own.has(streamId)) found.delete(streamId)
    // This node may not have reported everything, or another node may have received an
    // acknowledgement.
    for (const [streamId, row] of own) {
      const reported = found.get(streamId)
      if (reported === undefined || reported.seq <= row.seq) found.set(streamId, row)
    }
    return toReaders(found.values(), store.epoch)
  }

  /** Readers without an instance that disconnected from any node since then. */
  departed(siteId: SiteId, sinceMs: number): Promise<readonly DepartedStream[]> {
    return this.#departed.list(siteId, sinceMs)
  }

  /** How many entries the slowest reader on this node is behind. */
  lag(headSeq: (siteId: SiteId) => number): number {
    let most = 0
    for (const { row } of this.#local.all()) most = Math.max(most, headSeq(row.siteId) - row.seq)
    return most
  }

  /** Other nodes do not count this one any longer. */
  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#soon)
    await this.#reporting?.close()
    for (const { row } of this.#local.all()) this.#departed.add(row)
    await this.#departed.close()
    if (!this.#hasLease) return
    const { store, clock, log, nodeId } = this.#parts
    await store
      .endFeedNode(nodeId, Math.ceil(clock.clocks().wallMs))
      .catch((err: unknown) => log.warn({ err }, 'other nodes will count this one for a while'))
  }
}

function toName({ siteId, keyId, verifierId = '' }: RemoteAck): string {
  return `${siteId} ${keyId} ${verifierId}`
}

function takeFirst<T>(set: ReadonlySet<T>, max: number): readonly T[] {
  const first: T[] = []
  for (const each of set) {
    if (first.length >= max) break
    first.push(each)
  }
  return first
}
