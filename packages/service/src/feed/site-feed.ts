import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Entry, LogHead, SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { entryText, placeText } from './event-text.ts'

/** Where a feed gets what it tells. */
export interface FeedSource {
  entriesAfter(siteId: SiteId, seq: number, limit: number): Promise<readonly Entry[]>
  /**
   * The text of a signed heartbeat that this is the end of the log. Undefined when this node cannot
   * say so: it has lost its store, or has read further already. `isNew`: one that was signed a
   * moment ago is not enough.
   */
  prove(siteId: SiteId, head: LogHead, isNew: boolean): Promise<string | undefined>
}

/** A connection that is sent a feed. */
export interface FeedReader {
  readonly isOver: boolean
  /** How much of what was written it has not taken yet. */
  readonly unreadBytes: number
  write(bytes: Uint8Array): void
  /** Resolves when it has taken what was written, or is over. */
  drained(): Promise<unknown>
}

/** What was sent to others while a reader was still reading what came before it. */
interface Backlog {
  chunks: Uint8Array[]
  bytes: number
}

const PAGE = 500
/**
 * A burst is told in pieces of about this size, so that those who read have a chance not to fall
 * behind.
 */
const PIECE_CHARS = 64 * 1024
const BREATH_MS = 5
const BREATHS_MAX = 10

/**
 * The feed of one site on this node. What is applied is written once and sent to every reader:
 * entries in their order, then a heartbeat that proves their end. No reader is ever sent a
 * heartbeat for less than what it has been sent already.
 */
export class SiteFeed {
  readonly siteId: SiteId
  /** Up to where every live reader has been sent the log. */
  head: LogHead
  /** When the last heartbeat was sent to all, on the monotonic clock. */
  provenAtMs = performance.now()
  readonly #source: FeedSource
  /** All readers, and those of them that have been sent everything. */
  readonly #members = new Set<FeedReader>()
  readonly #live = new Set<FeedReader>()
  protected readonly backlogs = new Map<FeedReader, Backlog>()
  #pending: Entry[] = []
  #appliedSeq: number
  /** Whether the last that was told came without a proof. */
  owesProof = false
  #isTelling = false
  #isOver = false

  constructor(siteId: SiteId, head: LogHead, source: FeedSource) {
    this.siteId = siteId
    this.head = head
    this.#appliedSeq = head.seq
    this.#source = source
  }

  get isEmpty(): boolean {
    return this.#members.size === 0
  }

