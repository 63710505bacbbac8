import { createHash, hash } from 'node:crypto'
import type { CheckpointSite, SitePageInfo } from './checkpoint.ts'

/** Covers every column of the pages of a site; `sha256` covers the text in the compressed bytes. */
export function digestPages(pages: readonly SitePageInfo[]): string {
  const digest = createHash('sha256')
  for (const { fromSeq, toSeq, lines, revocations, bytes, crc32, sha256, newestAtMs } of pages)
    digest.update(
      `${JSON.stringify([fromSeq, toSeq, lines, revocations, bytes, crc32, sha256, newestAtMs])}\n`,
    )
  return digest.digest('hex')
}

/** Covers one row of a checkpoint. */
export function digestSite(site: CheckpointSite): string {
  const { siteId, seq, hash: head, baseSeq, baseHash, state, pages, pagesSha256 } = site
  return hash(
    'sha256',
    JSON.stringify([siteId, seq, head, baseSeq, baseHash, hash('sha256', state), pages, pagesSha256]),
  )
}

/** Covers all rows of a checkpoint, from `digestSite` of each, by the id of the site. */
export function digestSites(digests: ReadonlyMap<string, string>): string {
  const digest = createHash('sha256')
  // Sorted by UTF-16 code units; ids of sites are ASCII, so both stores have the same order.
  for (const siteId of [...digests.keys()].sort()) digest.update(`${siteId} ${digests.get(siteId)}\n`)
  return digest.digest('hex')
}
