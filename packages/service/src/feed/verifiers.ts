import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import type { CommitTimes } from '../log/commit-times.ts'
import { createWake, type Wake } from '../log/wake.ts'
import { Problem } from '../problem.ts'
import type { EntryPosition } from '../store/logged.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { LeaseName, LeaseRow } from '../store/operations/leases.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { FeedStream, StreamEnd, Verifier } from './feed-stream.ts'
import type { StreamWatcher } from './feeds.ts'
import { createHeadReaders, type HeadReaders } from './head-readers.ts'
import { type Leases, openLeases, toName } from './leases.ts'
import {
  type CommittedEntry,
  createReceipt,
  isConnected,
  type Receipt,
  type StreamReader,
} from './receipt.ts'
import { createSiteReadings, type SiteReadings } from './site-readings.ts'
import { createStreamRegister, type StreamRegister, type StreamRegisterOptions } from './stream-register.ts'

/** Which verifiers follow the feeds of this store, on any node, and how far each has got. */
export interface Verifiers extends StreamWatcher {
  /** A verifier has acknowledged the log; the caller has made sure that the log goes that far. */
  acknowledge(ack: VerifierAck): void
  /**
   * All that follow a site now, and those that fail open and have not closed. Rejects when the
   * store cannot be asked.
   */
  connected(siteId: SiteId): Promise<ConnectedVerifiers>
  /** How far an entry has got. With a wait, resolves when that is over or so much later. */
  receipt(siteId: SiteId, entry: EntryPosition, wait?: ReceiptWait): Promise<Receipt>
  /**
   * Closes an instance that fails open and has no stream: it is gone. Throws a Problem `not_found`
   * when there is none.
   */
  dismiss(siteId: SiteId, instanceId: string, context: AuditContext): Promise<void>
  /**
   * Runs a query about the verifiers of a site for an API key. Throws a Problem `rate_limited` when
   * that key has as many as it may: running, or answered a moment ago that depends on the number of
   * leases.
   */
  query<Answer>(keyId: string, siteId: SiteId, run: () => Promise<Answer>): Promise<Answer>
  /** This node has applied the log up to here. */
  applied(position: number): void
  /** How many entries the slowest on this node is behind. */
  lag(headSeq: (siteId: SiteId) => number): number
  /** How many instances with a stream on this node have not acknowledged anything for too long. */
  readonly silent: number
  /** Ends every wait. Other nodes need not count this one any longer. */
  close(): Promise<void>
}

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
  readonly isClosing?: boolean
}

export interface ConnectedVerifiers {
  readonly leases: readonly LeaseRow[]
  readonly streams: readonly StreamReader[]
}

export interface ReceiptWait {
  readonly ms: number
  /**
   * `acknowledged`: until no verifier that may acknowledge is missing. `denied`: until the revoked
   * credential is denied everywhere.
   */
  readonly until: 'acknowledged' | 'denied'
}

export interface VerifiersParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
  readonly commits: Pick<CommitTimes, 'find'>
  /** How old the view of this node may be when it decides. */
  readonly viewAgeMsMax: number
  /** Called with every end of a stream. */
  readonly onEnd: (why: StreamEnd) => void
  /**
   * Called with how far the clock of a verifier instance is ahead of this node's, each time it
   * acknowledges.
   */
  readonly onClock?: (instance: LeaseName, aheadMs: number) => void
}

export interface VerifiersOptions extends StreamRegisterOptions {
  /** How often streams are looked at whose readers do not acknowledge. */
  readonly silenceCheckMs?: number
  /** A reader that was sent more than this and gave no sign of life for `silentMs` is dropped. */
  readonly unheardBytesMax?: number
  readonly silentMs?: number
  /** An instance that has not acknowledged anything for so long is dropped in any case. */
  readonly droppedMs?: number
  /** A query counts for so long after its answer, for each lease that it looked at. */
  readonly queryRestMsPerLease?: number
}

/**
 * While a caller waits: how often other nodes are asked, and how long acknowledgements here are
 * gathered.
 */
const ASK_MS = 100
const LOOK_MS = 1000
const GATHER_MS = 10
/**
 * A receipt of 1,000 leases takes about 1 ms. All callers that wait take a twentieth of the event
 * loop at most.
 */
const LEASES_LOOKED_AT_PER_MS = 50
/** Of 1,000 leases a query takes about 1 ms, and a key gets 80 answers a second at most. */
const QUERY_REST_MS_PER_LEASE = 0.1
/** On a store with one process acknowledgements are written for the time after a restart only. */
const WRITE_MS = 1000
const SHARED_WRITE_MS = 50

