import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import {
  type Entry,
  formatTime,
  type LogHead,
  type LogPosition,
  type SiteId,
  signHeartbeat,
} from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { requireFreshView } from '../access/require-fresh.ts'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { heartbeatText, PADDING, retryText } from './event-text.ts'
import {
  FeedStream,
  type StreamEnd,
  type StreamWays,
  type Verifier,
  type VerifierPromise,
} from './feed-stream.ts'
import type { HeadAges } from './head-ages.ts'
import { requirePosition } from './require-position.ts'
import { type FeedSource, SiteFeed } from './site-feed.ts'

/** The feeds of all sites on this node, and the connections that follow them. */
export interface Feeds {
  /**
   * Makes room for one more connection. Throws a Problem: `not_found`; `cursor_ahead` for a cursor
   * of another log or beyond its end, `cursor_expired` for one whose entries are gone;
   * `rate_limited` when the key has as many as it may; `revocation_view_stale` when this node must
   * not speak.
   */
  open(order: FeedOrder): Promise<FeedPlace>
  /** Ends all connections of a key that is no longer good. */
  dropKey(keyId: string): void
  /** How many connections there are. */
  readonly size: number
  /** Ends all connections, telling them to come back elsewhere, and accepts no more. */
  close(): Promise<void>
}

interface FeedOrder {
  readonly siteId: SiteId
  readonly keyId: string
  /** Undefined: from the end of the log. */
  readonly cursor: LogPosition | undefined
  readonly verifier: DeclaredVerifier
  /** Whether there is a proxy between. */
  readonly isProxied: boolean
}

/** What a reader says of itself. */
export interface DeclaredVerifier {
  readonly verifierId: string | undefined
  readonly promise: VerifierPromise | undefined
  readonly isObserver: boolean
}

/** Room for one connection: exactly one of the two is called. */
interface FeedPlace {
  readonly verifierId: string
  take(connection: Socket): void
  letGo(): void
}

/** Keeps account of the readers. */
export interface StreamWatcher {
  /**
   * Called before a reader is given its first signed head, and writes that durably. Returns the id
   * of a stream. Rejects when the reader must not be served.
   */
  admit(verifier: Verifier, what: 'stream' | 'snapshot'): Promise<string>
  /** The stream that was admitted will not be opened. */
  abandoned(verifier: Verifier, streamId: string): void
  opened(verifier: Verifier, streamId: string, from: number, stream: FeedStream): void
  closed(stream: FeedStream, why: StreamEnd): void
  /**
   * Whether signed heads of the site may be given out now. `hasUnleased`: to readers without a
   * lease, too.
   */
  mayProve(siteId: SiteId, hasUnleased: boolean): boolean
}

export interface FeedsParts {
  readonly store: Pick<Store, 'site' | 'logPosition' | 'siteEntriesAfter' | 'apiKeysById'>
  readonly views: LiveViews
  readonly clock: Clock
  readonly keys: Pick<ServiceKeys, 'feedKey'>
  readonly watcher: StreamWatcher
  readonly ages: HeadAges
  readonly log: Pick<Logger, 'warn' | 'error'>
}

export interface FeedsOptions {
  readonly heartbeatMs?: number
  /** A node that has not heard from its store for so long proves nothing… */
  readonly silentMs?: number
  /** …and after so long sends all readers elsewhere. */
  readonly staleMs?: number
  readonly tickMs?: number
  readonly keyCheckMs?: number
  /** A connection with more than this unread is dropped. */
  readonly unreadBytesMax?: number
}

const PAGE = 500
const TICK_MS = 100
const SILENT_MS = 2000
const STALE_MS = 10_000
/** With the time of asking, a deleted key is cut off on every node within two seconds. */
const KEY_CHECK_MS = 1000
const KEYS_ASKED_MAX = 500
/** How old a heartbeat may be that is given to a reader that has just connected. */
const PROOF_REUSED_MS = 1000

export function openFeeds(parts: FeedsParts, options: FeedsOptions = {}): Feeds {
  return new FeedHub(parts, options)
}

