import type { Socket } from 'node:net'
import type { SiteId } from '@countersign/core'
import type { FeedReader } from './site-feed.ts'

/**
 * Why a stream ended. `gone`: the reader has left. `slow`: it did not read. `silent`: it did not
 * acknowledge. `replaced`: the same instance has opened another.
 */
export type StreamEnd = 'gone' | 'slow' | 'silent' | 'replaced' | 'key' | 'stale' | 'log' | 'shutdown'

/** Who reads a stream. */
export interface Verifier {
  readonly siteId: SiteId
  readonly keyId: string
  readonly verifierId: string
  /** Whether it chose its name itself. */
  readonly isNamed: boolean
  /** Undefined for a reader without an instance, which holds no lease. */
  readonly promise: VerifierPromise | undefined
  /** It decides nothing by what it reads, so receipts do not count it. */
  readonly isObserver: boolean
}

/**
 * What a verifier instance declares: it rejects everything when its last signed head is older than
 * its bound, unless it fails open.
 */
export interface VerifierPromise {
  readonly instanceId: string
  readonly boundMs: number
  readonly failsOpen: boolean
}

/** What all streams of a node have in common. */
export interface StreamWays {
  /** With more than this unread, a stream is dropped. */
  readonly unreadBytesMax: number
  readonly onEnd: (stream: FeedStream, why: StreamEnd) => void
}

/**
 * A reader that takes nothing for so long while it is being told what it has missed is not reading.
 */
const STALLED_MS = 20_000
/** How long a connection is kept for its last words. */
const LINGER_MS = 2000

/**
 * One connection that follows a feed. Small: there may be thousands. Whatever is written is shared
 * with all the others, and one that does not read is dropped before it holds more than its share.
 */
export class FeedStream implements FeedReader {
  readonly verifier: Verifier
  readonly #socket: Socket
  readonly #ways: StreamWays
  #isOver = false
  /**
   * When the reader last gave a sign of life, on the monotonic clock, and how much was
   * sent since.
   */
  heardAtMs = performance.now()
  unheardBytes = 0

  constructor(socket: Socket, verifier: Verifier, ways: StreamWays) {
    this.verifier = verifier
    this.#socket = socket
    this.#ways = ways
    STREAMS.set(socket, this)
    socket.on('error', destroy)
    socket.on('close', onClose)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get unreadBytes(): number {
    return this.#socket.writableLength
  }

  write(bytes: Uint8Array): void {
    if (this.#isOver) return
    if (this.#socket.writableLength > this.#ways.unreadBytesMax) this.close('slow')
    else {
      this.#socket.write(bytes)
      this.unheardBytes += bytes.length
    }
  }

  /** The reader has acknowledged something, or has read all that was kept for it. */
  heard(): void {
    this.heardAtMs = performance.now()
    this.unheardBytes = 0
  }

  async drained(): Promise<void> {
    const socket = this.#socket
    if (this.#isOver || !socket.writableNeedDrain) return
    await new Promise<void>((resolve) => {
      const over = () => {
        clearTimeout(timer)
        socket.off('drain', over)
        socket.off('close', over)
        this.heard()
        resolve()
      }
      const timer = setTimeout(() => {
        this.close('slow')
        over()
      }, STALLED_MS)
      socket.on('drain', over)
      socket.on('close', over)
    })
  }

  /**
   * Ends the stream, with last words if the reader can be expected to hear them. Otherwise the
   * connection is reset: a kernel would go on holding what a reader does not take, up to megabytes
   * for each.
   */
  close(why: StreamEnd, lastWords?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    const socket = this.#socket
    if (lastWords === undefined || socket.writableNeedDrain) {
      socket.resetAndDestroy()
    } else {
      socket.end(lastWords)
      setTimeout(() => socket.resetAndDestroy(), LINGER_MS).unref()
    }
    this.#ways.onEnd(this, why)
  }
}

/** By connection, so that thousands of connections share their listeners. */
const STREAMS = new WeakMap<Socket, FeedStream>()

function onClose(this: Socket): void {
  STREAMS.get(this)?.close('gone')
}

function destroy(this: Socket): void {
  this.destroy()
}
