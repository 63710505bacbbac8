import type { SiteId } from '@countersign/core'
import type { Logger } from 'pino'
import type { FeedStreamRow, NodeView, RemoteAck } from '../store/operations/feed-streams.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { FeedStream, Verifier } from './feed-stream.ts'
import { type StreamReader, toReaders } from './receipt.ts'

/** This node among the nodes of its store, and the streams without an instance on all of them. */
export interface StreamRegister {
  /** Writes the row of this node. Before that it may decide nothing and give out no heads. */
  start(): Promise<void>
  opened(verifier: Verifier, streamId: string, from: number, stream: FeedStream): void
  closed(stream: FeedStream): void
  /**
   * For the readers of that name with that key, or for the only one without a name. Never moves one
   * back. Returns the streams of this node among them.
   */
  acknowledge(claim: RemoteAck): readonly FeedStream[]
  /**
   * Everything without an instance that follows a site now. Rejects when the store cannot be asked.
   */
  readers(siteId: SiteId): Promise<readonly StreamReader[]>
  /** This node has applied the log up to here. */
  applied(position: number): void
  /**
   * Whether other nodes still know of this one. A node that they do not know of must give out no
   * heads.
   */
  readonly isKnown: boolean
  /** How many entries the slowest on this node is behind. */
  lag(headSeq: (siteId: SiteId) => number): number
  /** Other nodes need not count this one any longer. */
  close(): Promise<void>
}

export interface StreamRegisterParts {
  readonly store: Pick<
    Store,
    'isShared' | 'epoch' | 'reportStreams' | 'endFeedNode' | 'applyAcks' | 'feedStreams'
  >
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
  readonly nodeId: string
  /** How old the view of this node may be when it decides. */
  readonly viewAgeMsMax: number
  /** Something about the readers of a site has changed. */
  readonly onChange: (siteId: SiteId) => void
}

export interface StreamRegisterOptions {
  /**
   * What happened is told to the other nodes after this long, together with all that happened
   * since.
   */
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
const PAGE = 1000
/** An acknowledgement may come before the node that has the connection has told of it. */
const UNMET_MS_MAX = 3000
const CLAIMS_MAX = 20_000
const ACKS_KEPT = 16
const MARKS_KEPT = 16
type LocalStream = { -readonly [Name in keyof FeedStreamRow]: FeedStreamRow[Name] }

interface Claimed {
  readonly claim: RemoteAck
  readonly sinceMs: number
}

export function createStreamRegister(
  parts: StreamRegisterParts,
  options: StreamRegisterOptions = {},
): StreamRegister {
  return new NodeStreams(parts, options)
}

class NodeStreams implements StreamRegister {
  readonly #parts: StreamRegisterParts
  readonly #options: Required<StreamRegisterOptions>
  readonly #streams = new Map<FeedStream, LocalStream>()
  readonly #byRow = new WeakMap<LocalStream, FeedStream>()
  /** By site and name. */
  readonly #sites = new Map<SiteId, Map<string, LocalStream[]>>()
  /** Not yet told to the other nodes. */
  readonly #changed = new Set<LocalStream>()
  readonly #ended = new Set<string>()
  #claims = new Map<string, Claimed>()
  readonly #stop = new AbortController()
  #hasLease = false
  /**
   * On the monotonic clock: when the row of this node was last renewed, before the store was asked
   * to.
   */
  #renewedMs = -Infinity
  #marks: NodeView['marks'] = []
  #marksEpoch = ''
  #isFailing = false
  #reporting: Promise<void> | undefined
  #soon: NodeJS.Timeout | undefined
  readonly #renewing: NodeJS.Timeout
  #closing: Promise<void> | undefined

  constructor(parts: StreamRegisterParts, options: StreamRegisterOptions) {
    this.#parts = parts
    this.#options = { reportMs: REPORT_MS, renewMs: RENEW_MS, leaseMs: LEASE_MS, ...options }
    this.#renewing = setInterval(() => {
      this.#report()
    }, this.#options.renewMs)
    this.#renewing.unref()
  }