  /** The views have applied this entry. */
  applied(entry: Entry): void {
    if (entry.seq <= this.#appliedSeq) return
    this.#appliedSeq = entry.seq
    this.#pending.push(entry)
  }

  /** Sends every reader what has been applied. `isDue`: a heartbeat is wanted in any case. */
  async tell(isDue = false): Promise<void> {
    if (isDue) this.owesProof = true
    if (this.#isTelling) return
    this.#isTelling = true
    try {
      while (!this.#isOver && (this.#pending.length > 0 || this.owesProof)) {
        const { text, head } = this.#nextPiece()
        const proof = this.#pending.length > 0 ? undefined : await this.#source.prove(this.siteId, head, true)
        if (this.#isOver) return
        this.owesProof = proof === undefined
        if (proof !== undefined) this.provenAtMs = performance.now()
        else if (text === '') return
        this.#send(Buffer.from(proof === undefined ? text : text + proof), head)
        if (this.#pending.length > 0) await this.#breathe()
      }
    } finally {
      this.#isTelling = false
    }
  }

  #nextPiece(): { readonly text: string; readonly head: LogHead } {
    let [text, count] = ['', 0]
    let { head } = this
    for (const entry of this.#pending) {
      if (text.length >= PIECE_CHARS) break
      text += entryText(entry)
      head = { epoch: entry.epoch, seq: entry.seq, hash: entry.hash }
      count++
    }
    this.#pending.splice(0, count)
    return { text, head }
  }

  #send(chunk: Uint8Array, head: LogHead): void {
    this.head = head
    for (const stream of this.#live) stream.write(chunk)
    for (const backlog of this.backlogs.values()) {
      backlog.bytes += chunk.length
      if (backlog.bytes <= limits.feed_buffer_bytes_max) backlog.chunks.push(chunk)
      else backlog.chunks = []
    }
  }

  /**
   * After a piece of a burst: until every reader has taken it, or long enough for those that read.
   */
  async #breathe(): Promise<void> {
    for (let i = 0; i < BREATHS_MAX && this.#isBehind(); i++) await sleep(BREATH_MS)
  }

  #isBehind(): boolean {
    for (const stream of this.#live) if (stream.unreadBytes > PIECE_CHARS) return true
    return false
  }

  /**
   * Takes a stream in that has been told everything up to `from` (undefined: that begins wherever
   * the log ends now): first what it has missed, from the store and at its own pace, then a
   * heartbeat, then what every reader is sent; without a hole and without sending anything twice.
   * `page` is what comes first, if it was read already. Rejects when the store cannot be asked.
   */
  async join(stream: FeedReader, from: number | undefined, page?: readonly Entry[]): Promise<void> {
    this.#members.add(stream)
    let told = from ?? this.head.seq
    for (let isIn = false; !isIn && !stream.isOver && !this.#isOver; page = undefined) {
      // It was at another node before, which was ahead of this one.
      if (told > this.head.seq) {
        await sleep(BREATH_MS)
        continue
      }
      // From here on what every reader is sent is kept for this one as well: between what is read
      // now and that there can be no gap.
      const { head } = this
      const backlog: Backlog = { chunks: [], bytes: 0 }
      this.backlogs.set(stream, backlog)
      told = await this.#catchUp(stream, told, head.seq, page)
      const proof = await this.#source.prove(this.siteId, head, false)
      this.backlogs.delete(stream)
      isIn = this.#takeIn(stream, { head, backlog, proof, isAnywhere: from === undefined })
      if (from === undefined) told = this.head.seq
    }
  }

  /** Nothing in here waits. False when more was told meanwhile than could be kept. */
  #takeIn(
    stream: FeedReader,
    joining: {
      readonly head: LogHead
      readonly backlog: Backlog
      readonly proof: string | undefined
      readonly isAnywhere: boolean
    },
  ): boolean {
    const { head, backlog, proof, isAnywhere } = joining
    if (stream.isOver || this.#isOver) return true
    // Who begins anywhere begins with a proof of where.
    const hasMissedIt = isAnywhere && proof === undefined && this.head !== head
    if (backlog.bytes > limits.feed_buffer_bytes_max || hasMissedIt) return false
    if (proof !== undefined) stream.write(Buffer.from(isAnywhere ? placeText(head) + proof : proof))
    for (const chunk of backlog.chunks) stream.write(chunk)
    this.#live.add(stream)
    return true
  }

  /** Resolves with how far the stream has been told. */
  async #catchUp(
    stream: FeedReader,
    from: number,
    until: number,
    first: readonly Entry[] | undefined,
  ): Promise<number> {
    let told = from
    for (let page = first; told < until && !stream.isOver && !this.#isOver; page = undefined) {
      const entries = (page ?? (await this.#source.entriesAfter(this.siteId, told, PAGE))).filter(
        ({ seq }) => seq <= until,
      )
      if (entries[0]?.seq !== told + 1) throw new Error(`the log of ${this.siteId} has no entry ${told + 1}`)
      stream.write(Buffer.from(entries.map(entryText).join('')))
      told = entries.at(-1)?.seq ?? told
      await stream.drained()
      await nextTurn()
    }
    return told
  }

  /** Forgets a stream that is over. */
  leave(stream: FeedReader): void {
    this.#members.delete(stream)
    this.#live.delete(stream)
    this.backlogs.delete(stream)
  }

  /** Sends nothing any more. */
  end(): void {
    this.#isOver = true
  }
}
