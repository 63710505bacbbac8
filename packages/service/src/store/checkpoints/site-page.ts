import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { type PackedPage, type RevocationLine, readPageLines, type SiteId } from '@countersign/core'
import type { SitePage, SitePageInfo } from '../checkpoint.ts'
import { LogCorrupted } from '../log-corrupted.ts'
import type { Store } from '../store.ts'
import { deflatePart, inflatePart } from './inflate-part.ts'

/** Text that is parsed without letting other requests run. */
const PIECE_CHARS = 64 * 1024

/** The page of these seqs, compressed. */
export async function createSitePage(
  { text, lines, revocations, newestMs }: PackedPage,
  fromSeq: number,
  toSeq: number,
): Promise<SitePage> {
  const content = Buffer.from(text)
  return {
    fromSeq,
    toSeq,
    lines,
    revocations,
    bytes: content.length,
    crc32: crc32(content),
    sha256: createHash('sha256').update(content).digest('hex'),
    newestAtMs: newestMs,
    deflated: await deflatePart(content),
  }
}

/**
 * The text of a page, compared with its digest. Undefined when it has been replaced since `info`
 * was read. Throws a `LogCorrupted` when it is not what this service wrote.
 */
export async function loadPageText(
  store: Pick<Store, 'sitePageBytes'>,
  siteId: SiteId,
  info: SitePageInfo,
): Promise<string | undefined> {
  const deflated = await store.sitePageBytes(siteId, info)
  if (deflated === undefined) return undefined
  const content = await inflatePart(deflated, info.bytes)
  if (content === undefined || createHash('sha256').update(content).digest('hex') !== info.sha256)
    throw new LogCorrupted('forged', `page ${info.toSeq} of ${siteId} is not the one that this service wrote`)
  return content.toString()
}

/** Passes each line of a page to `add`, and lets other requests run in between. */
export async function readPageInTurns(text: string, add: (line: RevocationLine) => void): Promise<void> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start + PIECE_CHARS)
    const next = end < 0 ? text.length : end + 1
    readPageLines(text.slice(start, next), add)
    start = next
    await nextTurn()
  }
}
