import type {
  Clocks,
  LogHead,
  LogPosition,
  RevocationData,
  SignatureCache,
  SiteId,
  SiteView,
  SubjectKey,
} from '@countersign/core'
import type { Logger } from 'pino'
import { AppliedLog, type CapturedLog, type LogEnds } from '../store/checkpoints/applied-log.ts'
import { type CheckpointStore, type RestoredLog, restoreLog } from '../store/checkpoints/restore-log.ts'
import { LogCut, RowForged } from '../store/errors.ts'
import { LogCorrupted } from '../store/log-corrupted.ts'
import type { LoggedEntry, SiteHead } from '../store/operations/log.ts'
import { loadSiteHeads } from '../store/site-heads.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { CommittedParts } from './committed-parts.ts'
import { LiveRevocationData } from './live-revocation-data.ts'
import { type AuditedStore, LogAuditor } from './log-auditor.ts'
import { POLL_MS, tail } from './tail.ts'
import { tooFarProblem, Waiters } from './waiters.ts'
import { createWake } from './wake.ts'

/** Code that follows the same tail as the views, and is never ahead of them. */
interface LogReader {
  /**
   * The views have just applied these entries, in order; there may be none. `isEnd`: nothing
   * came after them when they were read or committed.
   */
  applied(entries: readonly LoggedEntry[], isEnd: boolean): void
  /** The views start again or stop. The entries before do not continue. */
  lost(): void
}

export interface LiveViewsOptions {
  /** The maximum age of the revocation data that a decision uses. */
  readonly viewAgeMsMax: number
  /** How long `waitFor` and `waitForSeq` wait. */
  readonly waitMsMax?: number
  /**
   * Called when the log has been read to its end, before anything is decided by it. `former` has
   * the heads of the log that was read before, if any. Resolves to why the log must not be trusted,
   * or to undefined.
   */
  readonly examine?: (
    findHead: (siteId: SiteId) => LogHead | undefined,
    former: readonly SiteHead[],
  ) => Promise<string | undefined>
  /** Called once for each site, before anything is decided by its view. */
  readonly findSubjectKey?: (siteId: SiteId) => Promise<SubjectKey | undefined>
}

type Readiness = { readonly ready: true } | { readonly ready: false; readonly why: string }

type LogStore = CheckpointStore &
  AuditedStore &
  Pick<Store, 'entriesAfter' | 'siteHeads' | 'requireIntactRows' | 'onAppend' | 'isShared' | 'followEpoch'>

type LiveViewsLogger = Pick<Logger, 'error' | 'warn' | 'info'>

const WAIT_MS_MAX = 2000

/** This node's view of every site, kept current by the tail of the log. */
export class LiveViews {
  readonly #store: LogStore
  readonly #clock: Clock
  readonly #logger: LiveViewsLogger
  readonly #options: LiveViewsOptions
  readonly #wake = createWake()
  readonly #committed = new CommittedParts()
  readonly #stop = new AbortController()
  readonly #waiters: Waiters
  #waiting = 0
  readonly #readers = new Set<LogReader>()
  #log = new AppliedLog('')
  #isExamined = false
  /** The heads of the last log that was examined, until the next one has been examined. */
  #formerHeads: readonly SiteHead[] = []
  /** Up to when this node knows the whole log: see `TailPage.askedAt`. */
  #confirmedAt: Clocks | undefined
  #corruption: string | undefined
  /** Damage that another reader has reported. Nothing is decided until it has been examined. */
  #reported: { readonly fault: LogCorrupted; readonly epoch: string } | undefined
  #suspicion: string | undefined
  #isFailing = false
  #audit: LogAuditor | undefined
  #auditing: Promise<void> = Promise.resolve()
  #following: Promise<void> = Promise.resolve()
  #unlisten: () => void = () => {}

  /**
   * Reads the checkpoint and the log after it, checks every link of its chain, then follows it. The
   * entries before the checkpoint are audited meanwhile. Rejects when the store is unavailable. If
   * the log is corrupt, the node starts but never becomes ready and denies everything: it cannot
   * prove that anything is not revoked.
   */
  static async open(...parts: ConstructorParameters<typeof LiveViews>): Promise<LiveViews> {
    const views = new LiveViews(...parts)
    await views.#start()
    return views
  }

