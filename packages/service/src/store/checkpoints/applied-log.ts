import { checkEntry, type Entry, type SiteId, SiteView } from '@countersign/core'
import { LogCorrupted } from '../log-corrupted.ts'
import { EMPTY_DIGEST, nextDigest } from '../log-digest.ts'
import type { SiteHead } from '../operations/log.ts'
import { toStateText } from './checkpoint-state.ts'
import type { LogPart } from './log-part.ts'

const EMPTY = { position: 0, digest: EMPTY_DIGEST }

/** Where the log ended before it was read, as the store says besides the log itself. */
export interface LogEnds {
  readonly position: number
  readonly heads: readonly SiteHead[]
}

/** The log at a moment, for a checkpoint. */
export interface CapturedLog {
  readonly epoch: string
  readonly position: number
  readonly digest: string
  readonly sites: readonly CapturedSite[]
}

export interface CapturedSite {
  readonly siteId: SiteId
  readonly seq: number
  readonly hash: string
  readonly state: string
  /** Goes on after the moment. */
  readonly view: SiteView
}

/** The log of one epoch as far as this node has read, checked and applied it. */
export class AppliedLog {
  readonly epoch: string
  readonly views = new Map<SiteId, SiteView>()
  position: number
  /** By site: the seq of the last entry about each issuer, and under the empty name the site. */
  readonly #lastSeqs = new Map<SiteId, Map<string, number>>()
  /** Of all entries that were read. */
  #digest: string
  /** Up to where the log has been compared with the log row. */
  #comparedPosition = -1
  #keysDeleted = 0

  /** Begins where a checkpoint ends, if it is given; then `addSite` adds what came before. */
  constructor(epoch: string, start: { readonly position: number; readonly digest: string } = EMPTY) {
    this.epoch = epoch
    this.position = start.position
    this.#digest = start.digest
  }

  /** Adds a site of a checkpoint. */
  addSite(view: SiteView, lastSeqs: ReadonlyMap<string, number>): void {
    this.views.set(view.siteId, view)
    this.#lastSeqs.set(view.siteId, new Map(lastSeqs))
  }

  /** See `LiveViews.lastEntryAbout`. */
  lastEntryAbout(siteId: SiteId, issuer = ''): number {
    return this.#lastSeqs.get(siteId)?.get(issuer) ?? 0
  }

  /**
   * The log as it is now, with the sites that are not at the seq in `known`. Undefined while it has
   * not been compared with the log row.
   */
  capture(known: (siteId: SiteId) => number | undefined): CapturedLog | undefined {
    const { epoch, position, views } = this
    if (this.#comparedPosition !== position) return undefined
    const sites: CapturedSite[] = []
    for (const [siteId, view] of views) {
      const { seq, hash } = view.head
      if (known(siteId) === seq) continue
      const state = toStateText(view, this.#lastSeqs.get(siteId) ?? new Map())
      sites.push({ siteId, seq, hash, state, view })
    }
    return { epoch, position, digest: this.#digest, sites }
  }

  /**
   * Compares a page with the digest in the log row, whose MAC only this service can create, then
   * applies its entries. Throws a `LogCorrupted`.
   */
  async apply(page: LogPart): Promise<void> {
    this.#authenticate(page)
    for (const { entry, position } of page.entries) {
      const checking = checkEntry(entry)
      const checked = checking instanceof Promise ? await checking : checking
      if (checked === undefined)
        throw new LogCorrupted('wrong_hash', `entry ${position} of the log has another hash than its own`)
      const applied = entry.epoch === this.epoch ? this.#viewFor(entry).apply(checked) : 'other_epoch'
      if (applied !== 'applied')
        throw new LogCorrupted(
          applied === 'known' ? 'fork' : applied,
          `entry ${position} does not continue the log of ${entry.site_id}: ${applied}`,
        )
      this.position = position
      this.#recordSeq(entry)
    }
    if (page.isEnd) this.#comparedPosition = this.position
  }

  #recordSeq({ site_id: siteId, seq, kind, body }: Entry): void {
    const isAboutIssuer = 'issuer' in body && kind !== 'issuer.cut_off'
    if (!isAboutIssuer && kind !== 'site.changed') return
    const seqs = this.#lastSeqs.get(siteId) ?? new Map<string, number>()
    this.#lastSeqs.set(siteId, seqs.set(isAboutIssuer ? body.issuer : '', seq))
  }

  #authenticate({ entries, isEnd, end }: LogPart): void {
    for (const { entry } of entries) this.#digest = nextDigest(this.#digest, entry.hash)
    if (end.keysDeleted < this.#keysDeleted)
      throw new LogCorrupted(
        'forged',
        `the log row was put back: it counts ${end.keysDeleted} deleted API keys, and there were ${this.#keysDeleted}`,
      )
    this.#keysDeleted = end.keysDeleted
    if (!isEnd) return
    const position = entries.at(-1)?.position ?? this.position
    if (position !== end.position || this.#digest !== end.digest)
      throw new LogCorrupted(
        'other_entries',
        `the entries up to ${position} are not those that this service wrote: the log row has the digest of ${end.position} others`,
      )
  }

  #viewFor({ site_id: siteId }: Entry): SiteView {
    const known = this.views.get(siteId)
    if (known !== undefined) return known
    const view = new SiteView({ siteId, entriesAreProven: true })
    this.views.set(siteId, view)
    return view
  }

  /** Throws a `LogCorrupted` when the log ends before these ends: it has been cut. */
  requireEnds({ position, heads }: LogEnds): void {
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
}
