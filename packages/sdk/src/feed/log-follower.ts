import {
  type Clocks,
  type ConfirmedHead,
  type ConfirmResult,
  createMonotonicClock,
  formatTime,
  type Heartbeat,
  isPromise,
  type LogHead,
  type LogPosition,
  type SiteId,
  type SiteView,
} from '@countersign/core'
import { type Acknowledger, createAcknowledger } from './acknowledger.ts'
import { type ApplyTimes, createApplyTimes, WatchedView } from './apply-times.ts'
import { Backoff } from './backoff.ts'
import { createBaseNotice } from './base-notice.ts'
import type { GuardClock } from './clock.ts'
import { createContradictions } from './contradictions.ts'
import { type ReadHeartbeat, readEntry, readHeartbeat } from './feed-events.ts'
import type { FeedKeys } from './feed-keys.ts'
import { loadEvidence, loadSnapshot } from './load-snapshot.ts'
import { LogCorrupted, toLogCorrupted } from './log-corrupted.ts'
import { createSseReader, type SseEvent } from './sse-reader.ts'
import { createWatch, ServiceError, type VerifierApi } from './verifier-api.ts'

export type Connection = 'idle' | 'loading' | 'connecting' | 'following' | 'waiting' | 'closed'

/** What prevents a guard from following the log: a code, and a sentence for the operator. */
export interface ViewProblem {
  readonly code: string
  readonly detail: string
}

/**
 * Two heads that cannot both be true: the one that this verifier has proof of, and the one that the
 * service signs now.
 */
export interface LogFork {
  readonly proven: LogHead
  readonly offered: LogHead
}

export interface LogFollowerOptions {
  readonly siteId: SiteId
  readonly api: VerifierApi
  readonly keys: FeedKeys
  readonly clock: GuardClock
  /**
   * Called whenever something may have changed: entries applied, a head proven, trust lost, a
   * connection made or lost.
   */
  readonly onChange: () => void
}

const UNPROVEN_MS_MAX = 15_000
/** After an error a snapshot is loaded at once, but at most once in this time. */
const RELOAD_MS_MIN = 5_000
/** From the request to the loaded snapshot. 10 million revocations take a tenth of it. */
const LOAD_MS_MAX = 600_000

/**
 * Follows a site's log and keeps a view of it up to date: it loads a snapshot, then follows the
 * feed, and starts again whenever the two contradict each other.
 */
export class LogFollower {
  readonly view: SiteView
  connection: Connection = 'idle'
  /**
   * Set while the service offers a log that does not extend the proven head. Meanwhile everything
   * is denied.
   */
  fork: LogFork | undefined
  /** The last signed heartbeat that proved the head of the view. */
  provenHeartbeat: Heartbeat | undefined
  #problem: ViewProblem | undefined
  readonly #api: VerifierApi
  readonly #keys: FeedKeys
  readonly #clock: GuardClock
  readonly #onChange: () => void
  readonly #mark = createMonotonicClock()
  readonly #acks: Acknowledger
  readonly #times: ApplyTimes
  readonly #contradictions = createContradictions()
  readonly #baseNotice = createBaseNotice()
  readonly #backoff = new Backoff()
  readonly #closing = new AbortController()
  #isLoaded = false
  #reloadedMs = -Infinity
  /** When the head was last proven, or when the feed was opened. */
  #provenMs = -Infinity
  /** How old the last proven head was when it arrived, by the wall clock. */
  lateMs = 0
  #behindSeq = -1
  /** Whether entries were applied since the last `onChange`. */
  #hasUnreported = false
  /** The seq of the proven head that was acknowledged last. */
  #reportedSeq = -1
  #run: Promise<void> | undefined

  constructor({ siteId, api, keys, clock, onChange }: LogFollowerOptions) {
    this.view = new WatchedView({ siteId }, (revoked) => this.#addDenial(revoked))
    this.#times = createApplyTimes(clock)
    this.#api = api
    this.#keys = keys
    this.#clock = clock
    this.#onChange = onChange
    this.#acks = createAcknowledger((...ack) => this.#acknowledge(...ack), clock)
  }

  async #acknowledge(head: LogPosition, isClosing: boolean, refreshIssuer?: string): Promise<void> {
    const signal = isClosing ? new AbortController().signal : this.#closing.signal
    const timings = this.#times.read(head)
    await this.#api.acknowledge(head, signal, isClosing, refreshIssuer, timings)
    this.#times.confirm(timings)
  }

