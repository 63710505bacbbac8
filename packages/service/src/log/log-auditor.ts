import { setTimeout as sleep } from 'node:timers/promises'
import {
  type EntryContent,
  GENESIS_HASH,
  type SiteId,
  type SiteView,
  toRevocationLine,
} from '@countersign/core'
import type { CheckpointSite } from '../store/checkpoint.ts'
import { type LoadedCheckpoint, loadCheckpoint } from '../store/checkpoints/load-checkpoint.ts'
import { PageAudit } from '../store/checkpoints/page-audit.ts'
import { hashEntry } from '../store/entry-hash.ts'
import { LogCorrupted } from '../store/log-corrupted.ts'
import { nextDigest } from '../store/log-digest.ts'
import type { LoggedRecord } from '../store/operations/log.ts'
import type { Store } from '../store/store.ts'

export type AuditedStore = Pick<
  Store,
  'recordsAfter' | 'checkpoint' | 'checkpointSites' | 'sitePages' | 'sitePageBytes'
>

/** Entries that are checked without a pause. */
const RECORDS = 200
/** The pause after them is so many times as long as the work, so that requests are not delayed. */
const REST_FACTOR = 3
/** After a failure of the store. */
const RETRY_MS = 1000

/**
 * Checks the entries between the base and a checkpoint, which a start does not read: their hashes
 * must lead from the heads and the digest at the base to those of the checkpoint, and its pages
 * must have their revocations. Works in the background.
 */
export class LogAuditor {
  readonly #store: AuditedStore
  readonly #from: LoadedCheckpoint
  readonly #findView: (siteId: SiteId) => SiteView | undefined
  readonly #pages = new Map<SiteId, PageAudit>()
  #heads: Map<SiteId, { readonly seq: number; readonly hash: string }>
  #digest: string
  #isStopped = false
  /** Entries up to this one may have been removed. */
  basePosition: number
  /** Up to where the entries have been checked. */
  auditedPosition: number
  readonly endPosition: number

  constructor(
    store: AuditedStore,
    from: LoadedCheckpoint,
    findView: (siteId: SiteId) => SiteView | undefined,
  ) {
    const { basePosition, baseDigest, position } = from.checkpoint
    this.#store = store
    this.#from = from
    this.#findView = findView
    this.#heads = toBaseHeads(from)
    this.#digest = baseDigest
    this.basePosition = basePosition
    this.auditedPosition = basePosition
    this.endPosition = position
  }

  stop(): void {
    this.#isStopped = true
  }

  /**
   * Resolves to whether all entries were checked: false after `stop` and when `signal` fires.
   * Rejects with a `LogCorrupted`. A store that does not answer is asked again.
   */
  async run(signal: AbortSignal): Promise<boolean> {
    while (this.auditedPosition < this.endPosition) {
      if (signal.aborted || this.#isStopped) return false
      const sinceMs = performance.now()
      let restMs = RETRY_MS
      try {
        await this.#checkNext()
        restMs = REST_FACTOR * (performance.now() - sinceMs)
      } catch (fault) {
        // A new epoch also looks like a store that does not answer; then this audit is stopped.
        if (fault instanceof LogCorrupted) throw fault
      }
      await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
    this.#requireEnd()
    return true
  }

  async #checkNext(): Promise<void> {
    const after = this.auditedPosition
    const records = await this.#store.recordsAfter(after, Math.min(RECORDS, this.endPosition - after))
    if (records[0]?.position !== after + 1) return this.#moveToBase()
    for (const record of records) {
      this.#check(record)
      await this.#comparePage(record)
    }
  }

  /** The entries may have been removed since, because the base is further on. */
  async #moveToBase(): Promise<void> {
    const now = await loadCheckpoint(this.#store)
    const position = now?.checkpoint.basePosition ?? 0
    if (now === undefined || position <= this.auditedPosition)
      throw new LogCorrupted('missing', `entry ${this.auditedPosition + 1} of the log is missing`)
    this.#heads = toBaseHeads(now)
    this.#digest = now.checkpoint.baseDigest
    this.#pages.clear()
    this.basePosition = position
    this.auditedPosition = Math.min(position, this.endPosition)
    if (position > this.endPosition) this.#isStopped = true
  }

  #check({ position, siteId, seq, kind, body, at, prevHash, hash }: LoggedRecord): void {
    const fail = (reason: LogCorrupted['reason']) =>
      new LogCorrupted(reason, `entry ${position}, before the checkpoint, is not the one that was written`)
    const head = this.#heads.get(siteId) ?? { seq: 0, hash: GENESIS_HASH }
    if (position !== this.auditedPosition + 1) throw fail('missing')
    if (seq !== head.seq + 1) throw fail('hole')
    if (prevHash !== head.hash) throw fail('wrong_prev')
    const { epoch } = this.#from.checkpoint
    if (hashEntry({ epoch, seq, siteId, kind, bodyJson: body, at, prevHash }) !== hash)
      throw fail('wrong_hash')
    this.#heads.set(siteId, { seq, hash })
    this.#digest = nextDigest(this.#digest, hash)
    this.auditedPosition = position
  }

  async #comparePage({ siteId, seq, kind, body }: LoggedRecord): Promise<void> {
    let pages = this.#pages.get(siteId)
    if (pages === undefined) {
      pages = await PageAudit.open(this.#store, this.#siteOf(siteId), seq)
      this.#pages.set(siteId, pages)
    }
    const view = this.#findView(siteId) ?? { userRevocation: () => undefined }
    const line = toRevocationLine({ kind, body: JSON.parse(body) } as EntryContent, view)
    await pages.compare(seq, line)
  }

  #siteOf(siteId: SiteId): CheckpointSite {
    const site = this.#from.sites.get(siteId)
    if (site !== undefined) return site
    throw new LogCorrupted('other_entries', `the checkpoint lacks ${siteId}, which has entries before it`)
  }

  #requireEnd(): void {
    if (this.#isStopped) return
    const isThere = (site: CheckpointSite) => {
      const head = this.#heads.get(site.siteId)
      return head?.seq === site.seq && head.hash === site.hash
    }
    if (this.#digest === this.#from.checkpoint.digest && [...this.#from.sites.values()].every(isThere)) return
    throw new LogCorrupted(
      'other_entries',
      `the entries up to ${this.endPosition} are not those of the checkpoint`,
    )
  }
}

function toBaseHeads({ sites }: LoadedCheckpoint): Map<SiteId, { seq: number; hash: string }> {
  return new Map(
    [...sites.values()].map(({ siteId, baseSeq, baseHash }) => [siteId, { seq: baseSeq, hash: baseHash }]),
  )
}
