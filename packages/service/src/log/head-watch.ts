import {
  checkHeartbeat,
  formatTime,
  type Heartbeat,
  type LogHead,
  type SiteId,
  signHeartbeat,
} from '@countersign/core'
import type { Logger } from 'pino'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { Meters } from '../meters.ts'
import type { SiteHead } from '../store/operations/log.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { type KeptHeads, readHeadFile, toHeadLine, writeHeadFile } from './head-file.ts'
import type { LiveViews } from './live-views.ts'
import {
  compareHeads,
  compareReadHeads,
  describeLoss,
  describeOtherLog,
  hasHead,
  type LeftBehind,
} from './lost-heads.ts'

export interface HeadWatchParts {
  /** Undefined: there is no file, and only heads from verifiers are checked. */
  readonly file: string | undefined
  readonly store: Pick<
    Store,
    'epoch' | 'siteEntriesAfter' | 'siteBase' | 'checkpoint' | 'checkpointSites' | 'epochLinks'
  >
  readonly keys: Pick<ServiceKeys, 'feedKey' | 'findFeedKey'>
  readonly clock: Clock
  readonly meters: Pick<Meters, 'entriesLost'>
  readonly log: Pick<Logger, 'error' | 'warn' | 'info'>
}

const WRITE_MS = 1000
/** After a write that took long, because there are many sites, the next one waits longer. */
const REST_FACTOR = 20

/** The minimum: these heads are a record, and no verifier may rely on a copy from the file. */
const RECORD_AGE_SECONDS = 1

const WHAT_TO_DO =
  'Look for the store that has these entries: another disk, a replica, a backup. If they are lost, run countersign accept-rollback, then revoke again. Until then this node rejects everything.'

interface KeptHead {
  readonly seq: number
  readonly hash: string
  readonly line: string
}

/**
 * Detects that the store has lost entries, by signed heads that are kept outside it: in a file of
 * this node, and by its verifiers.
 */
