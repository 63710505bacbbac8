import type { EpochStatement, SnapshotEnd, SnapshotHead, SnapshotLine } from '@countersign/core'
import { parseSnapshotLine } from '@countersign/core'
import { joinBytes } from '../shared/bounded-body.ts'
import { SNAPSHOT_LIMITS, SnapshotContent, tooLarge, unreadable } from './snapshot-content.ts'

/**
 * A complete snapshot. It must not be used before `checkSnapshot` has compared its signed end with
 * what was received.
 */
export interface ReadSnapshot<Load> {
  readonly head: SnapshotHead
  /**
   * How the epoch of the log and those before it began, oldest first. Their signatures have not
   * been checked.
   */
  readonly epochs: readonly EpochStatement[]
  readonly end: SnapshotEnd
  /** What the signed end covers. The digest of each page has been compared with its lines. */
  readonly received: { readonly lines: number; readonly sha256: string }
  readonly load: Load
}

const NEWLINE = 10
const LINE_BYTES_MAX = 1_048_576
/** More chunks of one line than this are joined, because each has an overhead in memory. */
const PIECES_MAX = 1024

/**
 * Reads a snapshot and passes each line to `load` at once, so that it keeps no more than a few
 * lines in memory. Throws a SyntaxError for anything but a whole snapshot, and a LogCorrupted for
 * one that is too large or has a page with another digest: then `load` must be discarded.
 */
export async function readSnapshot<Load extends { add(line: SnapshotLine): void }>(
  chunks: AsyncIterable<Uint8Array>,
  begin: (head: SnapshotHead) => Load,
  limits = SNAPSHOT_LIMITS,
): Promise<ReadSnapshot<Load>> {
  const content = new SnapshotContent(begin, limits)
  let byteCount = 0
  /** The bytes since the last complete line but one: the last line is not part of the content. */
  let tail: Uint8Array[] = []
  let tailBytes = 0

  for await (const chunk of chunks) {
    byteCount += chunk.length
    if (byteCount > limits.bytes) throw tooLarge()
    tail.push(chunk)
    tailBytes += chunk.length
    // A line that comes in many small chunks must not be copied with each of them.
    const bytes = chunk.includes(NEWLINE) || tail.length > PIECES_MAX ? joinBytes(tail, tailBytes) : undefined
    const end = bytes?.lastIndexOf(NEWLINE) ?? 0
    const cut = bytes === undefined || end < 1 ? 0 : bytes.lastIndexOf(NEWLINE, end - 1) + 1
    if (bytes !== undefined) tail = [bytes.subarray(cut)]
    tailBytes -= cut
    if (tailBytes > LINE_BYTES_MAX) throw unreadable()
    if (bytes !== undefined && cut > 0) await content.read(bytes.subarray(0, cut))
  }

  const text = new TextDecoder('utf-8', { fatal: true }).decode(joinBytes(tail, tailBytes))
  const end = parseSnapshotLine(JSON.parse(text))
  if (end?.type !== 'end') throw unreadable()
  return { ...(await content.finish()), end }
}
