import { checkEntry, type Entry, type SiteId, SiteView } from '@countersign/core'
import { LogCorrupted } from '../store/log-corrupted.ts'
import { EMPTY_DIGEST, nextDigest } from '../store/log-digest.ts'
import type { SiteHead } from '../store/operations/log.ts'
import type { TailPage } from './tail.ts'

/** Where the log ended before it was read, as the store says besides the log itself. */
export interface LogEnds {
  readonly position: number
  readonly heads: readonly SiteHead[]
}

/** The log of one epoch as far as this node has read, checked and applied it. */
export class AppliedLog {
  readonly epoch: string
  readonly views = new Map<SiteId, SiteView>()
  position = 0
  /** The seq of the last entry about a site, and about a site and issuer, by `rowName`. */
  readonly #lastSeqs = new Map<string, number>()
  /** Of all entries that were read. */
  #digest = EMPTY_DIGEST
  #keysDeleted = 0

  constructor(epoch: string) {
    this.epoch = epoch
  }

  /** See `LiveViews.lastEntryAbout`. */
  lastEntryAbout(siteId: SiteId, issuer?: string): number {
    return this.#lastSeqs.get(rowName(siteId, issuer)) ?? 0
  }

  /**
   * Compares a page with the digest in the log row, whose MAC only this service can create, then
   * applies its entries. Throws a `LogCorrupted`.
   */
  async apply(page: TailPage): Promise<void> {
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
      if (entry.kind === 'site.changed') this.#lastSeqs.set(rowName(entry.site_id), entry.seq)
      else if ('issuer' in entry.body && entry.kind !== 'issuer.cut_off')
        this.#lastSeqs.set(rowName(entry.site_id, entry.body.issuer), entry.seq)
    }
  }

  #authenticate({ entries, isEnd, end }: TailPage): void {
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

/** No site and no issuer has a space in its name. */
function rowName(siteId: SiteId, issuer?: string): string {
  return issuer === undefined ? siteId : `${siteId} ${issuer}`
}
