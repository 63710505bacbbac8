import { crc32 } from 'node:zlib'
import { parseTime, type RevocationLine } from '@countersign/core'
import type { CheckpointSite, SitePageInfo } from '../checkpoint.ts'
import { LogCorrupted } from '../log-corrupted.ts'
import type { Store } from '../store.ts'
import { findSitePages } from './load-checkpoint.ts'
import { loadPageText, readPageInTurns } from './site-page.ts'

type PageStore = Pick<Store, 'sitePages' | 'sitePageBytes'>

/** Sums stay exact below 2^53. */
const SUM_MAX = 2 ** 48

/**
 * Compares pages of a site with the entries from which they were made. A page has its revocations
 * in another order than the log, so checksums of all revocations are added up. They find mistakes;
 * a page that another program has changed has a wrong SHA-256.
 */
export class PageAudit {
  readonly #store: PageStore
  readonly #site: CheckpointSite
  /** Those that are still to be compared, in order. */
  readonly #pages: SitePageInfo[]
  /** Of the page that is being compared. Undefined if it has been replaced by another one. */
  #expected: number | undefined
  #sum = 0

  /** Compares the pages that begin at `seq` or later. */
  static async open(store: PageStore, site: CheckpointSite, seq: number): Promise<PageAudit> {
    // None when the checkpoint has been replaced: pages are merged from pages that were checked.
    const pages = (await findSitePages(store, site)) ?? []
    return new PageAudit(
      store,
      site,
      pages.filter(({ fromSeq }) => fromSeq >= seq),
    )
  }

  constructor(store: PageStore, site: CheckpointSite, pages: SitePageInfo[]) {
    this.#store = store
    this.#site = site
    this.#pages = pages
  }

  /** To be called for each entry in order, with the line for it if it has one. */
  async compare(seq: number, line: RevocationLine | undefined): Promise<void> {
    const [page] = this.#pages
    if (page === undefined || seq < page.fromSeq) return
    if (seq === page.fromSeq) {
      this.#sum = 0
      this.#expected = await this.#sumPage(page)
    }
    if (line !== undefined) this.#sum = (this.#sum + toSum(line)) % SUM_MAX
    if (seq < page.toSeq) return
    this.#pages.shift()
    if (this.#expected !== undefined && this.#expected !== this.#sum)
      throw new LogCorrupted(
        'row_differs',
        `page ${page.toSeq} of ${this.#site.siteId} has other revocations than the log`,
      )
  }

  async #sumPage(page: SitePageInfo): Promise<number | undefined> {
    const text = await loadPageText(this.#store, this.#site.siteId, page)
    if (text === undefined) return undefined
    let sum = 0
    await readPageInTurns(text, (line) => {
      sum = (sum + toSum(line)) % SUM_MAX
    })
    return sum
  }
}

/** The same for revocations in a pack and in single lines. */
function toSum(line: RevocationLine): number {
  switch (line.type) {
    case 'users':
    case 'credentials':
    case 'tokens': {
      const sinceMs = toMs(line.since)
      return line.ids.reduce<number>(
        (sum, id, i) => sum + markOne(line.type, id, sinceMs + (line.ms[i] ?? 0)),
        0,
      )
    }
    case 'credential':
      return markOne('credentials', line.credential_id, toMs(line.revoked_at))
    case 'token':
      return markOne('tokens', line.token_sha256, toMs(line.revoked_at))
    case 'user':
      // Without the first revocation, which an earlier time in a later entry can change.
      return line.reinstated_at === undefined
        ? markOne('users', line.ppid, toMs(line.revoked_at))
        : markOne('reinstated', line.ppid, toMs(line.reinstated_at))
    case 'signed_out':
      return markOne('signed_out', line.ppid, toMs(line.before))
    case 'holder':
      return markOne('holder', line.thumbprint, toMs(line.revoked_at))
  }
}

function markOne(type: string, id: string, atMs: number): number {
  return crc32(`${type} ${id} ${atMs}`)
}

function toMs(time: string): number {
  return parseTime(time) ?? 0
}
