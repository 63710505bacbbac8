import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, crc32, deflateRaw, inflateRaw } from 'node:zlib'
import { type PackedPage, type RevocationLine, readPageLines, type SiteId } from '@countersign/core'
import type { SitePage, SitePageInfo } from '../checkpoint.ts'
import { LogCorrupted } from '../log-corrupted.ts'
import type { Store } from '../store.ts'

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** The blocks end at a byte boundary and none is final: pages can follow each other in a stream. */
const finishFlush = constants.Z_SYNC_FLUSH

/** The least that zlib accepts. */
const PIECE_BYTES_MIN = 64

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
    deflated: await deflate(content, { finishFlush, chunkSize: Math.max(content.length, PIECE_BYTES_MIN) }),
  }
}

/**
 * The text of a page, compared with its digest. Undefined when it has been replaced since `info`
 * was read. Throws a `LogCorrupted` when it is not the text that this service wrote.
 */
export async function loadPageText(
  store: Pick<Store, 'sitePageBytes'>,
  siteId: SiteId,
  info: SitePageInfo,
): Promise<string | undefined> {
  const deflated = await store.sitePageBytes(siteId, info)
  if (deflated === undefined) return undefined
  const content = await inflatePage(deflated, info.bytes)
  if (
    content === undefined ||
    content.length !== info.bytes ||
    createHash('sha256').update(content).digest('hex') !== info.sha256
  )
    throw new LogCorrupted('forged', `page ${info.toSeq} of ${siteId} is not the one that this service wrote`)
  return content.toString()
}

/** Undefined for bytes that are damaged, or have more text than they should. */
async function inflatePage(deflated: Uint8Array, bytes: number): Promise<Buffer | undefined> {
  try {
    // One piece for the whole text: many small ones take much longer.
    const chunkSize = Math.max(bytes, PIECE_BYTES_MIN)
    return await inflate(deflated, { finishFlush, chunkSize, maxOutputLength: Math.max(1, bytes) })
  } catch {
    return undefined
  }
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