  async start(): Promise<void> {
    if (this.#parts.store.isShared) await this.#tell()
  }

  get isKnown(): boolean {
    const { store, clock } = this.#parts
    return !store.isShared || clock.clocks().monotonicMs - this.#renewedMs < this.#options.leaseMs
  }

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
    from: number,
    stream: FeedStream,
  ): void {
    const { store, clock, nodeId } = this.#parts
    const local: LocalStream = {
      streamId,
      nodeId,
      siteId,
      keyId,
      verifierId,
      isNamed,
      connectedAtMs: clock.clocks().wallMs,
      epoch: store.epoch,
      seq: from,
      acks: NONE,
    }
    this.#streams.set(stream, local)
    this.#byRow.set(local, stream)
    const site = this.#sites.get(siteId) ?? new Map<string, LocalStream[]>()
    this.#sites.set(siteId, site)
    site.set(verifierId, [...(site.get(verifierId) ?? []), local])
    this.#change(local)
  }

  closed(stream: FeedStream): void {
    const local = this.#streams.get(stream)
    if (local === undefined) return
    this.#streams.delete(stream)
    const { siteId, verifierId, streamId } = local
    const site = this.#sites.get(siteId)
    const others = site?.get(verifierId)?.filter((each) => each !== local) ?? []
    if (others.length > 0) site?.set(verifierId, others)
    else site?.delete(verifierId)
    if (site?.size === 0) this.#sites.delete(siteId)
    this.#changed.delete(local)
    if (this.#parts.store.isShared) this.#ended.add(streamId)
    this.#reportSoon()
    this.#parts.onChange(siteId)
  }

  acknowledge(claim: RemoteAck): readonly FeedStream[] {
    const { isShared } = this.#parts.store
    const own = this.#localFor(claim)
    // Without a name it is for the only one without a name, and another node may have one too.
    const isSure = claim.verifierId !== undefined || (!isShared && own.length === 1)
    if (isSure) for (const local of own) this.#credit(local, claim)
    if (isShared && (!isSure || own.length === 0)) this.#claim(claim)
    this.#parts.onChange(claim.siteId)
    return isSure ? own.flatMap((local) => this.#byRow.get(local) ?? []) : []
  }

  #localFor({ siteId, keyId, verifierId }: RemoteAck): readonly LocalStream[] {
    const site = this.#sites.get(siteId)
    if (verifierId !== undefined) return site?.get(verifierId)?.filter((local) => local.keyId === keyId) ?? []
    return [...(site?.values() ?? [])].flat().filter((local) => local.keyId === keyId && !local.isNamed)
  }

  #credit(local: LocalStream, { epoch, seq, atMs }: RemoteAck): void {
    if (local.epoch !== epoch || local.seq >= seq) return
    local.seq = seq
    local.acks = [...local.acks.slice(1 - ACKS_KEPT), { seq, atMs }]
    this.#change(local)
  }

  /** For a stream of another node: of several by one verifier the highest says it all. */
  #claim(claim: RemoteAck): void {
    const name = toName(claim)
    const before = this.#claims.get(name)
    if (before === undefined && this.#claims.size >= CLAIMS_MAX) return
    if (before !== undefined && before.claim.epoch === claim.epoch && before.claim.seq >= claim.seq) return
    this.#claims.set(name, { claim, sinceMs: performance.now() })
    this.#reportSoon()
  }

  #change(local: LocalStream): void {
    if (!this.#parts.store.isShared) return
    this.#changed.add(local)
    this.#reportSoon()
  }

