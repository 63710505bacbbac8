import {
  createSha256,
  EPOCH_STATEMENTS_MAX,
  type EpochStatement,
  parseSnapshotLine,
  type SnapshotEnd,
  type SnapshotHead,
  type SnapshotLine,
} from '@countersign/core'

/** A snapshot that came to its end. Nothing of it counts before `checkSnapshot` has held its end against what was received. */
export interface ReadSnapshot<Load> {
  readonly head: SnapshotHead
  /** How the epoch of the log and those before it began, oldest first. Their signatures have not been checked. */
  readonly epochs: readonly EpochStatement[]
  readonly end: SnapshotEnd
  readonly received: { readonly lines: number; readonly sha256: string }
  readonly load: Load
}

const NEWLINE = 10
const LINE_BYTES_MAX = 1_048_576

/**
 * Reads a snapshot as it comes, line by line, and hands each line on at once, so that no more than a line is kept. Throws a SyntaxError for
 * anything that is not a whole snapshot: then all that was handed on must be dropped.
 */
export async function readSnapshot<Load extends { add(line: SnapshotLine): void }>(
  chunks: AsyncIterable<Uint8Array>,
  begin: (head: SnapshotHead) => Load,
): Promise<ReadSnapshot<Load>> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const sha256 = createSha256()
  let lines = 0
  let head: SnapshotHead | undefined
  let load: Load | undefined
  const epochs: EpochStatement[] = []
  let hasState = false
  /** From the beginning of the last line that is complete: it may be the end, which the digest does not cover. */
  let tail: Uint8Array = new Uint8Array()

  const take = (text: string) => {
    const line = parseSnapshotLine(JSON.parse(text))
    lines++
    if (line === undefined || line.type === 'end' || (line.type === 'head') !== (load === undefined)) throw unreadable()
    if (line.type === 'head') {
      head = line
      load = begin(line)
    } else if (line.type === 'epoch') {
      if (hasState || epochs.length >= EPOCH_STATEMENTS_MAX) throw unreadable()
      const { type: _, ...statement } = line
      epochs.push(statement)
    } else {
      hasState = true
      load?.add(line)
    }
  }

  for await (const chunk of chunks) {
    const bytes = tail.length === 0 ? chunk : joined(tail, chunk)
    const end = bytes.lastIndexOf(NEWLINE)
    const cut = end < 1 ? 0 : bytes.lastIndexOf(NEWLINE, end - 1) + 1
    tail = bytes.subarray(cut)
    if (tail.length > LINE_BYTES_MAX) throw unreadable()
    if (cut === 0) continue
    const whole = bytes.subarray(0, cut)
    sha256.update(whole)
    for (const line of decoder.decode(whole.subarray(0, -1)).split('\n')) take(line)
  }

  const end = parseSnapshotLine(JSON.parse(decoder.decode(tail)))
  if (end?.type !== 'end' || head === undefined || load === undefined) throw unreadable()
  return { head, epochs, end, received: { lines, sha256: await sha256.hex() }, load }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}

function unreadable(): SyntaxError {
  return new SyntaxError('the snapshot has a line that cannot be read, or no end')
}
