import type { SiteId } from '@countersign/core'
import type { Logger } from 'pino'
import type { DepartedReader } from '../store/operations/departed-readers.ts'
import type { FeedStreamRow } from '../store/operations/feed-streams.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'

export interface DepartedReadersParts {
  readonly store: Pick<Store, 'recordDeparted' | 'departedReaders'>
  readonly clock: Pick<Clock, 'clocks'>
  readonly log: Pick<Logger, 'warn'>
}

const WRITE_MS = 50
const MINUTE_MS = 60_000
/** A key that connects and disconnects in a loop must not fill the store. */
const PER_KEY_AND_MINUTE_MAX = 200
const PENDING_MAX = 5000
const WRITTEN_MAX = 200

/**
 * Readers without a lease that have disconnected. They may have a signed head from before they
 * left, so the first receipts of that time must name them.
 */
export class DepartedReaders {
  readonly #parts: DepartedReadersParts
  /** Not yet in the store. */
  #pending: readonly DepartedReader[] = []
  /** How many of each key were recorded in this minute. */
  #counts = new Map<string, number>()
  #countedMinute = 0
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isFailing = false
  #isClosed = false

  constructor(parts: DepartedReadersParts) {
    this.#parts = parts
  }

  /** This stream has just ended. */
  add({ streamId, siteId, keyId, verifierId, connectedAtMs, epoch, seq, acks }: FeedStreamRow): void {
    const endedAtMs = this.#parts.clock.clocks().wallMs
    if (this.#pending.length >= PENDING_MAX || !this.#count(keyId, endedAtMs)) return
    const reader = { streamId, siteId, keyId, verifierId, connectedAtMs, epoch, seq, acks, endedAtMs }
    this.#pending = [...this.#pending, reader]
    this.#writeSoon()
  }

  #count(keyId: string, nowMs: number): boolean {
    const minute = Math.floor(nowMs / MINUTE_MS)
    if (minute !== this.#countedMinute) this.#counts = new Map()
    this.#countedMinute = minute
    const count = (this.#counts.get(keyId) ?? 0) + 1
    this.#counts.set(keyId, count)
    return count <= PER_KEY_AND_MINUTE_MAX
  }

  /** Rejects when the store is unavailable. */
  async list(siteId: SiteId, sinceMs: number): Promise<readonly DepartedReader[]> {
    // What is written meanwhile is in one of the two, or in both.
    const own = this.#pending.filter((reader) => reader.siteId === siteId && reader.endedAtMs >= sinceMs)
    const found = await this.#parts.store.departedReaders(siteId, Math.floor(sinceMs))
    const known = new Set(found.map(({ streamId }) => streamId))
    return [...found, ...own.filter(({ streamId }) => !known.has(streamId))]
  }

  #writeSoon(): void {
    if (this.#timer !== undefined || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#running ??= this.#write().finally(() => {
        this.#running = undefined
        if (this.#pending.length > 0) this.#writeSoon()
      })
    }, WRITE_MS)
    this.#timer.unref()
  }

  async #write(): Promise<void> {
    const { store, log } = this.#parts
    const writing = this.#pending.slice(0, WRITTEN_MAX)
    try {
      if (writing.length > 0) await store.recordDeparted(writing)
      this.#pending = this.#pending.filter((reader) => !writing.includes(reader))
      this.#isFailing = false
    } catch (err) {
      if (!this.#isFailing) log.warn({ err }, 'readers that left could not be recorded; trying again')
      this.#isFailing = true
    }
  }

  /** Writes what is left. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
    while (this.#pending.length > 0 && !this.#isFailing) await this.#write()
  }
}