  #addDenial(revoked: string): void {
    const seq = this.#times.addDenial(revoked)
    if (seq !== undefined) this.#acks.addNews(seq)
  }

  get problem(): ViewProblem | undefined {
    const now = this.#clock.read()
    return this.#problem ?? this.#contradictions.problem(now) ?? this.#baseNotice.problem(now)
  }

  /**
   * The greatest possible age of the revocation data. Infinite before the first snapshot, and after
   * a contradiction until the next one.
   */
  ageMs(): number {
    if (!this.#isLoaded) return Infinity
    const clocks = this.#clock.read()
    // A wall clock that was set back must not make a proof look younger than it is.
    const markMs = this.#mark.now(clocks).ms ?? clocks.wallMs
    return this.view.ageMs({ ...clocks, wallMs: Math.max(clocks.wallMs, markMs) })
  }

  /**
   * The time to decide by, which never runs back; undefined after a jump of the clock that no
   * heartbeat has confirmed yet.
   */
  nowMs(): number | undefined {
    return this.#mark.now(this.#clock.read()).ms
  }

  /**
   * Asks the service to fetch the keys of an OAuth issuer again, at most once in ten seconds. Call
   * it when a token of a trusted issuer names an unknown key.
   */
  requestIssuerRefresh(issuer: string): void {
    this.#acks.requestIssuerRefresh(issuer)
  }

  start(): void {
    this.nowMs() // Jumps of the wall clock are detected from here on.
    this.#run ??= this.#follow()
  }

  async close(): Promise<void> {
    this.#closing.abort(new ServiceError('closed', 'The guard is closed.'))
    this.#isLoaded = false
    // The guard denies everything from here on, so it may report to the service that it is closed.
    await this.#acks.close()
    await this.#run
    this.#become('closed')
  }

  /**
   * The one loop. An error ends one round. The next round begins with a snapshot if the view is no
   * longer trusted, and otherwise where the last one ended.
   */
  async #follow(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      let waitMs = 0
      try {
        if (!this.#isLoaded) await this.#loadWithTimeout(signal)
        await this.#readFeed(signal)
        waitMs = this.#backoff.nextMs()
      } catch (error) {
        waitMs = this.#handleError(error)
      }
      if (signal.aborted) return
      this.#become('waiting')
      if (waitMs > 0) await this.#pause(waitMs, signal)
    }
  }

  /** Bounds the time for a whole snapshot, because a slow sender is never silent for long. */
  async #loadWithTimeout(signal: AbortSignal): Promise<void> {
    const watch = createWatch(this.#clock, signal)
    watch.expect(
      LOAD_MS_MAX,
      () =>
        new ServiceError('snapshot_too_slow', 'The snapshot took too long to load. The guard tries again.'),
    )
    try {
      await this.#load(watch.signal)
    } finally {
      watch.end()
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    this.#become('loading')
    const sentMs = this.#clock.read().monotonicMs
    this.#reloadedMs = sentMs
    const source = { api: this.#api, keys: this.#keys }
    const snapshot = await loadSnapshot(source, this.view, signal)
    const evidence = await loadEvidence(source, this.view.provenHead, snapshot, signal)
    const { head, load, proof } = snapshot
    signal.throwIfAborted()
    const { provenHead } = this.view
    const loaded = load.commit(proof, { ...evidence, nowMs: this.#clock.read().wallMs })
    const { epoch, seq, hash } = head
    const isFork = loaded === 'fork' || loaded === 'lower_head' || loaded === 'unlinked_head'
    this.fork = isFork && provenHead ? { proven: provenHead, offered: { epoch, seq, hash } } : undefined
    if (loaded !== 'loaded') throw toLogCorrupted(loaded, provenHead, head)
    this.#baseNotice.record(provenHead, head, this.view.carriedRevocationCount, this.#clock.read())
    // An operator begins a new epoch, so contradictions in the old one no longer matter.
    if (provenHead?.epoch !== epoch) this.#contradictions.clear()
    this.#isLoaded = true
    this.#times.addSnapshot(head)
    // The age counts from the request, because the snapshot may have taken long to arrive.
    this.#prove(proof, { ...this.#clock.read(), monotonicMs: sentMs })
    this.#finishBatch()
  }

  async #readFeed(signal: AbortSignal): Promise<void> {
    this.#become('connecting')
    const { epoch, seq } = this.view.head
    const chunks = await this.#api.feed(`${epoch}.${seq}`, signal, this.provenHeartbeat)
    this.#acks.renew()
    this.#become('following')
    this.#provenMs = this.#clock.read().monotonicMs
    this.#behindSeq = -1
    const reader = createSseReader()
    let hasBytes = false
    for await (const chunk of chunks) {
      // Not before: a proxy that buffers sends the header of the response and nothing else.
      if (!hasBytes) this.#problem = undefined
      hasBytes = true
      for (const event of reader.push(chunk)) {
        await this.#apply(event, signal)
        if (signal.aborted) return
      }
      if (reader.retryMs !== undefined) this.#backoff.setRetryMs(reader.retryMs)
      this.#finishBatch()
      // A node that has lost its store still sends bytes but proves nothing. Another node may.
      if (this.#clock.read().monotonicMs - this.#provenMs > UNPROVEN_MS_MAX) throw this.#noHeartbeat()
    }
  }

  #noHeartbeat(): ServiceError {
    return new ServiceError(
      this.#problem?.code ?? 'no_heartbeat',
      this.#problem?.detail ?? 'The service sends no heartbeats.',
    )
  }

  async #apply(event: SseEvent, signal: AbortSignal): Promise<void> {
    if (event.event === 'heartbeat') {
      // Revocations take effect before the signature is checked, which takes time.
      if (this.#hasUnreported) this.#onChange()
      this.#hasUnreported = false
      return this.#applyHeartbeat(event, signal)
    }
    const read = readEntry(event)
    const entry = isPromise(read) ? await read : read
    const applied = this.view.apply(entry)
    if (applied !== 'applied' && applied !== 'known') throw new LogCorrupted(applied)
    if (applied === 'applied') this.#times.addEntry(entry)
    this.#hasUnreported = true
  }

  /**
   * A heartbeat that is not signed, too old or too early proves nothing: the age of the data keeps
   * growing.
   */
  async #applyHeartbeat(event: SseEvent, signal: AbortSignal): Promise<void> {
    const received = this.#clock.read()
    const { heartbeat, key, proof }: ReadHeartbeat = await readHeartbeat(event, this.#keys, signal).catch(
      () => ({}),
    )
    if (proof === undefined) {
      const why = key === undefined ? 'None of the feed keys signed them.' : 'Their signatures are invalid.'
      this.#problem = {
        code: 'heartbeat_unsigned',
        detail: `The service sends heartbeats that prove nothing. ${why}`,
      }
    } else if (this.#prove(proof, received) === 'proven') this.provenHeartbeat = heartbeat
  }

  #prove(proof: ConfirmedHead, received: Clocks): ConfirmResult {
    const proven = this.view.confirmHead(proof, received)
    if (proven === 'too_early') {
      const [theirs, ours] = [formatTime(proof.asOfMs), formatTime(received.wallMs)]
      const detail = `The service signed its head at ${theirs}, and the clock of this machine says ${ours}: the clock of the service is ahead, or this one is behind. Compare both with NTP and set the wrong one.`
      this.#problem = { code: 'clock_behind', detail }
    } else if (proven === 'proven') {
      this.#provenMs = received.monotonicMs
      this.lateMs = received.wallMs - proof.asOfMs
      this.#mark.confirm(proof.asOfMs, received.monotonicMs)
      this.#backoff.reset()
      this.#problem = undefined
    } else if (proven === 'behind') {
      // The entries up to this head should have come before it. Tolerated once: they may follow.
      const { seq } = this.view.head
      if (this.#behindSeq === seq)
        throw new ServiceError('entries_missing', 'The service has entries that it did not send.')
      this.#behindSeq = seq
    } else if (proven !== 'outdated') throw new LogCorrupted(proven)
    return proven
  }

  /**
   * Records the problem and returns how long to wait. If the service sent anything that cannot be
   * the log, the view is no longer trusted, effective at once.
   */
  #handleError(error: unknown): number {
    if (this.#closing.signal.aborted) return 0
    const status = error instanceof ServiceError ? error.status : undefined
    // Conflict and Gone: the service cannot continue from this guard's position.
    const isDoubt = status === undefined || status === 409 || status === 410
    const mayReload =
      isDoubt && this.#isLoaded && this.#clock.read().monotonicMs - this.#reloadedMs >= RELOAD_MS_MIN
    const isCursorUnknown = status === 409 && this.view.head.seq !== this.view.provenHead?.seq
    if (isDoubt) this.#isLoaded = false
    const code =
      error instanceof LogCorrupted || error instanceof ServiceError ? error.code : 'answer_unreadable'
    this.#problem = { code, detail: error instanceof Error ? error.message : String(error) }
    const isContradiction =
      error instanceof LogCorrupted && !error.needsOperator && code !== 'too_many_pending'
    if (isCursorUnknown || isContradiction) this.#contradictions.record(this.#clock.read())
    const waitMs = this.#backoff.nextMsAfter(error)
    return mayReload ? 0 : waitMs
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        cancel()
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const cancel = this.#clock.after(ms, wake)
      signal.addEventListener('abort', wake)
    })
  }

  #become(connection: Connection): void {
    this.connection = connection
    this.#onChange()
  }

  #finishBatch(): void {
    // Acknowledges only what a signature covers: another node may not have the rest. While entries
    // wait for theirs, a repeated report of the head before them would delay the next one.
    const { provenHead } = this.view
    const isRepeated = provenHead?.seq === this.#reportedSeq
    if (provenHead !== undefined && !(isRepeated && this.#hasUnreported)) {
      this.#reportedSeq = provenHead.seq
      this.#acks.report(provenHead)
    }
    this.#hasUnreported = false
    this.#onChange()
  }
}