  #hasNews(): boolean {
    return this.#changed.size > 0 || this.#ended.size > 0 || this.#claims.size > 0
  }

  #reportSoon(): void {
    if (!this.#parts.store.isShared || this.#soon !== undefined || this.#stop.signal.aborted) return
    this.#soon = setTimeout(() => {
      this.#soon = undefined
      this.#report()
    }, this.#options.reportMs)
    this.#soon.unref()
  }

  #report(): void {
    if (!this.#parts.store.isShared || this.#reporting !== undefined || this.#stop.signal.aborted) return
    this.#reporting = this.#tell().then(
      () => {
        this.#reporting = undefined
        this.#isFailing = false
        if (this.#hasNews()) this.#reportSoon()
      },
      // What could not be reported is reported with the next renewal.
      (err: unknown) => {
        this.#reporting = undefined
        if (!this.#isFailing)
          this.#parts.log.warn(
            { err },
            'could not report the streams of this node to other nodes; trying again',
          )
        this.#isFailing = true
      },
    )
  }

  async #tell(): Promise<void> {
    const { store, clock, nodeId, viewAgeMsMax } = this.#parts
    do {
      const [streams, ended] = [
        takeFirst(this.#changed, STREAMS_REPORTED_MAX),
        takeFirst(this.#ended, STREAMS_REPORTED_MAX),
      ]
      const seqs = streams.map(({ seq }) => seq)
      const nowMs = clock.nowMs()
      const askedMs = clock.clocks().monotonicMs
      const expiresAtMs = nowMs + this.#options.leaseMs
      const view = { ageMsMax: viewAgeMsMax, epoch: this.#marksEpoch, marks: this.#marks }
      const lease = await store.reportStreams({ nodeId, nowMs, expiresAtMs, view, streams, ended })
      this.#renewedMs = askedMs
      // Those that changed again while they were being written down stay.
      for (const [i, stream] of streams.entries()) if (stream.seq === seqs[i]) this.#changed.delete(stream)
      for (const streamId of ended) this.#ended.delete(streamId)
      // The lease had run out: the others may have forgotten what they were told before.
      if (lease === 'begun' && this.#hasLease)
        for (const local of this.#streams.values()) this.#changed.add(local)
      this.#hasLease = true
    } while (this.#changed.size > 0 || this.#ended.size > 0)
    await this.#creditElsewhere()
  }

  async #creditElsewhere(): Promise<void> {
    const { store, clock } = this.#parts
    const asked = [...this.#claims.values()]
    if (asked.length === 0) return
    const claims = asked.map(({ claim }) => claim)
    const unmet = new Set((await store.applyAcks(claims, clock.nowMs())).map(toName))
    const sinceMs = performance.now() - UNMET_MS_MAX
    for (const each of asked) {
      const name = toName(each.claim)
      const isDone = !unmet.has(name) || each.sinceMs < sinceMs
      if (isDone && this.#claims.get(name) === each) this.#claims.delete(name)
      this.#parts.onChange(each.claim.siteId)
    }
  }

  async readers(siteId: SiteId): Promise<readonly StreamReader[]> {
    const { store, clock, nodeId } = this.#parts
    const found = new Map<string, FeedStreamRow>()
    for (let after: string | undefined, isEnd = !store.isShared; !isEnd; ) {
      const page = await store.feedStreams(siteId, clock.nowMs(), { after, limit: PAGE })
      for (const stream of page)
        if (stream.nodeId !== nodeId || this.#isOpen(stream)) found.set(stream.streamId, stream)
      after = page.at(-1)?.streamId
      isEnd = page.length < PAGE
    }
    // Of our own streams we know what was not reported yet; but another node may have heard an
    // acknowledgement.
    for (const local of [...(this.#sites.get(siteId)?.values() ?? [])].flat()) {
      const told = found.get(local.streamId)
      if (told === undefined || told.seq <= local.seq) found.set(local.streamId, local)
    }
    return toReaders(found.values(), store.epoch)
  }

  #isOpen({ siteId, verifierId, streamId }: FeedStreamRow): boolean {
    return (
      this.#sites
        .get(siteId)
        ?.get(verifierId)
        ?.some((local) => local.streamId === streamId) ?? false
    )
  }

  lag(headSeq: (siteId: SiteId) => number): number {
    let most = 0
    for (const { siteId, seq } of this.#streams.values()) most = Math.max(most, headSeq(siteId) - seq)
    return most
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#soon)
    clearInterval(this.#renewing)
    await this.#reporting
    if (!this.#hasLease) return
    const { store, clock, log, nodeId } = this.#parts
    await store
      .endFeedNode(nodeId, Math.ceil(clock.clocks().wallMs))
      .catch((err: unknown) => log.warn({ err }, 'other nodes will count this one for a while'))
  }
}

const NONE: FeedStreamRow['acks'] = []

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