export class HeadWatch {
  /** The file could not be read or written the last time. */
  isFailing = false
  readonly #parts: HeadWatchParts
  readonly #writeMs: number
  #views: LiveViews | undefined
  #unfollow = () => {}
  /** The contents of the file, once everything is written. */
  readonly #kept = new Map<SiteId, KeptHead>()
  #epoch = ''
  /** Sites whose head in the file may not be the last one. */
  readonly #changed = new Set<SiteId>()
  /** The log is being read from its beginning, and any site may have changed. */
  #isReread = true
  /** The file differs from `#kept`. */
  #isDirty = false
  /** While this is set, the file is evidence and is not changed. */
  #alarm: string | undefined
  #timer: NodeJS.Timeout | undefined
  /** One write at a time. */
  #writing: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: HeadWatchParts, writeMs = WRITE_MS) {
    this.#parts = parts
    this.#writeMs = writeMs
  }

  /**
   * Compares the log that was just read, whose heads `findHead` gives, with the file and with
   * `former`, the heads that this node had read before. Resolves to why the log must not be
   * trusted, in words for the operator, or to undefined. Logs and counts the entries that a new
   * epoch lacks. Rejects when the store is unavailable.
   */
  async compare(
    findHead: (siteId: SiteId) => LogHead | undefined,
    former: readonly SiteHead[] = [],
  ): Promise<string | undefined> {
    const { store, meters, log } = this.#parts
    this.#alarm = undefined
    await this.#writing
    const kept = this.#read()
    this.#epoch = store.epoch
    this.#kept.clear()
    for (const head of kept?.heads.values() ?? []) if (head.epoch === store.epoch) this.#keep(head)
    const found = await compareHeads(store, kept?.heads.values() ?? [], findHead)
    const read = await compareReadHeads(store, former, findHead)
    const leftBehind = new Map<SiteId, LeftBehind>()
    for (const each of [...found.leftBehind, ...read.leftBehind])
      if (each.head.seq > (leftBehind.get(each.head.site_id)?.head.seq ?? 0))
        leftBehind.set(each.head.site_id, each)
    for (const { head, seq } of leftBehind.values()) {
      meters.entriesLost(head.seq - seq)
      log.warn(
        { site_id: head.site_id, from_epoch: head.epoch, entries: head.seq - seq },
        'the new epoch began without entries that this node has seen; what they revoked has to be revoked again',
      )
    }
    const loss = describeLoss(found, store.epoch) ?? describeOtherLog(read.unknown)
    if (loss === undefined) return undefined
    return this.#raise(loss)
  }

  #read(): KeptHeads | undefined {
    const { file, log } = this.#parts
    if (file === undefined) return undefined
    try {
      const kept = readHeadFile(file)
      this.isFailing = false
      if (kept === undefined)
        log.info({ head_file: file }, 'there is no head file yet: a loss before now cannot be noticed')
      else if (kept.unreadable > 0)
        log.warn({ head_file: file, lines: kept.unreadable }, 'some lines of the head file cannot be read')
      return kept
    } catch (err) {
      this.#fail(err, 'the head file cannot be read, so a loss would not be noticed')
      return undefined
    }
  }

  #fail(err: unknown, words: string): void {
    if (!this.isFailing) this.#parts.log.error({ err, head_file: this.#parts.file }, words)
    this.isFailing = true
  }

  #raise(loss: string): string {
    const { log, store } = this.#parts
    this.#alarm = loss
    log.error({ epoch: store.epoch }, `the store has lost part of the log: ${loss}. ${WHAT_TO_DO}`)
    return loss
  }

  #keep(head: Heartbeat): void {
    this.#kept.set(head.site_id, { seq: head.seq, hash: head.hash, line: toHeadLine(head) })
  }

  /**
   * From now on writes the heads of changed sites to the file, and reports losses to these views.
   */
  follow(views: LiveViews): void {
    this.#views = views
    this.#unfollow = views.follow({
      applied: (entries, isEnd) => {
        for (const { entry } of entries) this.#changed.add(entry.site_id)
        if (this.#isReread && isEnd) this.#compareAll(views)
        if (this.#changed.size > 0) this.#writeSoon(this.#writeMs)
      },
      lost: () => {
        this.#isReread = true
        this.#changed.clear()
      },
    })
  }

  /**
   * Readers are not notified of entries before the log was loaded, so every site is compared once.
   */
  #compareAll(views: LiveViews): void {
    this.#isReread = false
    for (const { siteId, seq, hash } of views.heads()) {
      const kept = this.#kept.get(siteId)
      if (kept?.seq !== seq || kept.hash !== hash) this.#changed.add(siteId)
    }
  }

  /**
   * Checks the last signed head that a verifier has received. If one of the service's own feed keys
   * signed it and the store does not have that entry, this node stops trusting its log. Any other
   * head has no effect. Rejects when the store is unavailable.
   */
  async shown(siteId: SiteId, head: Heartbeat): Promise<void> {
    const { store, keys } = this.#parts
    const views = this.#views
    if (
      views === undefined ||
      this.#alarm !== undefined ||
      head.site_id !== siteId ||
      head.epoch !== store.epoch
    )
      return
    const findHead = (id: SiteId) => views.view(id)?.head
    const known = findHead(siteId)
    if (known?.seq === head.seq && known.hash === head.hash) return
    const key = head.seq > 0 ? keys.findFeedKey(head.kid) : undefined
    if (key === undefined || (await checkHeartbeat(head, key)) === undefined) return
    // This node may be behind its store. Rejects if the store has begun another epoch meanwhile.
    const isThere = await hasHead(store, head, () => undefined)
    if (isThere || this.#alarm !== undefined || head.epoch !== store.epoch) return
    const lost = { lost: [{ head, seq: findHead(siteId)?.seq ?? 0 }], leftBehind: [] }
    views.suspect(this.#raise(describeLoss(lost, store.epoch) ?? ''))
    this.#keep(head) // So that a restart does not forget it.
    this.#isDirty = true
    this.#writing = this.#writing.then(() => this.#write())
    await this.#writing
  }

  #writeSoon(inMs: number): void {
    if (this.#timer !== undefined || this.#isClosed || this.#parts.file === undefined) return
    this.#timer = setTimeout(async () => {
      const startedMs = performance.now()
      this.#writing = this.#writing.then(() => this.#writeChanged())
      await this.#writing
      this.#timer = undefined
      const tookMs = performance.now() - startedMs
      if (this.#changed.size > 0 || this.#isDirty)
        this.#writeSoon(Math.max(this.#writeMs, REST_FACTOR * tookMs))
    }, inMs)
    this.#timer.unref()
  }

  async #writeChanged(): Promise<void> {
    try {
      if (this.#alarm === undefined && (await this.#signChanged())) await this.#write()
    } catch (err) {
      this.#fail(err, 'heads could not be signed for the head file')
    }
  }

  /** False when this node cannot confirm the head of the log now: then nothing may be written. */
  async #signChanged(): Promise<boolean> {
    const { keys, clock } = this.#parts
    const views = this.#views
    for (const siteId of [...this.#changed]) {
      const head = views?.view(siteId)?.head
      if (views?.readiness().ready !== true || head === undefined || head.epoch !== this.#epoch) return false
      const { epoch, seq, hash } = head
      const { kid, key } = keys.feedKey(clock.nowMs())
      const as_of = formatTime(views.age().asOfMs)
      const fields = { site_id: siteId, epoch, seq, hash, as_of, max_age_seconds: RECORD_AGE_SECONDS, kid }
      const signed = await signHeartbeat(fields, key)
      if (this.#alarm !== undefined || this.#epoch !== epoch) return false
      this.#keep(signed)
      this.#isDirty = true
      if (views.view(siteId)?.head.seq === seq) this.#changed.delete(siteId)
    }
    return true
  }

  async #write(): Promise<void> {
    const { file, log } = this.#parts
    if (file === undefined || !this.#isDirty) return
    this.#isDirty = false
    try {
      await writeHeadFile(
        file,
        [...this.#kept.values()].map(({ line }) => line),
      )
      if (this.isFailing) log.info({ head_file: file }, 'the head file can be written again')
      this.isFailing = false
    } catch (err) {
      this.#isDirty = true
      this.#fail(err, 'the head file cannot be written, so a loss would not be noticed at the next start')
    }
  }

  /** Writes what is not yet in the file. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#unfollow()
    clearTimeout(this.#timer)
    this.#writing = this.#writing.then(() => this.#writeChanged())
    await this.#writing
  }
}
