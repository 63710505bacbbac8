import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SiteId } from '@countersign/core'
import type { Logger } from 'pino'
import type { Clock } from '../log/clock.ts'
import { createWake, type Wake } from '../log/wake.ts'
import type { FeedStreamRow, Store, StreamClaim } from '../store/store.ts'
import type { FeedStream, StreamEnd, Verifier } from './feed-stream.ts'
import type { StreamWatcher } from './feeds.ts'
import { type ConnectedVerifier, type PlacedInTime, type Receipt, receiptOf, verifiersOf } from './receipt.ts'

/** Who follows the feeds of this store, on whatever node, and how far each has got. */
export interface Verifiers extends StreamWatcher {
  /**
   * Somebody says how far it has applied the log; the caller has made sure that the log goes that far. It counts for whoever is connected under that
   * name with that key, never moves anybody back, and makes nobody.
   */
  acknowledge(claim: StreamClaim): void
  /** Everybody who follows a site now. Rejects when the store cannot be asked. */
  connected(siteId: SiteId): Promise<readonly ConnectedVerifier[]>
  /** Who has applied an entry. With `waitMs`, resolves when everybody has, or so much later. */
  receipt(siteId: SiteId, entry: PlacedInTime, waitMs?: number): Promise<Receipt>
  /** How many entries the slowest on this node is behind. */
  lag(headSeq: (siteId: SiteId) => number): number
  /** Nobody waits any longer, and other nodes need not count ours. */
  close(): Promise<void>
}

export interface VerifiersParts {
  readonly store: Pick<Store, 'isShared' | 'epoch' | 'reportStreams' | 'endFeedNode' | 'creditStreams' | 'feedStreams'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
  /** Told of every end of a stream. */
  readonly onEnd: (why: StreamEnd) => void
}

export interface VerifiersOptions {
  /** What happened is told to the other nodes after this long, together with all that happened since. */
  readonly reportMs?: number
  readonly renewMs?: number
  /** A node that does not renew its lease counts as gone. Longer than clocks of nodes may differ. */
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
/** While somebody waits: how often other nodes are asked, and how long acknowledgements here are gathered. */
const ASK_MS = 100
const GATHER_MS = 10

type LocalStream = { -readonly [Name in keyof FeedStreamRow]: FeedStreamRow[Name] }

interface Claimed {
  readonly claim: StreamClaim
  readonly sinceMs: number
}

interface SiteWake {
  readonly wake: Wake
  waiting: number
}

export function openVerifiers(parts: VerifiersParts, options: VerifiersOptions = {}): Verifiers {
  return new VerifierRegister(parts, options)
}

class VerifierRegister implements Verifiers {
  readonly #parts: VerifiersParts
  readonly #options: Required<VerifiersOptions>
  readonly #nodeId = `node_${randomBytes(12).toString('base64url')}`
  readonly #streams = new Map<FeedStream, LocalStream>()
  /** By site and name. */
  readonly #sites = new Map<SiteId, Map<string, LocalStream[]>>()
  /** Not yet told to the other nodes. */
  readonly #changed = new Set<LocalStream>()
  readonly #ended = new Set<string>()
  #claims = new Map<string, Claimed>()
  readonly #wakes = new Map<SiteId, SiteWake>()
  readonly #stop = new AbortController()
  #made = 0
  #hasLease = false
  #isFailing = false
  #reporting: Promise<void> | undefined
  #soon: NodeJS.Timeout | undefined
  readonly #renewing: NodeJS.Timeout
  #closing: Promise<void> | undefined

  constructor(parts: VerifiersParts, options: VerifiersOptions) {
    this.#parts = parts
    this.#options = { reportMs: REPORT_MS, renewMs: RENEW_MS, leaseMs: LEASE_MS, ...options }
    this.#renewing = setInterval(() => {
      if (this.#streams.size > 0 || this.#hasNews()) this.#report()
    }, this.#options.renewMs)
    this.#renewing.unref()
  }

  opened({ siteId, keyId, verifierId, isNamed }: Verifier, from: number, stream: FeedStream): void {
    const { store, clock } = this.#parts
    const local: LocalStream = {
      streamId: `${this.#nodeId}.${++this.#made}`,
      nodeId: this.#nodeId,
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
    const site = this.#sites.get(siteId) ?? new Map<string, LocalStream[]>()
    this.#sites.set(siteId, site)
    site.set(verifierId, [...(site.get(verifierId) ?? []), local])
    this.#change(local)
  }

  closed(stream: FeedStream, why: StreamEnd): void {
    this.#parts.onEnd(why)
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
    this.#wakes.get(siteId)?.wake.wake()
  }

  acknowledge(claim: StreamClaim): void {
    const { isShared } = this.#parts.store
    const own = this.#localFor(claim)
    // Without a name it is for the only one without a name, and another node may have one too.
    const isSure = claim.verifierId !== undefined || (!isShared && own.length === 1)
    if (isSure) for (const local of own) this.#credit(local, claim)
    if (isShared && (!isSure || own.length === 0)) this.#claim(claim)
    this.#wakes.get(claim.siteId)?.wake.wake()
  }

  #localFor({ siteId, keyId, verifierId }: StreamClaim): readonly LocalStream[] {
    const site = this.#sites.get(siteId)
    if (verifierId !== undefined) return site?.get(verifierId)?.filter((local) => local.keyId === keyId) ?? []
    return [...(site?.values() ?? [])].flat().filter((local) => local.keyId === keyId && !local.isNamed)
  }

