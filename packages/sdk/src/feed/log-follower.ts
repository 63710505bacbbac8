import {
  type Clocks,
  type ConfirmedHead,
  checkEntry,
  checkEpochStatement,
  checkHeartbeat,
  checkSnapshot,
  createMonotonicClock,
  createSiteView,
  type EpochStatement,
  formatTime,
  type Heartbeat,
  type LoadEvidence,
  type LogHead,
  type Proven,
  parseEntry,
  parseHeartbeat,
  type SiteId,
  type SiteView,
  type SnapshotHead,
} from '@countersign/core'
import { type Acknowledger, createAcknowledger } from './acknowledger.ts'
import type { GuardClock } from './clock.ts'
import { createContradictions } from './contradictions.ts'
import type { FeedKeys } from './feed-keys.ts'
import { LogFault, loadFault } from './log-fault.ts'
import { showsEntry } from './shown-entry.ts'
import { readSnapshot } from './snapshot-reader.ts'
import { createSseReader, type SseEvent } from './sse-reader.ts'
import { createWatch, type Service, ServiceFault } from './verifier-api.ts'

export type Connection = 'idle' | 'loading' | 'connecting' | 'following' | 'waiting' | 'closed'

/** What stands in the way, in a word and in a sentence for the operator. */
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

/**
 * A view of a site's log that keeps itself up to date: a snapshot first, then the feed, and again
 * whenever the two do not fit.
 */
export interface ViewClient {
  readonly view: SiteView
  readonly connection: Connection
  readonly problem: ViewProblem | undefined
  /**
   * Set while the service offers a log that does not extend the proven head. Meanwhile everything
   * is rejected.
   */
  readonly fork: LogFork | undefined
  /** The last signed heartbeat that proved the head of the view. */
  readonly provenHeartbeat: Heartbeat | undefined
  /**
   * How old the knowledge may be at most. Infinite before the first snapshot and from the moment at
   * which something does not fit until the next.
   */
  ageMs(): number
  /**
   * The time to decide by, which never runs back; undefined after a jump of the clock that nothing
   * has explained yet.
   */
  nowMs(): number | undefined
  start(): void
  close(): Promise<void>
}

export interface ViewClientOptions {
  readonly siteId: SiteId
  readonly service: Service
  readonly keys: FeedKeys
  readonly clock: GuardClock
  /**
   * Called whenever something may have changed: entries applied, a head proven, trust lost, a
   * connection made or lost.
   */
  readonly onChange: () => void
}

const RETRY_MS_DEFAULT = 1_000
/** Whatever a feed asks for, a lost connection is not retried in a tight loop. */
const RETRY_MS_MIN = 200
/** A guard that waits longer than this between two tries is too late when the service is back. */
const BACKOFF_MS_MAX = 5_000
/**
 * Together with the longest backoff less than 10 s, because anything on the way may have written
 * `Retry-After`: it must not keep a guard from the service for longer than a lost connection does.
 */
const RETRY_AFTER_MS_MAX = 4_500
/**
 * An operator has to look at the API key before another try can succeed, or something on the way
 * says so.
 */
const REFUSED_MS = 8_000
/** An operator has to look at the store. Longer, because each try loads a whole snapshot. */
const OPERATOR_MS = 30_000
const UNPROVEN_MS_MAX = 15_000
/** A fault is answered with a snapshot at once, but not one after the other. */
const RELOAD_MS_MIN = 5_000
/**
 * From the request to the loaded snapshot. 10 million revocations take a tenth of it, unless the
 * network is slow.
 */
const LOAD_MS_MAX = 600_000

export function createViewClient(options: ViewClientOptions): ViewClient {
  return new FeedFollower(options)
}

class FeedFollower implements ViewClient {
  readonly view: SiteView
  connection: Connection = 'idle'
  fork: LogFork | undefined
  provenHeartbeat: Heartbeat | undefined
  #problem: ViewProblem | undefined
  readonly #service: Service
  readonly #keys: FeedKeys
  readonly #clock: GuardClock
  readonly #onChange: () => void
  readonly #mark = createMonotonicClock()
  readonly #acks: Acknowledger
  readonly #contradictions = createContradictions()
  readonly #closing = new AbortController()
  #isLoaded = false
  #failures = 0
  #retryMs = RETRY_MS_DEFAULT
  #reloadedMs = -Infinity
  /** When the head was last proven, or the hope for it began. */
  #provenMs = -Infinity
  #behindSeq = -1
  /** Whether entries were applied that `onChange` has not reported. */
  #hasNews = false
  #run: Promise<void> | undefined

