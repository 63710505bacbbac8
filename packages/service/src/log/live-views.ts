import {
  type Clocks,
  checkEntry,
  type LogHead,
  type RevocationData,
  type SignatureCache,
  type SiteId,
  SiteView,
} from '@countersign/core'
import type { Logger } from 'pino'
import { Problem } from '../problem.ts'
import { LogCorrupted } from '../store/log-corrupted.ts'
import { EMPTY_DIGEST, nextDigest } from '../store/log-digest.ts'
import { type LoggedEntry, RowForged, type SiteHead, type Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { POLL_MS, type TailPage, tail } from './tail.ts'
import { createWake } from './wake.ts'

/**
 * What this node knows of every site, kept up by the tail of the log. The same view class as in the
 * SDK.
 */
export interface LiveViews {
  /** Undefined for a site that does not exist. */
  view(siteId: SiteId): SiteView | undefined
  /**
   * What a decision at that site rests on; its age is that of the last time the store confirmed the
   * end of the log. It stays true while the decision waits for something: the age goes on, and is
   * endless once this view of the site has been replaced by another.
   */
  revocationData(siteId: SiteId, signatures?: SignatureCache): RevocationData | undefined
  /** The position up to which this node has applied the log. */
  readonly position: number
  /**
   * How old the knowledge of all sites is, and how old it may become. All sites come from one
   * store, so one age is that of all.
   */
  age(): { readonly ageMs: number; readonly ageMsMax: number; readonly asOfMs: number }
  /**
   * Resolves when this node has applied the log up to `position`; rejects with a Problem 503 when
   * that takes too long.
   */
  waitFor(position: number): Promise<void>
  /**
   * The same for a place in the log of one site: resolves when this node's view of it is at least
   * that new. Rejects as soon as the store has said that the log does not go that far: a caller may
   * ask for a position that does not exist, and must not have us wait for it.
   */
  waitForSeq(siteId: SiteId, cursor: { readonly epoch: string; readonly seq: number }): Promise<void>
  /** Tells a reader of everything that is applied from now on. The answer ends it. */
  follow(reader: LogReader): () => void
  /** Where the log of each site ends. */
  heads(): Iterable<SiteHead>
  /**
   * The seq of the last applied entry about an issuer of a site, or about the settings of the site
   * itself. 0 when there is none, and while the store is in another epoch than this view.
   */
  lastEntryAbout(siteId: SiteId, issuer?: string): number
  /**
   * Rejects every decision from now on, until the log is in another epoch: a signed head has proven
   * that entries are missing.
   */
  suspect(why: string): void
  /** Why the log is suspected to have lost entries, if it is. */
  suspicion(): string | undefined
  /** Store reachable, chain intact, knowledge fresh; otherwise why not. */
  readiness(): { readonly ready: true } | { readonly ready: false; readonly why: string }
  close(): Promise<void>
}

/** Code that follows the same tail as the views, and never gets ahead of them. */
interface LogReader {
  /**
   * The views have just applied these, in order; there may be none. `isEnd`: the store said that
   * nothing came after them.
   */
  applied(entries: readonly LoggedEntry[], isEnd: boolean): void
  /** The views begin again or will not go on. What was told before may not be continued. */
  lost(): void
}

export interface LiveViewsOptions {
  /** The oldest knowledge that a decision may rest on. */
  readonly viewAgeMsMax: number
  /** How long `waitFor` waits. */
  readonly waitMsMax?: number
  /**
   * Asked when the whole log has been read, before anything is decided by it: why it must not be
   * trusted, or undefined.
   */
  readonly examine?: (findHead: (siteId: SiteId) => LogHead | undefined) => Promise<string | undefined>
}

const WAIT_MS_MAX = 2000
const WAITERS_MAX = 10_000
const HEADS_PAGE = 1000

/**
 * Reads the whole log and checks every link of its chain, then follows it. Rejects when the store
 * cannot be asked. If the log is corrupt, the node starts but never becomes ready and denies
 * everything: it cannot prove that anything is not revoked.
 */
export async function openLiveViews(
  store: LogStore,
  clock: Clock,
  log: Pick<Logger, 'error' | 'warn' | 'info'>,
  options: LiveViewsOptions,
): Promise<LiveViews> {
  const views = new FollowedLog(store, clock, log, options)
  await views.start()
  return views
}

type LogStore = Pick<
  Store,
  'entriesAfter' | 'logPosition' | 'siteHeads' | 'requireIntactRows' | 'onAppend' | 'epoch'
>

/** What the store says of the ends of the log, besides the log itself. */
interface Ends {
  readonly position: number
  readonly heads: readonly SiteHead[]
}

interface Waiter {
  isOver(): boolean
  /** Nothing is left to wait for. */
  isInVain(): boolean
  end(fault?: Problem): void
}

class FollowedLog implements LiveViews {
  position = 0
  private readonly store: LogStore
  private readonly clock: Clock
  private readonly log: Pick<Logger, 'error' | 'warn' | 'info'>
  readonly ageMsMax: number
  private readonly waitMsMax: number
  private readonly wake = createWake()
  private readonly stop = new AbortController()
  private readonly waiters = new Set<Waiter>()
  private readonly readers = new Set<LogReader>()
  private views = new Map<SiteId, SiteView>()
  /** By site, and by site and issuer. */
  private statedAt = new Map<string, number>()
  private epoch = ''
  /** Of all entries that were applied. */
  private digest = EMPTY_DIGEST
  private keysDeleted = 0
  /** The clocks before the last question to which the store's answer was the end of the log. */
  private provenAt: Clocks | undefined
  private damage: string | undefined
  private suspected: string | undefined
  private readonly examine: LiveViewsOptions['examine']
  private isFailing = false
  private following: Promise<void> = Promise.resolve()
  private unlisten: () => void = () => {}

  constructor(
    store: LogStore,
    clock: Clock,
    log: Pick<Logger, 'error' | 'warn' | 'info'>,
    { viewAgeMsMax, waitMsMax = WAIT_MS_MAX, examine }: LiveViewsOptions,
  ) {
    this.store = store
    this.clock = clock
    this.log = log
    this.ageMsMax = viewAgeMsMax
    this.waitMsMax = waitMsMax
    this.examine = examine
  }

  async start(): Promise<void> {
    this.unlisten = this.store.onAppend(() => this.wake.wake())
    try {
      await new Promise<void>((resolve, reject) => {
        this.following = this.run(resolve, reject)
      })
    } catch (fault) {
      await this.close()
      throw fault
    }
  }

  view(siteId: SiteId): SiteView | undefined {
    return this.views.get(siteId)
  }

  revocationData(siteId: SiteId, signatures?: SignatureCache): RevocationData | undefined {
    const site = this.views.get(siteId)
    return site === undefined ? undefined : new LiveKnowledge(site, this, signatures)
  }

  ageOf(site: SiteView): number {
    return this.views.get(site.siteId) === site ? this.ageMs() : Infinity
  }

  age(): { ageMs: number; ageMsMax: number; asOfMs: number } {
    return {
      ageMs: this.ageMs(),
      ageMsMax: this.ageMsMax,
      asOfMs: this.provenAt?.wallMs ?? Number.NEGATIVE_INFINITY,
    }
  }

  /**
   * Both clocks, and the less flattering counts: one may have been set back, the other may have
   * slept.
   */
  private ageMs(): number {
    if (this.provenAt === undefined || this.damage !== undefined || this.suspected !== undefined)
      return Infinity
    const { wallMs, monotonicMs } = this.clock.clocks()
    return Math.max(0, monotonicMs - this.provenAt.monotonicMs, wallMs - this.provenAt.wallMs)
  }

  waitFor(position: number): Promise<void> {
    return this.until(() => this.position >= position)
  }

  waitForSeq(siteId: SiteId, { epoch, seq }: { epoch: string; seq: number }): Promise<void> {
    const sinceMs = this.clock.clocks().monotonicMs
    const isThere = () => {
      const head = this.views.get(siteId)?.head
      return head !== undefined && head.epoch === epoch && head.seq >= seq
    }
    // What was acknowledged before we were asked stands in the log that the store was asked for
    // after it.
    return this.until(isThere, () => this.provenAt !== undefined && this.provenAt.monotonicMs > sinceMs)
  }

  private until(isOver: () => boolean, isInVain = () => false): Promise<void> {
    if (isOver()) return Promise.resolve()
    if (this.damage !== undefined || this.stop.signal.aborted || this.waiters.size >= WAITERS_MAX)
      return Promise.reject(tooOld())
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        isOver,
        isInVain,
        end: (fault) => {
          clearTimeout(timer)
          this.waiters.delete(waiter)
          if (fault === undefined) resolve()
          else reject(fault)
        },
      }
      const timer = setTimeout(() => waiter.end(tooOld()), this.waitMsMax)
      this.waiters.add(waiter)
      this.wake.wake()
    })
  }

  follow(reader: LogReader): () => void {
    this.readers.add(reader)
    return () => this.readers.delete(reader)
  }

  *heads(): Iterable<SiteHead> {
    for (const [siteId, { head }] of this.views) if (head !== undefined) yield { siteId, ...head }
  }

  lastEntryAbout(siteId: SiteId, issuer?: string): number {
    return this.store.epoch === this.epoch ? (this.statedAt.get(rowName(siteId, issuer)) ?? 0) : 0
  }

  suspect(why: string): void {
    this.suspected = why
  }

  suspicion(): string | undefined {
    return this.suspected
  }

  readiness(): { ready: true } | { ready: false; why: string } {
    const fault = this.damage ?? this.suspected
    if (fault !== undefined) return { ready: false, why: fault }
    if (!(this.ageMs() <= this.ageMsMax))
      return { ready: false, why: 'the store has not confirmed the end of the log for too long' }
    const why = this.clock.problem()
    return why === undefined ? { ready: true } : { ready: false, why }
  }

  async close(): Promise<void> {
    this.stop.abort()
    this.unlisten()
    for (const waiter of [...this.waiters]) waiter.end(tooOld())
    await this.following
  }

  private async run(onLoaded: () => void, onUnreadable: (fault: unknown) => void): Promise<void> {
    const { signal } = this.stop
    const onFailure = (err: unknown) => {
      // Matters only until the log has been loaded; later on the store is asked again until it
      // answers.
      onUnreadable(err)
      if (!this.isFailing) this.log.warn({ err }, 'the log cannot be read; trying again')
      this.isFailing = true
    }
    while (!signal.aborted) {
      this.begin()
      try {
        await this.store.requireIntactRows(['sites', 'issuers', 'epochs'])
        // Read before the log: an end that lies before one of these has been cut off.
        const ends = await this.readEnds()
        let isLoaded = false
        for await (const page of tail({
          store: this.store,
          wake: this.wake,
          clocks: this.clock.clocks,
          signal,
          onFailure,
        })) {
          if (this.store.epoch !== this.epoch) break
          this.authenticate(page)
          // Entries whose end has not been read yet may be anything: nothing is decided until it
          // has.
          if (!page.isEnd) this.provenAt = undefined
          await this.apply(page)
          if (page.isEnd) {
            if (!isLoaded) {
              this.requireEnds(ends)
              this.suspected = await this.examine?.((siteId) => this.views.get(siteId)?.head)
            }
            isLoaded = true
            this.provenAt = page.askedAt
          }
          if (!isLoaded) continue
          for (const reader of this.readers) reader.applied(page.entries, page.isEnd)
          this.rouse()
          if (page.isEnd) onLoaded()
        }
      } catch (fault) {
        const damage =
          fault instanceof RowForged ? new LogCorrupted('forged', fault.message, { cause: fault }) : fault
        if (damage instanceof LogCorrupted && this.store.epoch === this.epoch) {
          this.distrust(damage)
          onLoaded()
          return
        }
        if (!(damage instanceof LogCorrupted)) onFailure(fault)
        await this.wake.sleep(this.wake.count, POLL_MS, signal)
      }
      // From here on everything is read again: in a new epoch what was known counts no more.
    }
  }

  private begin(): void {
    this.views = new Map()
    this.statedAt = new Map()
    this.epoch = this.store.epoch
    this.position = 0
    this.digest = EMPTY_DIGEST
    this.keysDeleted = 0
    this.provenAt = undefined
    this.suspected = undefined
    for (const reader of this.readers) reader.lost()
  }

  private async readEnds(): Promise<Ends> {
    const heads: SiteHead[] = []
    for (let after: string | undefined; ; ) {
      const page = await this.store.siteHeads({ after, limit: HEADS_PAGE })
      heads.push(...page)
      after = page.at(-1)?.siteId
      if (page.length < HEADS_PAGE) return { position: await this.store.logPosition(), heads }
    }
  }

  private requireEnds({ position, heads }: Ends): void {
    if (this.position < position)
      throw new LogCorrupted('missing', `the log ends at ${this.position}, but it had ${position} entries`)
    for (const { siteId, epoch, seq, hash } of heads) {
      const head = this.views.get(siteId)?.head
      const isThere =
        epoch === this.epoch &&
        head !== undefined &&
        (head.seq > seq || (head.seq === seq && head.hash === hash))
      if (!isThere) throw new LogCorrupted('other_head', `the log of ${siteId} does not end where it should`)
    }
  }

  /**
   * Compares the entries with the digest in the log row, whose MAC only this service can create.
   * Throws a `LogCorrupted`.
   */
  private authenticate({ entries, isEnd, end }: TailPage): void {
    for (const { entry } of entries) this.digest = nextDigest(this.digest, entry.hash)
    if (end.keysDeleted < this.keysDeleted)
      throw new LogCorrupted(
        'forged',
        `the log row was put back: it counts ${end.keysDeleted} deleted API keys, and there were ${this.keysDeleted}`,
      )
    this.keysDeleted = end.keysDeleted
    if (!isEnd) return
    const position = entries.at(-1)?.position ?? this.position
    if (position !== end.position || this.digest !== end.digest)
      throw new LogCorrupted(
        'other_entries',
        `the entries up to ${position} are not those that this service wrote: the log row stands for ${end.position} others`,
      )
  }

  private async apply({ entries }: TailPage): Promise<void> {
    for (const { entry, position } of entries) {
      const checking = checkEntry(entry)
      const checked = checking instanceof Promise ? await checking : checking
      if (checked === undefined)
        throw new LogCorrupted('wrong_hash', `entry ${position} of the log has another hash than its own`)
      let view = this.views.get(entry.site_id)
      if (view === undefined) {
        view = new SiteView({ siteId: entry.site_id, entriesAreProven: true })
        this.views.set(entry.site_id, view)
      }
      const applied = entry.epoch === this.epoch ? view.apply(checked) : 'other_epoch'
      if (applied !== 'applied')
        throw new LogCorrupted(
          applied === 'known' ? 'fork' : applied,
          `entry ${position} does not continue the log of ${entry.site_id}: ${applied}`,
        )
      this.position = position
      if (entry.kind === 'site.changed') this.statedAt.set(rowName(entry.site_id), entry.seq)
      else if ('issuer' in entry.body) this.statedAt.set(rowName(entry.site_id, entry.body.issuer), entry.seq)
    }
    if (this.isFailing) this.log.info({ position: this.position }, 'the log can be read again')
    this.isFailing = false
  }

  private rouse(): void {
    for (const waiter of this.waiters) {
      if (waiter.isOver()) waiter.end()
      else if (waiter.isInVain()) waiter.end(tooOld())
    }
  }

  private distrust(fault: LogCorrupted): void {
    this.damage = fault.message
    this.log.error(
      { err: fault },
      'the log is damaged; this node refuses everything until it has been looked at and started again',
    )
    for (const waiter of [...this.waiters]) waiter.end(tooOld())
    for (const reader of this.readers) reader.lost()
  }
}

/** No site and no issuer has a space in its name. */
function rowName(siteId: SiteId, issuer?: string): string {
  return issuer === undefined ? siteId : `${siteId} ${issuer}`
}

class LiveKnowledge implements RevocationData {
  readonly site: SiteView
  readonly signatures?: SignatureCache
  private readonly log: FollowedLog

  constructor(site: SiteView, log: FollowedLog, signatures: SignatureCache | undefined) {
    this.site = site
    this.log = log
    if (signatures !== undefined) this.signatures = signatures
  }

  get ageMs(): number {
    return this.log.ageOf(this.site)
  }

  get ageMsMax(): number {
    return this.log.ageMsMax
  }
}

function tooOld(): Problem {
  return new Problem(
    'revocation_view_stale',
    'this node has not read that far in the revocation log yet; try again in a moment',
    {
      retryAfterSeconds: 1,
    },
  )
}
