import type { Socket } from 'node:net'
import type { SiteId } from '@countersign/core'

/**
 * Why a stream ended. `gone`: the reader has disconnected. `slow`: it did not read. `silent`: it
 * did not acknowledge. `replaced`: the same instance has opened another. `key`: its API key or
 * session has ended.
 */
export type StreamEnd = 'gone' | 'slow' | 'silent' | 'replaced' | 'key' | 'stale' | 'log' | 'shutdown'

/** The reader of a stream. */
export interface Verifier {
  readonly siteId: SiteId
  readonly keyId: string
  readonly verifierId: string
  /** Whether it chose its name itself. */
  readonly isNamed: boolean
  /** Undefined for a reader without an instance, which holds no lease. */
  readonly promise: VerifierPromise | undefined
  /** It makes no access decisions, so receipts do not count it. */
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
  /** Of its software; undefined if it does not say. */
  readonly version?: string | undefined
}

/** The options of all streams of a node. */
export interface StreamOptions {
  /** With more than this unread, a stream is dropped. */
  readonly unreadBytesMax: number
  readonly onEnd: (stream: FeedStream, why: StreamEnd) => void
}

/** A reader that reads nothing for so long while it catches up is dropped. */
const STALLED_MS = 20_000
/** How long a connection is kept for its last bytes. */
const LINGER_MS = 2000

/**
 * One connection that follows a feed. Small, because there may be thousands: they share the bytes
 * that are written, and one that does not read is dropped when too much is unread.
 */
export class FeedStream {
  readonly verifier: Verifier
  readonly #socket: Socket
  readonly #options: StreamOptions
  #isOver = false
  /**
   * When the reader last gave a sign of life, on the monotonic clock, and how much was
   * sent since.
   */
  heardAtMs = performance.now()
  unheardBytes = 0

  constructor(socket: Socket, verifier: Verifier, options: StreamOptions) {
    this.verifier = verifier
    this.#socket = socket
    this.#options = options
    STREAMS.set(socket, this)
    socket.on('error', destroy)
    socket.on('close', onClose)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** How much of what was written has not been read yet. */
  get unreadBytes(): number {
    return this.#socket.writableLength
  }

  write(bytes: Uint8Array): void {
    if (this.#isOver) return
    if (this.#socket.writableLength > this.#options.unreadBytesMax) this.close('slow')
    else {
      this.#socket.write(bytes)
      this.unheardBytes += bytes.length
    }
  }

  /** The reader has acknowledged something, or has read everything that was written. */
  heard(): void {
    this.heardAtMs = performance.now()
    this.unheardBytes = 0
  }

  /** Resolves when what was written has been read, or the stream is over. */
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
   * Ends the stream, with last bytes if the reader is likely to read them. Otherwise the connection
   * is reset: the kernel would hold unread bytes, up to megabytes for each connection.
   */
  close(why: StreamEnd, lastText?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    const socket = this.#socket
    if (lastText === undefined || socket.writableNeedDrain) {
      socket.resetAndDestroy()
    } else {
      socket.end(lastText)
      setTimeout(() => socket.resetAndDestroy(), LINGER_MS).unref()
    }
    this.#options.onEnd(this, why)
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
