import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { SiteId } from '@countersign/core'
import { BoundedMap } from '../../bounded-map.ts'
import type { SitePageInfo } from '../../store/checkpoint.ts'
import { inflatePart } from '../../store/checkpoints/inflate-part.ts'
import { RowForged } from '../../store/errors.ts'
import type { Store } from '../../store/store.ts'
import type { DeflatedText } from './deflated-text.ts'

/** The page is no longer stored: another page has replaced it. */
export class PageReplaced extends Error {
  override readonly name = 'PageReplaced'
}

export interface PageCacheParts {
  readonly store: Pick<Store, 'sitePageBytes'>
  /** Called when a page is read from the store. */
  readonly onRead?: () => void
  /** Called when a stored page is not the one that the service wrote. */
  readonly onForged?: (table: string) => void
}

/** A million revocations are about 25 MiB. */
const BYTES_MAX = 64 * 1024 * 1024
/** Each page that was ever checked is remembered by two digests. */
const CHECKED_MAX = 20_000

interface Cached {
  readonly page: Promise<DeflatedText>
  /** 0 until it is known. */
  bytes: number
}

/**
 * The pages that were read last, by the SHA-256 of their text. Concurrent readers share one read.
 */
export class PageCache {
  readonly #parts: PageCacheParts
  readonly #bytesMax: number
  /** The page that was not used for the longest time comes first. */
  readonly #pages = new Map<string, Cached>()
  /** By the SHA-256 of a text: that of the compressed bytes which were found to contain it. */
  readonly #checked = new BoundedMap<string, string>(CHECKED_MAX)
  #bytes = 0

  constructor(parts: PageCacheParts, bytesMax = BYTES_MAX) {
    this.#parts = parts
    this.#bytesMax = bytesMax
  }

  /** How many compressed bytes it has. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * The page, whose text has the digest that `info` states. Rejects with `PageReplaced`, and with
   * `RowForged` when the stored bytes are not that text.
   */
  load(siteId: SiteId, info: SitePageInfo): Promise<DeflatedText> {
    const { sha256 } = info
    const known = this.#pages.get(sha256)
    if (known !== undefined) {
      this.#pages.delete(sha256)
      this.#pages.set(sha256, known)
      return known.page
    }
    const added: Cached = { page: this.#read(siteId, info), bytes: 0 }
    this.#pages.set(sha256, added)
    added.page.then(
      ({ deflated }) => {
        added.bytes = deflated.length
        this.#bytes += deflated.length
        this.#shrink()
      },
      () => this.#pages.delete(sha256),
    )
    return added.page
  }

  async #read(siteId: SiteId, info: SitePageInfo): Promise<DeflatedText> {
    this.#parts.onRead?.()
    const { bytes, crc32: crc, sha256 } = info
    const deflated = await this.#parts.store.sitePageBytes(siteId, info)
    if (deflated === undefined)
      throw new PageReplaced(`page ${info.toSeq} of ${siteId} has been replaced by another page`)
    const page = { deflated, bytes, crc32: crc }
    const digest = hash('sha256', deflated)
    if (this.#checked.get(sha256) === digest) return page
    if (!(await isText(page, sha256))) {
      this.#parts.onForged?.('log_pages')
      throw new RowForged('log_pages', `${siteId} ${info.toSeq}`)
    }
    this.#checked.set(sha256, digest)
    return page
  }

  #shrink(): void {
    for (const [sha256, { bytes }] of this.#pages) {
      if (this.#bytes <= this.#bytesMax) return
      // A page that is being read stays, so that all its readers share the read.
      if (bytes === 0) continue
      this.#pages.delete(sha256)
      this.#bytes -= bytes
    }
  }
}

/** Whether the bytes contain exactly the text with this digest, and other parts can follow. */
async function isText(page: DeflatedText, sha256: string): Promise<boolean> {
  const text = await inflatePart(page.deflated, page.bytes)
  return text !== undefined && crc32(text) === page.crc32 && hash('sha256', text) === sha256
}