  constructor(store: LogStore, clock: Clock, logger: LiveViewsLogger, options: LiveViewsOptions) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
    this.#options = options
    this.#waiters = new Waiters(options.waitMsMax ?? WAIT_MS_MAX)
  }

  async #start(): Promise<void> {
    this.#unlisten = this.#store.onAppend((position, part) => {
      // One of a former epoch does not continue this log, and a damaged log is followed no further.
      const isOfThis = part?.entries[0]?.entry.epoch === this.#log.epoch
      if (isOfThis && this.#corruption === undefined) this.#committed.add(part)
      this.#wake.wake(position)
    })
    try {
      await new Promise<void>((resolve, reject) => {
        this.#following = this.#run(resolve, reject)
      })
    } catch (fault) {
      await this.close()
      throw fault
    }
  }

  /** The position up to which this node has applied the log. */
  get position(): number {
    return this.#log.position
  }

  /** Undefined for a site that does not exist. */
  view(siteId: SiteId): SiteView | undefined {
    return this.#log.views.get(siteId)
  }

  /**
   * The data for a decision at that site. Its age is the time since the store last confirmed the
   * end of the log. The data stays correct while the decision waits for something: its age goes on,
   * and becomes infinite once this view of the site has been replaced by another.
   */
  revocationData(siteId: SiteId, signatures?: SignatureCache): RevocationData | undefined {
    const site = this.view(siteId)
    if (site === undefined) return undefined
    const ageMs = () => (this.view(siteId) === site ? this.#ageMs() : Infinity)
    return new LiveRevocationData(site, ageMs, this.#options.viewAgeMsMax, signatures)
  }

  /**
   * How old the views are, and how old they may become. All sites come from one store, so they all
   * have the same age.
   */
  age(): { readonly ageMs: number; readonly ageMsMax: number; readonly asOfMs: number } {
    return {
      ageMs: this.#ageMs(),
      ageMsMax: this.#options.viewAgeMsMax,
      asOfMs: this.#confirmedAt?.wallMs ?? Number.NEGATIVE_INFINITY,
    }
  }

  /** By the clock that makes it older: one may have been set back, the other may have slept. */
  #ageMs(): number {
    if (this.#confirmedAt === undefined || this.#reported !== undefined) return Infinity
    if (this.#corruption !== undefined || this.#suspicion !== undefined) return Infinity
    const { wallMs, monotonicMs } = this.#clock.clocks()
    return Math.max(0, monotonicMs - this.#confirmedAt.monotonicMs, wallMs - this.#confirmedAt.wallMs)
  }

  /**
   * Resolves when this node has applied the log up to `position`; rejects with a Problem 503 when
   * that takes too long.
   */
  async waitFor(position: number): Promise<void> {
    if (this.position >= position) return
    this.#waiting++
    try {
      const isOnItsWay = () => this.#committed.reaches(position)
      await this.#wait(() => this.position >= position, { isOnItsWay })
    } finally {
      this.#waiting--
    }
  }

  /** How many calls of `waitFor` wait now. */
  get waiting(): number {
    return this.#waiting
  }

  /** Whether this node's view of the site is at `seq` or later. */
  hasApplied(siteId: SiteId, { epoch, seq }: LogPosition): boolean {
    const head = this.view(siteId)?.head
    return head !== undefined && head.epoch === epoch && head.seq >= seq
  }

  /**
   * Resolves when this node's view of the site is at `seq` or later. Rejects as soon as the store
   * has said that the log does not go that far: a caller may name a position that does not exist.
   */
  waitForSeq(siteId: SiteId, min: LogPosition): Promise<void> {
    const sinceMs = this.#clock.clocks().monotonicMs
    // An entry that was acknowledged before this call is in a log that the store was asked for
    // after this call.
    return this.#wait(() => this.hasApplied(siteId, min), {
      isHopeless: () => this.#confirmedAt !== undefined && this.#confirmedAt.monotonicMs > sinceMs,
    })
  }

  async #wait(
    isReached: () => boolean,
    { isHopeless = () => false, isOnItsWay = () => false },
  ): Promise<void> {
    if (isReached()) return
    if (this.#corruption !== undefined || this.#stop.signal.aborted) throw tooFarProblem()
    const waiting = this.#waiters.wait(isReached, isHopeless)
    // A store that is not shared reports each entry before it answers: the tail has been woken.
    if (this.#store.isShared && !isOnItsWay()) this.#wake.wake()
    await waiting
  }

  /** Notifies the reader of everything that is applied, until the returned function is called. */
  follow(reader: LogReader): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }

  /** The head of each site. */
  *heads(): Iterable<SiteHead> {
    for (const [siteId, { head }] of this.#log.views) if (head !== undefined) yield { siteId, ...head }
  }

  /**
   * The seq of the last applied entry about an issuer of a site, or about the settings of the site
   * itself. 0 when there is none, and while the store is in another epoch than this view.
   */
  lastEntryAbout(siteId: SiteId, issuer?: string): number {
    return this.#store.epoch === this.#log.epoch ? this.#log.lastEntryAbout(siteId, issuer) : 0
  }

  /**
   * The log as it is now, for a checkpoint: see `AppliedLog.capture`. Undefined while this node
   * does not trust it.
   */
  capture(known: (siteId: SiteId) => number | undefined): CapturedLog | undefined {
    return this.readiness().ready ? this.#log.capture(known) : undefined
  }

  /**
   * The share of the entries in the store that this node has checked since its start, from 0 to 1.
   * Entries before the checkpoint are checked while the node is in use.
   */
  get audited(): number {
    const { auditedPosition = 0, basePosition = 0, endPosition = 0 } = this.#audit ?? {}
    const all = this.position - basePosition
    // Rounded down, so that 1 means all of them.
    return all <= 0 ? 1 : Math.floor(1000 * (1 - (endPosition - auditedPosition) / all)) / 1000
  }

  /**
   * Denies everything from now on, until the log is in another epoch: a signed head has proven that
   * entries are missing.
   */
  suspect(why: string): void {
    this.#suspicion = why
  }

  /** Why the log is suspected to have lost entries, if it is. */
  suspicion(): string | undefined {
    return this.#suspicion
  }

  /**
   * Ready when the store answers, the chain is intact and the views are fresh; otherwise why not.
   */
  readiness(): Readiness {
    const fault = this.#corruption ?? this.#suspicion
    if (fault !== undefined) return { ready: false, why: fault }
    if (!(this.#ageMs() <= this.#options.viewAgeMsMax))
      return { ready: false, why: 'the store has not confirmed the end of the log for too long' }
    const why = this.#clock.problem()
    return why === undefined ? { ready: true } : { ready: false, why }
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#unlisten()
    this.#waiters.endAll()
    await this.#following
    await this.#auditing
  }

  async #run(onLoaded: () => void, onUnreadable: (fault: unknown) => void): Promise<void> {
    const { signal } = this.#stop
    const onFailure = (err: unknown) => {
      // This matters until the log has been loaded. Later the store is asked again until it
      // answers.
      onUnreadable(err)
      if (!this.#isFailing) this.#logger.warn({ err }, 'the log cannot be read; trying again')
      this.#isFailing = true
    }
    // Each round reads the log from its beginning: nothing of an earlier epoch is valid in a new
    // one.
    while (!signal.aborted) {
      this.#begin()
      try {
        await this.#followEpoch(onLoaded, onFailure)
      } catch (fault) {
        if (fault instanceof LogCut) continue
        const failure =
          fault instanceof RowForged ? new LogCorrupted('forged', fault.message, { cause: fault }) : fault
        if (failure instanceof LogCorrupted) {
          const corruption = await this.#findCorruption(failure, onFailure)
          if (corruption !== undefined) {
            this.#distrust(corruption)
            onLoaded()
            return
          }
        } else onFailure(failure)
        await this.#wake.sleep(this.#wake.count, POLL_MS, signal)
      }
    }
  }

  /**
   * A log that has lost entries in a fail-over looks damaged until the store is in the new epoch.
   * So this asks the store for its epoch, as often as it takes, and nothing is decided meanwhile.
   * Resolves to undefined when the log must be read again because it is in another epoch, and when
   * the views are closed.
   */
  async #findCorruption(
    corruption: LogCorrupted,
    onFailure: (fault: unknown) => void,
  ): Promise<LogCorrupted | undefined> {
    const { signal } = this.#stop
    const isInEpoch = () => this.#store.epoch === this.#log.epoch
    if (!isInEpoch()) return undefined
    this.#confirmedAt = undefined
    while (!signal.aborted) {
      try {
        await this.#store.followEpoch()
        return isInEpoch() ? corruption : undefined
      } catch (fault) {
        if (fault instanceof LogCorrupted) return fault
        onFailure(fault)
        await this.#wake.sleep(this.#wake.count, POLL_MS, signal)
      }
    }
    return undefined
  }

  #begin(): void {
    this.#audit?.stop()
    this.#audit = undefined
    this.#committed.clear()
    if (this.#isExamined) this.#formerHeads = [...this.heads()]
    this.#isExamined = false
    this.#log = new AppliedLog(this.#store.epoch)
    this.#confirmedAt = undefined
    this.#suspicion = undefined
    if (this.#reported?.epoch !== this.#log.epoch) this.#reported = undefined
    for (const reader of this.#readers) reader.lost()
  }

  /** Returns when the store is in another epoch, and when the views are closed. */
  async #followEpoch(onLoaded: () => void, onFailure: (fault: unknown) => void): Promise<void> {
    await this.#store.requireIntactRows(['sites', 'issuers', 'epochs'])
    // Read before the log: if the log ends before one of these ends, it has been cut.
    const ends = await this.#readEnds()
    const restored = await this.#restore()
    if (restored === undefined) return
    const from = this.position
    let isLoaded = false
    const source = { store: this.#store, wake: this.#wake, committed: this.#committed }
    const options = { ...source, clocks: this.#clock.clocks, onFailure }
    for await (const page of tail({ ...options, from, signal: this.#stop.signal })) {
      if (this.#store.epoch !== this.#log.epoch) return
      if (this.#reported !== undefined) throw this.#reported.fault
      // Nothing is decided until the end of these entries has been read and authenticated.
      if (!page.isEnd) this.#confirmedAt = undefined
      await this.#log.apply(page)
      await this.#addSubjectKeys(page.entries)
      if (this.#isFailing) this.#logger.info({ position: this.position }, 'the log can be read again')
      this.#isFailing = false
      if (page.isEnd) {
        if (!isLoaded) {
          this.#log.requireEnds(ends)
          const findHead = (siteId: SiteId) => this.view(siteId)?.head
          this.#suspicion = await this.#options.examine?.(findHead, this.#formerHeads)
          this.#isExamined = true
          this.#formerHeads = []
          this.#startAudit(restored)
        }
        isLoaded = true
        this.#confirmedAt = page.askedAt
      }
      if (!isLoaded) continue
      for (const reader of this.#readers) reader.applied(page.entries, page.isEnd)
      this.#waiters.check()
      if (page.isEnd) onLoaded()
    }
  }

  /** Undefined when the store is in another epoch. */
  async #restore(): Promise<RestoredLog | undefined> {
    const restored = await restoreLog(this.#store)
    if (restored.log.epoch !== this.#log.epoch || this.#store.epoch !== this.#log.epoch) return undefined
    for (const view of restored.log.views.values())
      view.subjectKey ??= await this.#options.findSubjectKey?.(view.siteId)
    this.#log = restored.log
    return restored
  }

  #startAudit({ from }: RestoredLog): void {
    if (from === undefined || from.checkpoint.basePosition === from.checkpoint.position) return
    const audit = new LogAuditor(this.#store, from, (siteId) => this.view(siteId))
    this.#audit = audit
    const { position: to, basePosition: after } = from.checkpoint
    this.#auditing = audit.run(this.#stop.signal).then(
      (isDone) => {
        if (isDone) this.#logger.info({ after, to }, 'the log up to the checkpoint has been audited')
      },
      (fault: unknown) => {
        if (this.#audit === audit && fault instanceof LogCorrupted)
          this.reportDamage(fault, from.checkpoint.epoch)
      },
    )
  }

  async #addSubjectKeys(entries: readonly LoggedEntry[]): Promise<void> {
    for (const { entry } of entries) {
      const view = this.view(entry.site_id)
      if (view !== undefined) view.subjectKey ??= await this.#options.findSubjectKey?.(view.siteId)
    }
  }

  async #readEnds(): Promise<LogEnds> {
    const heads = await loadSiteHeads(this.#store)
    return { position: await this.#store.logPosition(), heads }
  }

  /**
   * Another reader of the log, which began to read in `epoch`, has found it damaged. Denies
   * everything until the store has been asked for its epoch, and afterwards if it is still in this
   * one. A log of another epoch is read again. Has no effect when that epoch is over already.
   */
  reportDamage(fault: LogCorrupted, epoch: string): void {
    if (epoch !== this.#log.epoch || this.#reported !== undefined) return
    this.#reported = { fault, epoch }
    this.#wake.wake()
  }

  /** Denies everything until the node is started again: the log is damaged. */
  #distrust(fault: LogCorrupted): void {
    this.#corruption = fault.message
    this.#committed.clear()
    this.#logger.error(
      { err: fault },
      'the log is damaged; this node denies everything until an operator has examined it and restarted the node',
    )
    this.#waiters.endAll()
    for (const reader of this.#readers) reader.lost()
  }
}