  constructor({ siteId, service, keys, clock, onChange }: ViewClientOptions) {
    this.view = createSiteView({ siteId })
    this.#service = service
    this.#keys = keys
    this.#clock = clock
    this.#onChange = onChange
    const { signal } = this.#closing
    const untilAnswered = new AbortController().signal
    this.#acks = createAcknowledger(
      (head, isClosing) => service.acknowledge(head, isClosing ? untilAnswered : signal, isClosing),
      clock,
    )
  }

  get problem(): ViewProblem | undefined {
    return this.#problem ?? this.#contradictions.problem(this.#clock.read())
  }

  ageMs(): number {
    if (!this.#isLoaded) return Infinity
    const clocks = this.#clock.read()
    // A wall clock that was set back must not make a proof look younger than it is.
    const markMs = this.#mark.now(clocks).ms ?? clocks.wallMs
    return this.view.ageMs({ ...clocks, wallMs: Math.max(clocks.wallMs, markMs) })
  }

  nowMs(): number | undefined {
    return this.#mark.now(this.#clock.read()).ms
  }

  start(): void {
    this.nowMs() // From here on a jump can be told.
    this.#run ??= this.#follow()
  }

  async close(): Promise<void> {
    this.#closing.abort(new ServiceFault('closed', 'the guard is closed'))
    this.#isLoaded = false
    // From here on everything is rejected, so the service may be told.
    await this.#acks.close()
    await this.#run
    this.#become('closed')
  }

  /**
   * The one loop. Whatever goes wrong inside ends one round; the next begins with a snapshot if
   * trust was lost, otherwise where the last ended.
   */
  async #follow(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      let waitMs = 0
      try {
        if (!this.#isLoaded) await this.#loadInTime(signal)
        await this.#read(signal)
        waitMs = this.#backoffMs()
      } catch (error) {
        waitMs = this.#noteFault(error)
      }
      if (signal.aborted) return
      this.#become('waiting')
      if (waitMs > 0) await this.#pause(waitMs, signal)
    }
  }

  /**
   * A snapshot may come as slowly as whatever sends it likes, so the time for all of it is bounded.
   */
  async #loadInTime(signal: AbortSignal): Promise<void> {
    const watch = createWatch(this.#clock, signal)
    watch.expect(
      LOAD_MS_MAX,
      new ServiceFault('snapshot_too_slow', 'the snapshot took too long to load; the guard tries again'),
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
    const chunks = await this.#service.snapshot(signal)
    const { head, epochs, end, received, load } = await readSnapshot(chunks, (first) =>
      this.view.beginLoad(first),
    )
    const key = await this.#keys.find(end.kid, signal)
    const proof = key && (await checkSnapshot(head, end, received, key))
    if (proof === undefined) throw new LogFault('snapshot_unsigned')
    const evidence = await this.#findEvidence(head, epochs, signal)
    signal.throwIfAborted()
    const { provenHead } = this.view
    const loaded = load.commit(proof, evidence)
    const { epoch, seq, hash } = head
    const isFork = loaded === 'fork' || loaded === 'lower_head' || loaded === 'unlinked_head'
    this.fork = isFork && provenHead ? { proven: provenHead, offered: { epoch, seq, hash } } : undefined
    if (loaded !== 'loaded') throw loadFault(loaded, provenHead, head)
    // Whatever contradicted itself before, an operator has begun a new log.
    if (provenHead?.epoch !== epoch) this.#contradictions.forget()
    this.#isLoaded = true
    // It was asked for at `sentMs`, so since then it has been getting older, however long it was
    // under way.
    this.#prove(proof, { ...this.#clock.read(), monotonicMs: sentMs })
    this.#settle()
  }

  /** Asks for what the view needs to see before it replaces its proven head by this one. */
  async #findEvidence(
    head: SnapshotHead,
    epochs: readonly EpochStatement[],
    signal: AbortSignal,
  ): Promise<LoadEvidence> {
    const { provenHead: proven } = this.view
    if (proven === undefined) return {}
    if (head.epoch === proven.epoch) {
      const hasProvenEntry = head.seq !== proven.seq && (await showsEntry(this.#service, proven, signal))
      if (hasProvenEntry && head.seq < proven.seq)
        throw new ServiceFault(
          'node_behind',
          'this node of the service lags behind another one; the guard tries again',
        )
      return { hasProvenEntry }
    }
    const signed: EpochStatement[] = []
    for (const statement of epochs) {
      const key = await this.#keys.find(statement.kid, signal)
      if (key !== undefined && (await checkEpochStatement(statement, key))) signed.push(statement)
    }
    return { epochs: signed }
  }

  async #read(signal: AbortSignal): Promise<void> {
    this.#become('connecting')
    const { epoch, seq } = this.view.head
    const chunks = await this.#service.feed(`${epoch}.${seq}`, signal, this.provenHeartbeat)
    this.#acks.renew()
    this.#problem = undefined
    this.#become('following')
    this.#provenMs = this.#clock.read().monotonicMs
    this.#behindSeq = -1
    const reader = createSseReader()
    for await (const chunk of chunks) {
      for (const event of reader.push(chunk)) {
        await this.#take(event, signal)
        if (signal.aborted) return
      }
      if (reader.retryMs !== undefined)
        this.#retryMs = Math.min(Math.max(reader.retryMs, RETRY_MS_MIN), BACKOFF_MS_MAX)
      this.#settle()
      // A node that has lost its store is not silent, but it proves nothing. Another one may.
      if (this.#clock.read().monotonicMs - this.#provenMs > UNPROVEN_MS_MAX) throw this.#unproven()
    }
  }

  #unproven(): ServiceFault {
    return new ServiceFault(
      this.#problem?.code ?? 'no_heartbeat',
      this.#problem?.detail ?? 'the service sends no heartbeats',
    )
  }

  async #take({ event, data, id }: SseEvent, signal: AbortSignal): Promise<void> {
    const value = parsed(data)
    if (event === 'heartbeat') {
      // What was taken away is told first: a signature takes its time.
      if (this.#hasNews) this.#onChange()
      this.#hasNews = false
      return this.#hear(value, signal)
    }
    const entry = parseEntry(value)
    // A kind that is not known is not passed over: it may take something away.
    if (entry?.kind !== event || id !== `${entry.epoch}.${entry.seq}`) throw new LogFault('entry_unreadable')
    const hashed = checkEntry(entry)
    const checked = hashed instanceof Promise ? await hashed : hashed
    if (checked === undefined) throw new LogFault('wrong_hash')
    const applied = this.view.apply(checked)
    if (applied !== 'applied' && applied !== 'known') throw new LogFault(applied)
    this.#hasNews = true
  }

  /**
   * A heartbeat that is not signed, too old or too early proves nothing. It does no harm either:
   * the age just goes on growing.
   */
  async #hear(value: unknown, signal: AbortSignal): Promise<void> {
    const received = this.#clock.read()
    const heartbeat = parseHeartbeat(value)
    const key = heartbeat && (await this.#keys.find(heartbeat.kid, signal).catch(() => undefined))
    const proof = heartbeat && key && (await checkHeartbeat(heartbeat, key))
    if (proof === undefined) {
      const why = key === undefined ? 'none of the feed keys signed it' : 'its signature is invalid'
      this.#problem = {
        code: 'heartbeat_unsigned',
        detail: `the service sends heartbeats that prove nothing: ${why}`,
      }
    } else if (this.#prove(proof, received) === 'proven') this.provenHeartbeat = heartbeat
  }

  #prove(proof: ConfirmedHead, received: Clocks): Proven {
    const proven = this.view.proveHead(proof, received)
    if (proven === 'too_early') {
      const [theirs, ours] = [formatTime(proof.asOfMs), formatTime(received.wallMs)]
      const detail = `the service signed its head at ${theirs}, and the clock of this machine says ${ours}: the clock of the service is ahead, or this one is behind. Compare both with NTP and set the wrong one`
      this.#problem = { code: 'clock_behind', detail }
    } else if (proven === 'proven') {
      this.#provenMs = received.monotonicMs
      this.#mark.confirm(proof.asOfMs, received.monotonicMs)
      this.#failures = 0
      this.#problem = undefined
    } else if (proven === 'behind') {
      // The entries before it should have come before it. They may still, once.
      const { seq } = this.view.head
      if (this.#behindSeq === seq)
        throw new ServiceFault('entries_missing', 'the service has entries that it did not send')
      this.#behindSeq = seq
    } else if (proven !== 'outdated') throw new LogFault(proven)
    return proven
  }

  /**
   * Says how long to wait. Whatever cannot be the log takes the trust away at once, before anything
   * else is asked.
   */
  #noteFault(error: unknown): number {
    if (this.#closing.signal.aborted) return 0
    const { status, retryAfterMs } =
      error instanceof ServiceFault ? error : { status: undefined, retryAfterMs: undefined }
    // Conflict and Gone: the service cannot go on from where we are.
    const isDoubt = status === undefined || status === 409 || status === 410
    const mayReload =
      isDoubt && this.#isLoaded && this.#clock.read().monotonicMs - this.#reloadedMs >= RELOAD_MS_MIN
    const isCursorUnknown = status === 409 && this.view.head.seq !== this.view.provenHead?.seq
    if (isDoubt) this.#isLoaded = false
    const code = error instanceof LogFault || error instanceof ServiceFault ? error.code : 'answer_unreadable'
    this.#problem = { code, detail: error instanceof Error ? error.message : String(error) }
    const isContradiction = error instanceof LogFault && !error.needsOperator && code !== 'too_many_pending'
    if (isCursorUnknown || isContradiction) this.#contradictions.note(this.#clock.read())
    const backoffMs = this.#backoffMs()
    if (mayReload) return 0
    const needsOperator = error instanceof LogFault && error.needsOperator
    const isRefused = status === 401 || status === 403 || status === 404
    if (needsOperator || isRefused)
      return (needsOperator ? OPERATOR_MS : REFUSED_MS) * (0.5 + Math.random() / 2)
    return retryAfterMs === undefined ? backoffMs : Math.min(retryAfterMs, RETRY_AFTER_MS_MAX) + backoffMs
  }

  /**
   * Longer with each failure in a row, and different for each verifier: they all lose a service at
   * once.
   */
  #backoffMs(): number {
    const longest = Math.max(this.#retryMs, Math.min(BACKOFF_MS_MAX, this.#retryMs * 2 ** this.#failures++))
    return longest * (0.2 + Math.random() * 0.8)
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

  #settle(): void {
    this.#hasNews = false
    // Only what a signature covers: another node, or the next snapshot, may not know the rest.
    if (this.view.provenHead !== undefined) this.#acks.note(this.view.provenHead)
    this.#onChange()
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