  #credit(local: LocalStream, { epoch, seq, atMs }: StreamClaim): void {
    if (local.epoch !== epoch || local.seq >= seq) return
    local.seq = seq
    local.acks = [...local.acks.slice(1 - ACKS_KEPT), { seq, atMs }]
    this.#change(local)
  }

  /** For a stream of another node: of several by one verifier the highest says it all. */
  #claim(claim: StreamClaim): void {
    const name = nameOf(claim)
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
      // What could not be told stays to be told, with the next renewal.
      (err: unknown) => {
        this.#reporting = undefined
        if (!this.#isFailing) this.#parts.log.warn({ err }, 'other nodes could not be told who follows the feeds here; trying again')
        this.#isFailing = true
      },
    )
  }

  async #tell(): Promise<void> {
    const { store, clock } = this.#parts
    do {
      const [streams, ended] = [firstOf(this.#changed, STREAMS_REPORTED_MAX), firstOf(this.#ended, STREAMS_REPORTED_MAX)]
      const seqs = streams.map(({ seq }) => seq)
      const nowMs = clock.nowMs()
      const expiresAtMs = nowMs + this.#options.leaseMs
      const lease = await store.reportStreams({ nodeId: this.#nodeId, nowMs, expiresAtMs, streams, ended })
      // Those that changed again while they were being written down stay.
      for (const [i, stream] of streams.entries()) if (stream.seq === seqs[i]) this.#changed.delete(stream)
      for (const streamId of ended) this.#ended.delete(streamId)
      // The lease had run out: the others may have forgotten what they were told before.
      if (lease === 'begun' && this.#hasLease) for (const local of this.#streams.values()) this.#changed.add(local)
      this.#hasLease = true
    } while (this.#changed.size > 0 || this.#ended.size > 0)
    await this.#creditElsewhere()
  }

  async #creditElsewhere(): Promise<void> {
    const { store, clock } = this.#parts
    const asked = [...this.#claims.values()]
    if (asked.length === 0) return
    const claims = asked.map(({ claim }) => claim)
    const unmet = new Set((await store.creditStreams(claims, clock.nowMs())).map(nameOf))
    const sinceMs = performance.now() - UNMET_MS_MAX
    for (const each of asked) {
      const name = nameOf(each.claim)
      const isDone = !unmet.has(name) || each.sinceMs < sinceMs
      if (isDone && this.#claims.get(name) === each) this.#claims.delete(name)
      this.#wakes.get(each.claim.siteId)?.wake.wake()
    }
  }

  async connected(siteId: SiteId): Promise<readonly ConnectedVerifier[]> {
    const { store, clock } = this.#parts
    const found = new Map<string, FeedStreamRow>()
    for (let after: string | undefined, isEnd = !store.isShared; !isEnd; ) {
      const page = await store.feedStreams(siteId, clock.nowMs(), { after, limit: PAGE })
      for (const stream of page) if (stream.nodeId !== this.#nodeId || this.#isOpen(stream)) found.set(stream.streamId, stream)
      after = page.at(-1)?.streamId
      isEnd = page.length < PAGE
    }
    // Of our own we know what nobody has been told yet; but of an acknowledgement somebody else may have heard.
    for (const local of [...(this.#sites.get(siteId)?.values() ?? [])].flat()) {
      const told = found.get(local.streamId)
      if (told === undefined || told.seq <= local.seq) found.set(local.streamId, local)
    }
    return verifiersOf(found.values(), store.epoch)
  }

  #isOpen({ siteId, verifierId, streamId }: FeedStreamRow): boolean {
    return (
      this.#sites
        .get(siteId)
        ?.get(verifierId)
        ?.some((local) => local.streamId === streamId) ?? false
    )
  }

  async receipt(siteId: SiteId, entry: PlacedInTime, waitMs = 0): Promise<Receipt> {
    const { store, clock } = this.#parts
    const { signal } = this.#stop
    const untilMs = performance.now() + waitMs
    const leftMs = () => Math.max(0, untilMs - performance.now())
    const site = this.#wakes.get(siteId) ?? { wake: createWake(), waiting: 0 }
    this.#wakes.set(siteId, site)
    site.waiting++
    try {
      for (;;) {
        const { count } = site.wake // Before the store is asked: what happens meanwhile must still wake us.
        const receipt = receiptOf(await this.connected(siteId), entry, clock.clocks().wallMs)
        if (receipt.acknowledged === receipt.connected || leftMs() === 0 || signal.aborted) return receipt
        await site.wake.sleep(count, Math.min(leftMs(), store.isShared ? ASK_MS : Infinity), signal)
        // A crowd acknowledges at once, and once for all of them is enough.
        await sleep(Math.min(GATHER_MS, leftMs()))
      }
    } finally {
      site.waiting--
      if (site.waiting === 0) this.#wakes.delete(siteId)
    }
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
    const { store, log } = this.#parts
    await store.endFeedNode(this.#nodeId).catch((err: unknown) => log.warn({ err }, 'other nodes will count this one for a while'))
  }
}

const NONE: FeedStreamRow['acks'] = []

function nameOf({ siteId, keyId, verifierId = '' }: StreamClaim): string {
  return `${siteId} ${keyId} ${verifierId}`
}

function firstOf<T>(set: ReadonlySet<T>, max: number): readonly T[] {
  const first: T[] = []
  for (const each of set) {
    if (first.length >= max) break
    first.push(each)
  }
  return first
}
