import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Entry, LogHead, SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { entryText, positionText } from './event-text.ts'
import type { FeedStream } from './feed-stream.ts'

/** Where a feed reads its entries and gets its heartbeats. */
export interface FeedSource {
  entriesAfter(seq: number, limit: number): Promise<readonly Entry[]>
  /**
   * The text of a signed heartbeat that this is the head of the log. Undefined when this node
   * cannot confirm it: it has lost its store, or has read further already. Never rejects: entries
   * that are waiting for it would be lost. `isNew`: do not reuse one that was signed a moment ago.
   */
  confirmHead(head: LogHead, isNew: boolean): Promise<string | undefined>
}

/** A connection that is sent a feed. */
export type FeedReader = Pick<FeedStream, 'isOver' | 'unreadBytes' | 'write' | 'drained'>

/** What was sent to other readers while this one was reading earlier entries. */
interface Backlog {
  chunks: Uint8Array[]
  bytes: number
}

const PAGE = 500
/** A burst is sent in pieces of about this size, with pauses, so that readers can keep up. */
const PIECE_CHARS = 64 * 1024
const PAUSE_MS = 5
const PAUSES_MAX = 10
/**
 * Up to so many readers get entries before the heartbeat is signed, in a write of their own: 0.3 ms
 * earlier after a pause. More readers get both in one write, which takes less time for all of them.
 */
const EARLY_READERS_MAX = 16

/**
 * The feed of one site on this node. Each entry is serialized once and broadcast to all readers,
 * followed by a signed heartbeat. No reader is ever sent a heartbeat for less than what it has been
 * sent already.
 */
export class SiteFeed {
  readonly siteId: SiteId
  /** The head up to which every live reader has been sent the log. */
  head: LogHead
  /** When the last heartbeat was sent to all, on the monotonic clock. */
  heartbeatAtMs = performance.now()
  readonly #source: FeedSource
  /** All readers, and those of them that have been sent everything. */
  readonly #members = new Set<FeedReader>()
  readonly #live = new Set<FeedReader>()
  readonly #backlogs = new Map<FeedReader, Backlog>()
  #pending: Entry[] = []
  #appliedSeq: number
  /** Whether the last entries were sent without a heartbeat. */
  needsHeartbeat = false
  #isBroadcasting = false
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

  /** Sends every reader what has been applied. `isDue`: send a heartbeat in any case. */
  async broadcast(isDue = false): Promise<void> {
    if (isDue) this.needsHeartbeat = true
    if (this.#isBroadcasting) return
    this.#isBroadcasting = true
    try {
      while (!this.#isOver && (this.#pending.length > 0 || this.needsHeartbeat)) {
        const { text, head } = this.#nextPiece()
        const isLast = this.#pending.length === 0
        const isEarly = isLast && text !== '' && this.#live.size <= EARLY_READERS_MAX
        if (isEarly) this.#send(text, head)
        const heartbeat = isLast ? await this.#source.confirmHead(head, true) : undefined
        if (this.#isOver) return
        this.needsHeartbeat = heartbeat === undefined
        if (heartbeat !== undefined) this.heartbeatAtMs = performance.now()
        else if (text === '') return
        this.#send((isEarly ? '' : text) + (heartbeat ?? ''), head)
        if (this.#pending.length > 0) await this.#throttle()
      }
    } finally {
      this.#isBroadcasting = false
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

  #send(text: string, head: LogHead): void {
    this.head = head
    if (text === '') return
    const chunk = Buffer.from(text)
    for (const stream of this.#live) stream.write(chunk)
    for (const backlog of this.#backlogs.values()) {
      backlog.bytes += chunk.length
      if (backlog.bytes <= limits.feed_buffer_bytes_max) backlog.chunks.push(chunk)
      else backlog.chunks = []
    }
  }

  /**
   * After a piece of a burst: waits until every reader has read it, but not for readers that stall.
   */
  async #throttle(): Promise<void> {
    for (let i = 0; i < PAUSES_MAX && this.#isBehind(); i++) await sleep(PAUSE_MS)
  }

  #isBehind(): boolean {
    for (const stream of this.#live) if (stream.unreadBytes > PIECE_CHARS) return true
    return false
  }

  /**
   * Adds a stream that has been sent everything up to `from` (undefined: that begins at the current
   * head). It is sent what it has missed, from the store and at its own pace, then a heartbeat,
   * then what every reader is sent; without a gap and without sending anything twice. `page` has
   * the first entries, if they were read already. Rejects when the store is unavailable.
   */
  async join(stream: FeedReader, from: number | undefined, page?: readonly Entry[]): Promise<void> {
    this.#members.add(stream)
    let sentSeq = from ?? this.head.seq
    for (let isLive = false; !isLive && !stream.isOver && !this.#isOver; page = undefined) {
      // The reader comes from another node, which was ahead of this one.
      if (sentSeq > this.head.seq) {
        await sleep(PAUSE_MS)
        continue
      }
      // From here on, what every reader is sent is kept for this one as well, so that there is no
      // gap between it and what is read now.
      const { head } = this
      const backlog: Backlog = { chunks: [], bytes: 0 }
      this.#backlogs.set(stream, backlog)
      sentSeq = await this.#catchUp(stream, sentSeq, head.seq, page)
      const heartbeat = await this.#source.confirmHead(head, false)
      this.#backlogs.delete(stream)
      isLive = this.#goLive(stream, { head, backlog, heartbeat, hasNoCursor: from === undefined })
      if (from === undefined) sentSeq = this.head.seq
    }
  }

  /** Synchronous. False when the backlog has overflowed, and the stream has to catch up again. */
  #goLive(
    stream: FeedReader,
    joining: {
      readonly head: LogHead
      readonly backlog: Backlog
      readonly heartbeat: string | undefined
      readonly hasNoCursor: boolean
    },
  ): boolean {
    const { head, backlog, heartbeat, hasNoCursor } = joining
    if (stream.isOver || this.#isOver) return true
    // A reader without a cursor learns its position from the heartbeat that it begins with.
    const hasNoPosition = hasNoCursor && heartbeat === undefined && this.head !== head
    if (backlog.bytes > limits.feed_buffer_bytes_max || hasNoPosition) return false
    if (heartbeat !== undefined)
      stream.write(Buffer.from(hasNoCursor ? positionText(head) + heartbeat : heartbeat))
    for (const chunk of backlog.chunks) stream.write(chunk)
    this.#live.add(stream)
    return true
  }

  /** Resolves with the seq up to which the stream has been sent entries. */
  async #catchUp(
    stream: FeedReader,
    from: number,
    until: number,
    first: readonly Entry[] | undefined,
  ): Promise<number> {
    let sentSeq = from
    for (let page = first; sentSeq < until && !stream.isOver && !this.#isOver; page = undefined) {
      const entries = (page ?? (await this.#source.entriesAfter(sentSeq, PAGE))).filter(
        ({ seq }) => seq <= until,
      )
      if (entries[0]?.seq !== sentSeq + 1)
        throw new Error(`the log of ${this.siteId} has no entry ${sentSeq + 1}`)
      stream.write(Buffer.from(entries.map(entryText).join('')))
      sentSeq = entries.at(-1)?.seq ?? sentSeq
      await stream.drained()
      await nextTurn()
    }
    return sentSeq
  }

  /** Removes a stream that is over. */
  leave(stream: FeedReader): void {
    this.#members.delete(stream)
    this.#live.delete(stream)
    this.#backlogs.delete(stream)
  }

  /** Stops sending. */
  end(): void {
    this.#isOver = true
  }
}
