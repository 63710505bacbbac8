import type { SiteId } from '@countersign/core'
import type { CheckpointSite, SitePageInfo } from '../../checkpoint.ts'
import { number, text, toSiteId } from '../../columns.ts'
import { type Row, rows, type Transaction } from '../../transaction.ts'

const COLUMNS = 'site_id, from_seq, to_seq, lines, revocations, bytes, crc32, sha256, newest_at'
/** Sites whose pages are read with one statement. */
const SITES = 200

/** The stored pages of a site that end at `seq` or before, also those that were replaced. */
export function* storedPages(siteId: SiteId, seq: number): Transaction<readonly SitePageInfo[]> {
  const found = yield* rows(
    `SELECT ${COLUMNS} FROM log_pages WHERE site_id = $1 AND to_seq <= $2 ORDER BY to_seq`,
    siteId,
    seq,
  )
  return found.map(toInfo)
}

/** All stored pages of these sites. Takes few statements, however many sites there are. */
export function* findPagesOfSites(
  sites: readonly CheckpointSite[],
): Transaction<ReadonlyMap<SiteId, SitePageInfo[]>> {
  const pages = new Map<SiteId, SitePageInfo[]>(sites.map(({ siteId }) => [siteId, []]))
  const ids = [...pages.keys()].sort()
  for (let at = 0; at < ids.length; at += SITES) {
    const some = ids.slice(at, at + SITES)
    const found = yield* rows(
      `SELECT ${COLUMNS} FROM log_pages WHERE site_id >= $1 AND site_id <= $2 ORDER BY site_id, to_seq`,
      some[0] ?? '',
      some.at(-1) ?? '',
    )
    for (const each of found) pages.get(toSiteId(each))?.push(toInfo(each))
  }
  return pages
}

function toInfo(found: Row): SitePageInfo {
  return {
    fromSeq: number(found, 'from_seq'),
    toSeq: number(found, 'to_seq'),
    lines: number(found, 'lines'),
    revocations: number(found, 'revocations'),
    bytes: number(found, 'bytes'),
    crc32: number(found, 'crc32'),
    sha256: text(found, 'sha256'),
    newestAtMs: number(found, 'newest_at'),
  }
}
