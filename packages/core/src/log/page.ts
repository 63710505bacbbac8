import type { Ppid } from '../credential/ids.ts'
import { formatTime } from '../encoding/rfc3339.ts'
import { PACK_IDS_MAX, type PackLine } from './packs.ts'
import { parseEntryTime } from './parse-entry-time.ts'
import { parseSnapshotLine, type RevocationLine } from './snapshot.ts'

/** The text of a page and what the service stores about it. */
export interface PackedPage {
  /** Each line ends with a newline. Empty if the entries of the page revoke nothing. */
  readonly text: string
  readonly lines: number
  readonly revocations: number
  /** The latest time of a revocation, a sign-out or a reinstatement; 0 if there is none. */
  readonly newestMs: number
}

/**
 * Creates the text of a page from revocations in the order of the log. Only the lines about one
 * user keep their order, because the order of other revocations does not matter.
 */
export class PagePacker {
  readonly #texts: string[] = []
  readonly #open = { users: new OpenPack(), credentials: new OpenPack(), tokens: new OpenPack() }
  #revocations = 0
  #newestMs = 0

  /** The number of revocations so far. A page has at most `PAGE_REVOCATIONS_MAX`. */
  get revocations(): number {
    return this.#revocations
  }

  /** Also accepts packs, so that pages can be merged. */
  add(line: RevocationLine): void {
    switch (line.type) {
      case 'credential':
        this.#pack('credentials', line.credential_id, toMs(line.revoked_at))
        break
      case 'token':
        this.#pack('tokens', line.token_sha256, toMs(line.revoked_at))
        break
      case 'user':
        if (line.reinstated_at === undefined) this.#pack('users', line.ppid, toMs(line.revoked_at))
        else this.#addReinstated(line.ppid, line, line.revoked_again_at ?? line.reinstated_at)
        break
      case 'signed_out':
        this.#addSingle(line, line.before)
        break
      case 'holder':
        this.#addSingle(line, line.revoked_at)
        break
      case 'users':
      case 'credentials':
      case 'tokens': {
        const sinceMs = toMs(line.since)
        for (let i = 0; i < line.ids.length; i++)
          this.#pack(line.type, line.ids[i] as string, sinceMs + (line.ms[i] as number))
        break
      }
      default:
        throw new TypeError(`a page cannot contain ${JSON.stringify(line satisfies never)}`)
    }
  }

  /** Call it once, after the last line. */
  finish(): PackedPage {
    for (const type of ['users', 'credentials', 'tokens'] as const) this.#flush(type)
    const texts = this.#texts
    return {
      text: texts.length === 0 ? '' : `${texts.join('\n')}\n`,
      lines: texts.length,
      revocations: this.#revocations,
      newestMs: this.#newestMs,
    }
  }

  /** The earlier revocations of this user must come first. Those of other users need not. */
  #addReinstated(ppid: Ppid, line: RevocationLine, time: string): void {
    if (this.#open.users.ids.includes(ppid)) this.#flush('users')
    this.#addSingle(line, time)
  }

  #addSingle(line: RevocationLine, time: string): void {
    this.#texts.push(JSON.stringify(line))
    this.#count(toMs(time))
  }

  #pack(type: PackLine['type'], id: string, atMs: number): void {
    const pack = this.#open[type]
    pack.ids.push(id)
    pack.times.push(atMs)
    this.#count(atMs)
    if (pack.ids.length === PACK_IDS_MAX) this.#flush(type)
  }

  #count(atMs: number): void {
    this.#revocations++
    this.#newestMs = Math.max(this.#newestMs, atMs)
  }

  #flush(type: PackLine['type']): void {
    const { ids, times } = this.#open[type]
    if (ids.length === 0) return
    const sinceMs = times.reduce((lowest, each) => Math.min(lowest, each))
    const ms = times.map((each) => each - sinceMs)
    this.#texts.push(JSON.stringify({ type, since: formatTime(sinceMs), ids, ms }))
    this.#open[type] = new OpenPack()
  }
}

class OpenPack {
  readonly ids: string[] = []
  readonly times: number[] = []
}

/**
 * Passes each line of a page to `add`. Returns their number. Throws a SyntaxError for a line that
 * cannot be in a page.
 */
export function readPageLines(text: string, add: (line: RevocationLine) => void): number {
  let lines = 0
  for (let start = 0; start < text.length; lines++) {
    const end = text.indexOf('\n', start)
    if (end < 0) throw new SyntaxError('The last line of the page has no end.')
    const line = parseSnapshotLine(JSON.parse(text.slice(start, end)))
    if (line === undefined || !isRevocationLine(line))
      throw new SyntaxError('The page has a line that cannot be in a page.')
    add(line)
    start = end + 1
  }
  return lines
}

/** Whether a page can contain this line. */
export function isRevocationLine(
  line: Exclude<ReturnType<typeof parseSnapshotLine>, undefined>,
): line is RevocationLine {
  switch (line.type) {
    case 'users':
    case 'credentials':
    case 'tokens':
    case 'user':
    case 'signed_out':
    case 'credential':
    case 'token':
    case 'holder':
      return true
    default:
      return false
  }
}

function toMs(time: string): number {
  const ms = parseEntryTime(time)
  if (ms === undefined) throw new TypeError('a snapshot line has an invalid time; parse the line first')
  return ms
}
