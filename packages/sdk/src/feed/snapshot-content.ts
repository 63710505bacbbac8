import {
  createSha256,
  EPOCH_STATEMENTS_MAX,
  type EpochStatement,
  isRevocationLine,
  type PageLine,
  parseSnapshotLine,
  readPageLines,
  type Sha256,
  type SnapshotHead,
  type SnapshotLine,
} from '@countersign/core'
import { LogCorrupted } from './log-corrupted.ts'

const NEWLINE = 10
const LINE_BYTES_MAX = 1_048_576
/** The beginning of every announcement. Another spelling of the same JSON is rejected. */
const ANNOUNCEMENT = [...'{"type":"page",'].map((character) => character.charCodeAt(0))

/**
 * The limits of a snapshot. Only its last line is signed, so a relay may have written everything
 * before it. A guard supports 10 million revocations. An issuer takes more time and memory than a
 * revocation. Each line is a record; a pack has as many records as ids.
 */
export const SNAPSHOT_LIMITS = {
  records: 20_000_000,
  bytes: 4_294_967_296,
  issuerLines: 100_000,
  issuerBytes: 67_108_864,
}

/** A page whose lines are being read. */
interface OpenPage {
  readonly announced: PageLine
  readonly sha256: Sha256
  linesLeft: number
}

/**
 * Everything before the last line of a snapshot: the head, statements about epochs, the state of
 * the site, the pages in the order of the log without a gap, and the revocations after the last
 * page. The bytes outside pages have one digest, the bytes of each page another one.
 */
export class SnapshotContent<Load extends { add(line: SnapshotLine): void }> {
  readonly #begin: (head: SnapshotHead) => Load
  readonly #limits: typeof SNAPSHOT_LIMITS
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  readonly #sha256 = createSha256()
  readonly #epochs: EpochStatement[] = []
  #head: SnapshotHead | undefined
  #load: Load | undefined
  #page: OpenPage | undefined
  /** The last entry that the pages so far include. */
  #pagesToSeq = 0
  #lines = 0
  #records = 0
  #issuerLines = 0
  #issuerBytes = 0
  #hasState = false
  #hasSite = false
  /** Whether a revocation has come outside pages. No page may follow it. */
  #hasTail = false

  constructor(begin: (head: SnapshotHead) => Load, limits: typeof SNAPSHOT_LIMITS) {
    this.#begin = begin
    this.#limits = limits
  }

  /** Reads complete lines. Call it again only after the last call has resolved. */
  async read(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const page = this.#page
      const end = page === undefined ? findOutsideEnd(bytes, at) : findPageEnd(bytes, at, page)
      const range = bytes.subarray(at, end)
      if (page === undefined) this.#readOutside(range)
      else this.#readInPage(range, page)
      if (this.#page?.linesLeft === 0) await this.#endPage(this.#page)
      at = end
    }
  }

  async finish() {
    if (this.#head === undefined || this.#load === undefined || this.#page !== undefined) throw unreadable()
    return {
      head: this.#head,
      epochs: this.#epochs,
      load: this.#load,
      received: { lines: this.#lines, sha256: await this.#sha256.hex() },
    }
  }

  #readOutside(bytes: Uint8Array): void {
    this.#sha256.update(bytes)
    for (const text of this.#decoder.decode(bytes.subarray(0, -1)).split('\n')) {
      this.#lines++
      this.#takeOutside(text)
    }
  }

  #takeOutside(text: string): void {
    if (text.length > LINE_BYTES_MAX || this.#page !== undefined) throw unreadable()
    const line = parseSnapshotLine(JSON.parse(text))
    if (line === undefined || line.type === 'end' || (line.type === 'head') !== (this.#load === undefined))
      throw unreadable()
    if (line.type === 'head') {
      this.#count(1)
      this.#head = line
      this.#load = this.#begin(line)
    } else if (line.type === 'epoch') {
      if (this.#hasState || this.#epochs.length >= EPOCH_STATEMENTS_MAX) throw unreadable()
      const { type: _, ...statement } = line
      this.#epochs.push(statement)
    } else if (line.type === 'page') this.#beginPage(line)
    else this.#addOutside(line, text)
  }

  #addOutside(line: SnapshotLine, text: string): void {
    if (line.type === 'issuer') {
      this.#issuerBytes += text.length
      if (++this.#issuerLines > this.#limits.issuerLines || this.#issuerBytes > this.#limits.issuerBytes)
        throw tooLarge()
    }
    if (line.type === 'site') {
      if (this.#hasSite) throw unreadable()
      this.#hasSite = true
    }
    this.#hasState = true
    this.#hasTail ||= isRevocationLine(line)
    this.#add(line)
  }

  #beginPage(announced: PageLine): void {
    const seqMax = this.#head?.seq ?? 0
    if (this.#hasTail || announced.from_seq !== this.#pagesToSeq + 1 || announced.to_seq > seqMax)
      throw unreadable()
    this.#count(1)
    this.#hasState = true
    this.#page = { announced, sha256: createSha256(), linesLeft: announced.lines }
  }

  #readInPage(bytes: Uint8Array, page: OpenPage): void {
    page.sha256.update(bytes)
    page.linesLeft -= readPageLines(this.#decoder.decode(bytes), (line) => this.#add(line))
  }

  async #endPage({ announced, sha256 }: OpenPage): Promise<void> {
    if ((await sha256.hex()) !== announced.sha256) throw new LogCorrupted('snapshot_unsigned')
    this.#pagesToSeq = announced.to_seq
    this.#page = undefined
  }

  #add(line: SnapshotLine): void {
    this.#count('ids' in line ? line.ids.length : 1)
    this.#load?.add(line)
  }

  #count(records: number): void {
    this.#records += records
    if (this.#records > this.#limits.records) throw tooLarge()
  }
}

/** The end of the next announcement of a page, or of all lines. */
function findOutsideEnd(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, at) + 1
    if (isAnnouncement(bytes, at)) return end
    at = end
  }
  return bytes.length
}

function isAnnouncement(bytes: Uint8Array, at: number): boolean {
  // From the end: all lines begin in the same way, and there may be millions.
  for (let i = ANNOUNCEMENT.length - 1; i >= 0; i--) if (bytes[at + i] !== ANNOUNCEMENT[i]) return false
  return true
}

/** The end of the page, or of all lines. */
function findPageEnd(bytes: Uint8Array, start: number, { linesLeft }: OpenPage): number {
  let end = start
  for (let lines = 0; lines < linesLeft && end < bytes.length; lines++) {
    const next = bytes.indexOf(NEWLINE, end) + 1
    if (next - end > LINE_BYTES_MAX) throw unreadable()
    end = next
  }
  return end
}

export function unreadable(): SyntaxError {
  return new SyntaxError('The snapshot has a line that cannot be read, or no end.')
}

export function tooLarge(): LogCorrupted {
  return new LogCorrupted(
    'snapshot_too_large',
    'The snapshot is larger than a guard reads. Check what is between the guard and the service.',
  )
}
