import {
  createSha256,
  EPOCH_STATEMENTS_MAX,
  type EpochStatement,
  parseSnapshotLine,
  type SnapshotEnd,
  type SnapshotHead,
  type SnapshotLine,
} from '@countersign/core'
import { joinBytes } from '../shared/bounded-body.ts'
import { LogCorrupted } from './log-corrupted.ts'

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
  readonly received: { readonly lines: number; readonly sha256: string }
  readonly load: Load
}

const NEWLINE = 10
const LINE_BYTES_MAX = 1_048_576
/** More chunks of one line than this are joined, because each has an overhead in memory. */
const PIECES_MAX = 1024
/**
 * The limits of a snapshot. Only its last line is signed, so a relay may have written everything
 * before it. A guard supports 10 million revocations. An issuer takes more time and memory than a
 * revocation.
 */
const SNAPSHOT_LIMITS = {
  lines: 20_000_000,
  bytes: 4_294_967_296,
  issuerLines: 100_000,
  issuerBytes: 67_108_864,
}

/**
 * Reads a snapshot line by line and passes each line to `load` at once, so that it keeps no more
 * than a line in memory. Throws a SyntaxError for anything but a whole snapshot, and a LogCorrupted
 * for one that is too large: then `load` must be discarded.
 */
export async function readSnapshot<Load extends { add(line: SnapshotLine): void }>(
  chunks: AsyncIterable<Uint8Array>,
  begin: (head: SnapshotHead) => Load,
  limits = SNAPSHOT_LIMITS,
): Promise<ReadSnapshot<Load>> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const sha256 = createSha256()
  let lines = 0
  let head: SnapshotHead | undefined
  let load: Load | undefined
  const epochs: EpochStatement[] = []
  let hasState = false
  let hasSite = false
  let byteCount = 0
  let issuerLines = 0
  let issuerBytes = 0
  /** The bytes since the last complete line but one: the last line is not part of the digest. */
  let tail: Uint8Array[] = []
  let tailBytes = 0

  const take = (text: string) => {
    if (++lines > limits.lines) throw tooLarge()
    if (text.length > LINE_BYTES_MAX) throw unreadable()
    const line = parseSnapshotLine(JSON.parse(text))
    if (
      line === undefined ||
      line.type === 'end' ||
      line.type === 'page' ||
      (line.type === 'head') !== (load === undefined)
    )
      throw unreadable()
    if (line.type === 'head') {
      head = line
      load = begin(line)
    } else if (line.type === 'epoch') {
      if (hasState || epochs.length >= EPOCH_STATEMENTS_MAX) throw unreadable()
      const { type: _, ...statement } = line
      epochs.push(statement)
    } else {
      if (line.type === 'issuer') {
        issuerBytes += text.length
        if (++issuerLines > limits.issuerLines || issuerBytes > limits.issuerBytes) throw tooLarge()
      }
      if (line.type === 'site') {
        if (hasSite) throw unreadable()
        hasSite = true
      }
      hasState = true
      load?.add(line)
    }
  }

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
    if (bytes === undefined || cut === 0) continue
    const whole = bytes.subarray(0, cut)
    sha256.update(whole)
    for (const line of decoder.decode(whole.subarray(0, -1)).split('\n')) take(line)
  }

  const end = parseSnapshotLine(JSON.parse(decoder.decode(joinBytes(tail, tailBytes))))
  if (end?.type !== 'end' || head === undefined || load === undefined) throw unreadable()
  return { head, epochs, end, received: { lines, sha256: await sha256.hex() }, load }
}

function unreadable(): SyntaxError {
  return new SyntaxError('The snapshot has a line that cannot be read, or no end.')
}

function tooLarge(): LogCorrupted {
  return new LogCorrupted(
    'snapshot_too_large',
    'The snapshot is larger than a guard reads. Check what is between the guard and the service.',
  )
}