/** Opens the register of this node. When this returns, other nodes know of it. */
export async function openVerifiers(
  parts: VerifiersParts,
  options: VerifiersOptions = {},
): Promise<Verifiers> {
  const { store, clock, log, viewAgeMsMax } = parts
  const nodeId = `node_${randomBytes(12).toString('base64url')}`
  const wakes = new Map<SiteId, SiteWake>()
  const onChange = (siteId: SiteId) => {
    readings?.changed(siteId)
    wakes.get(siteId)?.wake.wake()
  }
  let readings: SiteReadings | undefined
  const streams = createStreamRegister({ store, clock, log, nodeId, viewAgeMsMax, onChange }, options)
  await streams.start()
  const writeMs = store.isShared ? (options.reportMs ?? SHARED_WRITE_MS) : WRITE_MS
  const leases = await openLeases({ store, clock, log, nodeId, writeMs })
  readings = createSiteReadings({ store, clock, nodeId, leases, streams })
  return new VerifierBook(
    {
      ...parts,
      nodeId,
      wakes,
      onChange,
      streams,
      leases,
      readings,
      readers: createHeadReaders(store, clock),
    },
    options,
  )
}

interface SiteWake {
  readonly wake: Wake
  waiting: number
}

interface BookParts extends VerifiersParts {
  readonly nodeId: string
  readonly wakes: Map<SiteId, SiteWake>
  readonly streams: StreamRegister
  readonly leases: Leases
  readonly readings: SiteReadings
  readonly readers: HeadReaders
  /** Something about the readers of a site has changed. */
  readonly onChange: (siteId: SiteId) => void
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

class VerifierBook implements Verifiers {
  readonly #parts: BookParts
  readonly #options: Required<
    Pick<VerifiersOptions, 'unheardBytesMax' | 'silentMs' | 'droppedMs' | 'queryRestMsPerLease'>
  >
  /** All streams of this node that are counted, with their readers. */
  readonly #open = new Map<FeedStream, Verifier>()
  readonly #leased = new Map<string, LeasedStream>()
  /** How many queries each API key has running. */
  readonly #queries = new Map<string, number>()
  readonly #stop = new AbortController()
  readonly #timer: NodeJS.Timeout
  #checking: Promise<void> | undefined
  #made = 0
  #closing: Promise<void> | undefined