interface KeyStreams {
  /** Those that were accepted, with a connection or not yet, and how many of them are observers. */
  count: number
  observers: number
  readonly streams: Set<FeedStream>
}

interface Proof {
  readonly head: LogHead
  readonly asOfMs: number
  readonly text: string
}

class FeedHub implements Feeds, FeedSource {
  readonly #parts: FeedsParts
  readonly #options: Required<FeedsOptions>
  readonly #sites = new Map<SiteId, SiteFeed>()
  readonly #keys = new Map<string, KeyStreams>()
  /** How many streams without a lease each site has. */
  readonly #unleased = new Map<SiteId, number>()
  readonly #proofs = new WeakMap<SiteFeed, Proof>()
  readonly #unfollow: () => void
  readonly #ticker: NodeJS.Timeout
  #keysCheckedMs = performance.now()
  #checkingKeys: Promise<void> | undefined
  #isClosed = false
  /** What all streams have in common. */
  readonly #ways: StreamWays
  /** How often the log was lost: a place that was made before counts no more. */
  #losses = 0

  constructor(parts: FeedsParts, options: FeedsOptions) {
    this.#parts = parts
    this.#options = {
      heartbeatMs: limits.feed_heartbeat_seconds * 1000,
      silentMs: SILENT_MS,
      staleMs: STALE_MS,
      tickMs: TICK_MS,
      keyCheckMs: KEY_CHECK_MS,
      unreadBytesMax: limits.feed_buffer_bytes_max,
      ...options,
    }
    this.#ways = {
      unreadBytesMax: this.#options.unreadBytesMax,
      onEnd: (stream, why) => this.#onEnd(stream, why),
    }
    this.#unfollow = parts.views.follow({
      applied: (entries, isEnd) => {
        for (const { entry } of entries) this.#sites.get(entry.site_id)?.applied(entry)
        // A site whose last entry came without a proof is told one as soon as there is an end to
        // prove.
        const told = new Set(entries.map(({ entry }) => entry.site_id))
        for (const feed of this.#sites.values())
          if (told.has(feed.siteId) || (isEnd && feed.owesProof)) this.#tell(feed)
      },
      lost: () => {
        this.#losses++
        this.#endAll('log')
      },
    })
    this.#ticker = setInterval(() => this.#tick(), this.#options.tickMs)
    this.#ticker.unref()
  }

  get size(): number {
    let size = 0
    for (const { streams } of this.#keys.values()) size += streams.size
    return size
  }

  async open(order: FeedOrder): Promise<FeedPlace> {
    const { siteId, keyId, cursor } = order
    if (this.#isClosed)
      throw new Problem('store_unavailable', 'This node is shutting down. Connect again, to another one.')
    const release = this.#reserve(keyId, order.verifier.isObserver)
    try {
      const losses = this.#losses
      await requireFreshView(this.#parts, siteId)
      const page = cursor === undefined ? undefined : await this.#pageAfter(siteId, cursor)
      // Read before the stream begins: a stream that had to wait for it could miss the entries of
      // that time.
      await this.#parts.ages.seconds(siteId)
      const verifier = toVerifier(order)
      const streamId = await this.#parts.watcher.admit(verifier, 'stream')
      const letGo = () => {
        release()
        this.#parts.watcher.abandoned(verifier, streamId)
      }
      return {
        verifierId: verifier.verifierId,
        letGo,
        take: (connection) => {
          const isGood = !this.#isClosed && losses === this.#losses && !connection.destroyed
          if (isGood && this.#begin(connection, verifier, streamId, order, page)) return
          connection.destroy()
          letGo()
        },
      }
    } catch (fault) {
      release()
      throw fault
    }
  }

  #reserve(keyId: string, isObserver: boolean): () => void {
    const key = this.#keys.get(keyId) ?? { count: 0, observers: 0, streams: new Set() }
    const isFull = key.count >= limits.feed_connections_per_key_max
    if (isFull || (isObserver && key.observers >= limits.feed_observers_per_key_max)) {
      const quota = isFull ? limits.feed_connections_per_key_max : limits.feed_observers_per_key_max
      throw new Problem(
        'rate_limited',
        `This key has ${quota} ${isFull ? 'connections to' : 'observers of'} feeds on this node already. Close some, or use another key.`,
        {
          retryAfterSeconds: limits.feed_heartbeat_seconds,
          policy: { name: 'feed_connections', quota, windowSeconds: 1 },
        },
      )
    }
    key.count++
    if (isObserver) key.observers++
    this.#keys.set(keyId, key)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      key.count--
      if (isObserver) key.observers--
      if (key.count === 0 && this.#keys.get(keyId) === key) this.#keys.delete(keyId)
    }
  }

  /** What follows a cursor, or the refusal of one that nothing can follow. */
  async #pageAfter(siteId: SiteId, cursor: LogPosition): Promise<readonly Entry[] | undefined> {
    const { store, views } = this.#parts
    await requirePosition(this.#parts, siteId, cursor)
    const { seq } = cursor
    if (views.view(siteId)?.head.seq === seq) return undefined
    const page = await store.siteEntriesAfter(siteId, seq, PAGE)
    if (page[0]?.seq !== seq + 1) throw new Problem('cursor_expired')
    return page
  }

  #begin(
    connection: Socket,
    verifier: Verifier,
    streamId: string,
    { cursor, isProxied }: FeedOrder,
    page: readonly Entry[] | undefined,
  ): boolean {
    const { siteId, keyId } = verifier
    const feed = this.#feedOf(siteId)
    const key = this.#keys.get(keyId)
    if (feed === undefined || key === undefined) return false
    const stream = new FeedStream(connection, verifier, this.#ways)
    key.streams.add(stream)
    if (isUnleased(verifier)) this.#unleased.set(siteId, (this.#unleased.get(siteId) ?? 0) + 1)
    this.#parts.watcher.opened(verifier, streamId, cursor?.seq ?? 0, stream)
    stream.write(Buffer.from(retryText(1000, 4000) + (isProxied ? PADDING : '')))
    feed.join(stream, cursor?.seq, page).catch((err: unknown) => {
      this.#parts.log.warn({ err }, 'a feed could not be read from the store')
      stream.close('stale', retryText(500, 3000))
    })
    return true
  }

  #feedOf(siteId: SiteId): SiteFeed | undefined {
    const known = this.#sites.get(siteId)
    if (known !== undefined) return known
    const head = this.#parts.views.view(siteId)?.head
    if (head === undefined) return undefined
    const feed = new SiteFeed(siteId, head, this)
    this.#sites.set(siteId, feed)
    return feed
  }

  #onEnd(stream: FeedStream, why: StreamEnd): void {
    const { siteId, keyId } = stream.verifier
    const feed = this.#sites.get(siteId)
    feed?.leave(stream)
    if (feed?.isEmpty) {
      feed.end()
      this.#sites.delete(siteId)
    }
    const key = this.#keys.get(keyId)
    const unleased = (this.#unleased.get(siteId) ?? 0) - (isUnleased(stream.verifier) ? 1 : 0)
    if (unleased > 0) this.#unleased.set(siteId, unleased)
    else this.#unleased.delete(siteId)
    if (key?.streams.delete(stream)) {
      key.count--
      if (stream.verifier.isObserver) key.observers--
      if (key.count === 0) this.#keys.delete(keyId)
    }
    this.#parts.watcher.closed(stream, why)
  }

  #tell(feed: SiteFeed, isDue = false): void {
    feed.tell(isDue).catch((err: unknown) => this.#parts.log.error({ err }, 'a feed could not be told'))
  }

  entriesAfter(siteId: SiteId, seq: number, limit: number): Promise<readonly Entry[]> {
    return this.#parts.store.siteEntriesAfter(siteId, seq, limit)
  }

  async prove(siteId: SiteId, head: LogHead, isNew: boolean): Promise<string | undefined> {
    const { views, clock, keys } = this.#parts
    const known = views.view(siteId)?.head
    const { ageMs, asOfMs } = views.age()
    const isOurs =
      known !== undefined && known.epoch === head.epoch && known.seq === head.seq && known.hash === head.hash
    if (!isOurs || !(ageMs <= this.#options.silentMs) || !views.readiness().ready) return undefined
    if (!this.#parts.watcher.mayProve(siteId, this.#unleased.has(siteId))) return undefined
    const feed = this.#sites.get(siteId)
    const last = feed && this.#proofs.get(feed)
    if (!isNew && last !== undefined && last.head.seq === head.seq && asOfMs - last.asOfMs < PROOF_REUSED_MS)
      return last.text
    const max_age_seconds = this.#parts.ages.seconds(siteId)
    if (typeof max_age_seconds !== 'number') {
      await max_age_seconds
      // The view may have changed meanwhile, and the value belongs to the view as it is now.
      return this.prove(siteId, head, isNew)
    }
    const { epoch, seq, hash } = head
    const { kid, key } = keys.feedKey(clock.nowMs())
    const fields = { site_id: siteId, epoch, seq, hash, as_of: formatTime(asOfMs), max_age_seconds, kid }
    const text = heartbeatText(await signHeartbeat(fields, key))
    if (feed !== undefined) this.#proofs.set(feed, { head, asOfMs, text })
    return text
  }

  #tick(): void {
    const { heartbeatMs, tickMs, staleMs, keyCheckMs } = this.#options
    const nowMs = performance.now()
    if (this.#sites.size > 0 && !(this.#parts.views.age().ageMs <= staleMs)) this.#endAll('stale')
    for (const feed of this.#sites.values())
      if (nowMs - feed.provenAtMs > heartbeatMs - tickMs) this.#tell(feed, true)
    if (nowMs - this.#keysCheckedMs < keyCheckMs || this.#keys.size === 0) return
    this.#keysCheckedMs = nowMs
    this.#checkingKeys ??= this.#checkKeys()
      .catch((err: unknown) =>
        this.#parts.log.warn({ err }, 'the keys behind open feeds could not be looked up'),
      )
      .finally(() => {
        this.#checkingKeys = undefined
      })
  }

  async #checkKeys(): Promise<void> {
    const { store, clock } = this.#parts
    const ids = [...this.#keys.keys()]
    for (let from = 0; from < ids.length; from += KEYS_ASKED_MAX) {
      const asked = ids.slice(from, from + KEYS_ASKED_MAX)
      const found = await store.apiKeysById(asked)
      const nowMs = clock.nowMs()
      const good = new Set(
        found.flatMap(({ keyId, expiresAtMs }) =>
          expiresAtMs === undefined || expiresAtMs > nowMs ? [keyId] : [],
        ),
      )
      for (const keyId of asked) if (!good.has(keyId)) this.dropKey(keyId)
    }
  }

  dropKey(keyId: string): void {
    for (const stream of [...(this.#keys.get(keyId)?.streams ?? [])]) stream.close('key', '')
  }

  #endAll(why: StreamEnd): void {
    for (const { streams } of [...this.#keys.values()])
      for (const stream of [...streams]) stream.close(why, retryText(200, 3000))
    for (const feed of this.#sites.values()) feed.end()
    this.#sites.clear()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#unfollow()
    clearInterval(this.#ticker)
    this.#endAll('shutdown')
    await this.#checkingKeys
  }
}

/** Without a name of its own a reader goes by its instance, or by a name to acknowledge with. */
function toVerifier({ siteId, keyId, verifier: { verifierId, promise, isObserver } }: FeedOrder): Verifier {
  const made = verifierId ?? promise?.instanceId ?? `conn_${randomBytes(12).toString('base64url')}`
  return { siteId, keyId, verifierId: made, isNamed: verifierId !== undefined, promise, isObserver }
}

function isUnleased({ promise, isObserver }: Verifier): boolean {
  return promise === undefined && !isObserver
}