  constructor(parts: BookParts, { silenceCheckMs = 2000, ...options }: VerifiersOptions) {
    this.#parts = parts
    this.#options = {
      unheardBytesMax: options.unheardBytesMax ?? limits.feed_buffer_bytes_max,
      silentMs: options.silentMs ?? limits.feed_silent_seconds * 1000,
      droppedMs: options.droppedMs ?? limits.feed_silent_seconds * 4000,
      queryRestMsPerLease: options.queryRestMsPerLease ?? QUERY_REST_MS_PER_LEASE,
    }
    this.#timer = setInterval(() => {
      this.#checking ??= this.#dropSilent()
        .catch((err: unknown) =>
          this.#parts.log.warn({ err }, 'verifiers that do not acknowledge could not be looked up'),
        )
        .finally(() => {
          this.#checking = undefined
        })
    }, silenceCheckMs)
    this.#timer.unref()
  }

  async admit(verifier: Verifier, streams: 'stream' | 'snapshot'): Promise<string> {
    const { leases, readers, nodeId } = this.#parts
    const streamId = `${nodeId}.${++this.#made}`
    if (verifier.promise !== undefined)
      await leases.open(toTerms(verifier, verifier.promise), streams === 'stream' ? streamId : undefined)
    else if (!verifier.isObserver) await readers.cover(verifier.siteId)
    return streamId
  }

  abandoned({ siteId, keyId, promise }: Verifier, streamId: string): void {
    if (promise !== undefined)
      this.#parts.leases.endStream({ siteId, keyId, instanceId: promise.instanceId }, streamId)
  }

  opened(verifier: Verifier, streamId: string, from: number, stream: FeedStream): void {
    const { siteId, keyId, promise } = verifier
    if (verifier.isObserver) return
    this.#open.set(stream, verifier)
    if (promise === undefined) {
      this.#parts.streams.opened(verifier, streamId, from, stream)
      return
    }
    const name = { siteId, keyId, instanceId: promise.instanceId }
    const before = this.#leased.get(toName(name))
    this.#leased.set(toName(name), { name, streamId, stream, seq: 0, isClosing: false })
    before?.stream.close('replaced')
    this.#wake(siteId)
  }

  closed(stream: FeedStream, why: StreamEnd): void {
    const { onEnd, leases, streams } = this.#parts
    onEnd(why)
    const verifier = this.#open.get(stream)
    if (verifier === undefined) return
    this.#open.delete(stream)
    const { siteId, keyId, promise } = verifier
    if (promise === undefined) {
      streams.closed(stream)
      return
    }
    const name = toName({ siteId, keyId, instanceId: promise.instanceId })
    const leased = this.#leased.get(name)
    // A stream that was replaced has no part in the lease any more.
    if (leased?.stream !== stream) return
    this.#leased.delete(name)
    leases.endStream(leased.name, leased.streamId)
    this.#wake(siteId)
  }

  mayProve(siteId: SiteId, hasUnleased: boolean): boolean {
    return this.#parts.streams.isKnown && (!hasUnleased || this.#parts.readers.isCovered(siteId))
  }

  acknowledge(ack: VerifierAck): void {
    const { siteId, keyId, verifierId, instanceId, epoch, seq, atMs, sentAtMs, isClosing } = ack
    const { leases, streams, onClock } = this.#parts
    if (instanceId === undefined) {
      for (const stream of streams.acknowledge({ siteId, keyId, verifierId, epoch, seq, atMs }))
        stream.heard()
      return
    }
    const name = { siteId, keyId, instanceId }
    leases.acknowledge(name, { epoch, seq, atMs, ...(isClosing === true && { isClosing }) })
    const leased = this.#leased.get(toName(name))
    leased?.stream.heard()
    if (leased !== undefined)
      Object.assign(leased, { seq: Math.max(leased.seq, seq), isClosing: isClosing === true })
    if (sentAtMs !== undefined) onClock?.(name, sentAtMs - atMs)
    this.#wake(siteId)
  }

  async connected(siteId: SiteId): Promise<ConnectedVerifiers> {
    const { readings, clock, store } = this.#parts
    const { leases, streams } = await readings.read(siteId, { isLatest: false })
    const nowMs = clock.clocks().wallMs
    const found = leases.filter(
      (lease) => isConnected(lease, nowMs) || (lease.failsOpen && lease.closedAtMs === undefined),
    )
    return {
      leases: found.map((lease) => (lease.epoch === store.epoch ? lease : { ...lease, seq: 0, acks: [] })),
      streams,
    }
  }

  async receipt(
    siteId: SiteId,
    placed: EntryPosition,
    { ms: waitMs, until }: ReceiptWait = { ms: 0, until: 'acknowledged' },
  ): Promise<Receipt> {
    const { store, clock, wakes, readings } = this.#parts
    const { signal } = this.#stop
    const untilMs = performance.now() + waitMs
    const leftMs = () => Math.max(0, untilMs - performance.now())
    const site = wakes.get(siteId) ?? { wake: createWake(), waiting: 0 }
    wakes.set(siteId, site)
    site.waiting++
    try {
      let entry = await this.#committed(siteId, placed)
      for (;;) {
        // This node may not have applied it when it was first asked.
        if (entry.deniedHereAtMs > clock.clocks().wallMs) entry = await this.#committed(siteId, placed)
        // Before the store is asked: what happens meanwhile must still wake us.
        const { count } = site.wake
        const readers = await readings.read(siteId, { entry, isLatest: waitMs > 0 })
        const receipt = createReceipt(readers, entry, clock.clocks().wallMs)
        const deniedInMs = (receipt.deniedEverywhereAtMs ?? Infinity) - clock.clocks().wallMs
        const isOver = until === 'denied' ? deniedInMs <= 0 : receipt.awaited === 0
        if (isOver || leftMs() === 0 || signal.aborted) return receipt
        const lookMs = Math.min(store.isShared ? ASK_MS : LOOK_MS, until === 'denied' ? deniedInMs : Infinity)
        await site.wake.sleep(count, Math.min(leftMs(), lookMs), signal)
        // Many acknowledge at once, and one look for all of them is enough. The more callers wait,
        // the less often each looks.
        const gatherMs = GATHER_MS + (site.waiting * readers.leases.length) / LEASES_LOOKED_AT_PER_MS
        await sleep(Math.min(gatherMs, leftMs()))
      }
    } finally {
      site.waiting--
      if (site.waiting === 0) wakes.delete(siteId)
    }
  }

  async dismiss(siteId: SiteId, instanceId: string, context: AuditContext): Promise<void> {
    const { leases, store, clock } = this.#parts
    const { wallMs } = clock.clocks()
    const own = (await leases.ofSite(siteId)).filter(
      (lease) => lease.instanceId === instanceId && lease.failsOpen,
    )
    if (own.some((lease) => isConnected(lease, wallMs)))
      throw new Problem(
        'not_found',
        'This verifier is connected. Only a verifier that fails open and is gone can be dismissed.',
      )
    const isDismissed =
      own.length > 0 && (await store.dismissLease(siteId, instanceId, Math.ceil(wallMs), context))
    if (!isDismissed)
      throw new Problem('not_found', 'No verifier of this site that fails open has this instance id.')
    this.#wake(siteId)
  }

  async query<Answer>(keyId: string, siteId: SiteId, run: () => Promise<Answer>): Promise<Answer> {
    const running = this.#queries.get(keyId) ?? 0
    const quota = limits.verifier_queries_per_key_max
    if (running >= quota)
      throw new Problem(
        'rate_limited',
        `This key has ${quota} queries about verifiers under way on this node. Send fewer at a time.`,
        {
          retryAfterSeconds: 1,
          policy: { name: 'verifier_queries', quota, windowSeconds: 1 },
        },
      )
    this.#queries.set(keyId, running + 1)
    try {
      return await run()
    } finally {
      const end = () => {
        const left = (this.#queries.get(keyId) ?? 1) - 1
        if (left > 0) this.#queries.set(keyId, left)
        else this.#queries.delete(keyId)
      }
      const restMs = this.#parts.readings.leases(siteId) * this.#options.queryRestMsPerLease
      if (restMs < 1) end()
      else setTimeout(end, restMs).unref()
    }
  }

  async #committed(siteId: SiteId, { epoch, seq, atMs }: EntryPosition): Promise<CommittedEntry> {
    const { store, commits, viewAgeMsMax } = this.#parts
    const site = await store.site(siteId)
    if (site === undefined) throw new Problem('not_found')
    const { position, committedAtMs, appliedAtMs } = await commits.find(siteId, seq)
    const deniedHereAtMs = appliedAtMs ?? committedAtMs + viewAgeMsMax
    const ageMs = site.maxStalenessSecondsMax * 1000
    const before = site.stalenessBefore
    const headAgeMsMax = Math.max(ageMs, (before?.seconds ?? 0) * 1000)
    const headsDeadAtMs = async () => {
      if (before === undefined || seq <= before.seq) return committedAtMs + headAgeMsMax
      // Heads with the higher age were made before the entry that lowered it.
      const lowered = await commits.find(siteId, before.seq)
      return Math.max(committedAtMs + ageMs, lowered.committedAtMs + before.seconds * 1000)
    }
    return {
      epoch,
      seq,
      atMs,
      position,
      committedAtMs,
      deniedHereAtMs,
      headAgeMsMax,
      headsDeadAtMs: await headsDeadAtMs(),
    }
  }

  applied(position: number): void {
    this.#parts.readings.applied(position)
    this.#parts.streams.applied(position)
  }

  lag(headSeq: (siteId: SiteId) => number): number {
    let most = this.#parts.streams.lag(headSeq)
    for (const { name, seq } of this.#leased.values()) most = Math.max(most, headSeq(name.siteId) - seq)
    return most
  }

  get silent(): number {
    const sinceMs = performance.now() - this.#options.silentMs
    let count = 0
    for (const { stream } of this.#leased.values()) if (stream.heardAtMs < sinceMs) count++
    return count
  }

  /**
   * Drops readers that give no sign of life. What they were sent may have been acknowledged to
   * another node, so the store is asked before.
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
    const names = due.flatMap(([, { siteId, keyId, promise }]) =>
      promise ? [{ siteId, keyId, instanceId: promise.instanceId }] : [],
    )
    const heard = store.isShared && names.length > 0 ? await leases.heard(names) : new Map<string, number>()
    const { wallMs } = clock.clocks()
    for (const [stream, { siteId, keyId, promise }] of due) {
      const heardAtMs = promise && heard.get(toName({ siteId, keyId, instanceId: promise.instanceId }))
      if (heardAtMs !== undefined && wallMs - heardAtMs <= silentMs) stream.heard()
      else stream.close('silent')
    }
  }

  #wake(siteId: SiteId): void {
    this.#parts.onChange(siteId)
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#timer)
    await this.#checking
    await this.#parts.leases.close()
    await this.#parts.streams.close()
  }
}

function toTerms(
  { siteId, keyId, verifierId, isNamed }: Verifier,
  promise: NonNullable<Verifier['promise']>,
) {
  return { siteId, keyId, verifierId, isNamed, ...promise }
}
