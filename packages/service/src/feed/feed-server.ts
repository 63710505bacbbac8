import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Entry, LogPosition, SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { requireFreshView } from '../access/require-fresh.ts'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { PADDING, retryText } from './event-text.ts'
import {
  FeedStream,
  type StreamEnd,
  type StreamOptions,
  type Verifier,
  type VerifierPromise,
} from './feed-stream.ts'
import type { HeadAges } from './head-ages.ts'
import { HeadSigner } from './head-signer.ts'
import { KeyConnections } from './key-connections.ts'
import { requirePosition } from './require-position.ts'
import { SessionStreams, type StreamSession } from './session-streams.ts'
import { SiteFeed } from './site-feed.ts'
import type { VerifierRegistry } from './verifier-registry.ts'

interface FeedRequest {
  readonly siteId: SiteId
  /** The API key, or the person in the console. */
  readonly keyId: string
  /** In the console, where `verifier` is always an observer. */
  readonly session?: StreamSession | undefined
  /** Undefined: from the head of the log. */
  readonly cursor: LogPosition | undefined
  readonly verifier: DeclaredVerifier
  /** Whether the request came through a proxy. */
  readonly isProxied: boolean
}

/** What a reader declares about itself. */
export interface DeclaredVerifier {
  readonly verifierId: string | undefined
  readonly promise: VerifierPromise | undefined
  readonly isObserver: boolean
}

/** A reserved connection. The caller calls exactly one of the two methods. */
interface FeedSlot {
  readonly verifierId: string
  accept(connection: Socket): void
  release(): void
}

export interface FeedServerParts {
  readonly store: Pick<
    Store,
    'site' | 'logPosition' | 'siteEntriesAfter' | 'apiKeysById' | 'consoleSessionsBySha256'
  >
  readonly views: LiveViews
  readonly clock: Clock
  readonly keys: Pick<ServiceKeys, 'feedKey'>
  readonly verifiers: Pick<VerifierRegistry, 'admit' | 'abandoned' | 'opened' | 'closed' | 'mayConfirmHeads'>
  readonly ages: HeadAges
  readonly log: Pick<Logger, 'warn' | 'error'>
}

export interface FeedServerOptions {
  readonly heartbeatMs?: number
  /** A node that has not heard from its store for so long signs no heads… */
  readonly silentMs?: number
  /** …and after so long ends all streams. */
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
/** With the time of the query, a key or session that ended is cut off within two seconds. */
const KEY_CHECK_MS = 1000
const KEYS_QUERIED_MAX = 500

/** The feeds of all sites on this node, and the connections that follow them. */
export class FeedServer {
  readonly #parts: FeedServerParts
  readonly #options: Required<FeedServerOptions>
  readonly #sites = new Map<SiteId, SiteFeed>()
  readonly #connections = new KeyConnections()
  readonly #sessions: SessionStreams
  /** How many streams without a lease each site has. */
  readonly #unleased = new Map<SiteId, number>()
  readonly #unfollow: () => void
  readonly #ticker: NodeJS.Timeout
  readonly #checkingKeys: PeriodicJob
  readonly #checkingSessions: PeriodicJob
  readonly #streamOptions: StreamOptions
  #isClosed = false
  /** How often the log was lost: a slot that was reserved before is no longer valid. */
  #losses = 0

  constructor(parts: FeedServerParts, options: FeedServerOptions = {}) {
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
    this.#streamOptions = {
      unreadBytesMax: this.#options.unreadBytesMax,
      onEnd: (stream, why) => this.#onEnd(stream, why),
    }
    this.#unfollow = parts.views.follow({
      applied: (entries, isEnd) => {
        for (const { entry } of entries) this.#sites.get(entry.site_id)?.applied(entry)
        const changed = new Set(entries.map(({ entry }) => entry.site_id))
        // A site whose last entry was sent without a heartbeat gets one as soon as the head is
        // known.
        for (const feed of this.#sites.values())
          if (changed.has(feed.siteId) || (isEnd && feed.needsHeartbeat)) this.#broadcast(feed)
      },
      lost: () => {
        this.#losses++
        this.#endAll('log')
      },
    })
    this.#ticker = setInterval(() => this.#tick(), this.#options.tickMs)
    this.#ticker.unref()
    this.#checkingKeys = everyMs(
      this.#options.keyCheckMs,
      () => this.#checkKeys(),
      (err) => parts.log.warn({ err }, 'the keys behind open feeds could not be looked up'),
    )
    this.#sessions = new SessionStreams(parts)
    this.#checkingSessions = everyMs(
      this.#options.keyCheckMs,
      () => this.#sessions.check(),
      (err) => parts.log.warn({ err }, 'the sessions behind open feeds could not be looked up'),
    )
  }

  /** How many connections there are. */
  get size(): number {
    return this.#connections.size
  }

  /**
   * Reserves a connection. Throws a Problem: `not_found`; `cursor_ahead` for a cursor of another
   * log or beyond its head, `cursor_expired` for one whose entries are gone; `rate_limited` when
   * the key has as many connections as it may; `revocation_view_stale` when the view of this node
   * is stale; `session_required` when the session has ended.
   */
  async open(request: FeedRequest): Promise<FeedSlot> {
    const { siteId, keyId, cursor, session } = request
    if (this.#isClosed)
      throw new Problem('store_unavailable', 'This node is shutting down. Connect again, to another one.')
    const release = this.#connections.reserve(keyId, request.verifier.isObserver, session !== undefined)
    try {
      // Later than the check of the caller, which may be a second old.
      if (session !== undefined && !(await this.#sessions.mayFollow(session, siteId)))
        throw new Problem('session_required')
      const losses = this.#losses
      await requireFreshView(this.#parts, siteId)
      const page = cursor === undefined ? undefined : await this.#pageAfter(siteId, cursor)
      // Read before the stream begins: a stream that had to wait for it could miss the entries of
      // that time.
      await this.#parts.ages.seconds(siteId)
      const verifier = toVerifier(request)
      const streamId = await this.#parts.verifiers.admit(verifier, 'stream')
      const abandon = () => {
        release()
        this.#parts.verifiers.abandoned(verifier, streamId)
      }
      return {
        verifierId: verifier.verifierId,
        release: abandon,
        accept: (connection) => {
          const isValid = !this.#isClosed && losses === this.#losses && !connection.destroyed
          if (isValid && this.#begin(connection, verifier, streamId, request, page)) return
          connection.destroy()
          abandon()
        },
      }
    } catch (fault) {
      release()
      throw fault
    }
  }

  /**
   * The entries after a cursor; undefined when there are none. Throws when the cursor is invalid.
   */
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
    { cursor, isProxied, session }: FeedRequest,
    page: readonly Entry[] | undefined,
  ): boolean {
    const { siteId } = verifier
    const feed = this.#findFeed(siteId)
    if (feed === undefined) return false
    const stream = new FeedStream(connection, verifier, this.#streamOptions)
    this.#connections.add(stream)
    if (session !== undefined) this.#sessions.add(stream, session)
    if (isUnleased(verifier)) this.#unleased.set(siteId, (this.#unleased.get(siteId) ?? 0) + 1)
    this.#parts.verifiers.opened(verifier, streamId, cursor?.seq ?? 0, stream)
    stream.write(Buffer.from(retryText(1000, 4000) + (isProxied ? PADDING : '')))
    feed.join(stream, cursor?.seq, page).catch((err: unknown) => {
      this.#parts.log.warn({ err }, 'a feed could not be read from the store')
      stream.close('stale', retryText(500, 3000))
    })
    return true
  }

  #findFeed(siteId: SiteId): SiteFeed | undefined {
    const known = this.#sites.get(siteId)
    if (known !== undefined) return known
    const { store, views, verifiers, log } = this.#parts
    const head = views.view(siteId)?.head
    if (head === undefined) return undefined
    const signer = new HeadSigner(siteId, {
      ...this.#parts,
      silentMs: this.#options.silentMs,
      mayConfirmHeads: () => verifiers.mayConfirmHeads(siteId, this.#unleased.has(siteId)),
    })
    const feed = new SiteFeed(siteId, head, {
      entriesAfter: (seq, limit) => store.siteEntriesAfter(siteId, seq, limit),
      // The entries that the head covers are sent without it, and a later heartbeat covers them.
      confirmHead: (current, isNew) =>
        signer.confirm(current, isNew).catch((err: unknown) => {
          log.warn({ err }, 'the head of a feed could not be signed')
          return undefined
        }),
    })
    this.#sites.set(siteId, feed)
    return feed
  }

  #onEnd(stream: FeedStream, why: StreamEnd): void {
    const { siteId } = stream.verifier
    const feed = this.#sites.get(siteId)
    feed?.leave(stream)
    if (feed?.isEmpty) {
      feed.end()
      this.#sites.delete(siteId)
    }
    const unleased = (this.#unleased.get(siteId) ?? 0) - (isUnleased(stream.verifier) ? 1 : 0)
    if (unleased > 0) this.#unleased.set(siteId, unleased)
    else this.#unleased.delete(siteId)
    this.#connections.remove(stream)
    this.#sessions.remove(stream)
    this.#parts.verifiers.closed(stream, why)
  }

  #broadcast(feed: SiteFeed, isDue = false): void {
    feed
      .broadcast(isDue)
      .catch((err: unknown) => this.#parts.log.error({ err }, 'a feed could not be sent to its readers'))
  }

  #tick(): void {
    const { heartbeatMs, tickMs, staleMs } = this.#options
    const nowMs = performance.now()
    if (this.#sites.size > 0 && !(this.#parts.views.age().ageMs <= staleMs)) this.#endAll('stale')
    for (const feed of this.#sites.values())
      if (nowMs - feed.heartbeatAtMs > heartbeatMs - tickMs) this.#broadcast(feed, true)
  }

  async #checkKeys(): Promise<void> {
    const { store, clock } = this.#parts
    const ids = this.#connections.keyIds
    for (let from = 0; from < ids.length; from += KEYS_QUERIED_MAX) {
      const queried = ids.slice(from, from + KEYS_QUERIED_MAX)
      const found = await store.apiKeysById(queried)
      const nowMs = clock.nowMs()
      const valid = new Set(
        found.flatMap(({ keyId, expiresAtMs }) =>
          expiresAtMs === undefined || expiresAtMs > nowMs ? [keyId] : [],
        ),
      )
      for (const keyId of queried) if (!valid.has(keyId)) this.dropKey(keyId)
    }
  }

  /** Ends all connections of a key that is no longer valid. */
  dropKey(keyId: string): void {
    for (const stream of this.#connections.streams(keyId)) stream.close('key', '')
  }

  #endAll(why: StreamEnd): void {
    for (const stream of this.#connections.streams()) stream.close(why, retryText(200, 3000))
    for (const feed of this.#sites.values()) feed.end()
    this.#sites.clear()
  }

  /** Ends all connections, asking their readers to connect elsewhere, and accepts no more. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#unfollow()
    clearInterval(this.#ticker)
    this.#endAll('shutdown')
    await this.#checkingKeys.close()
    await this.#checkingSessions.close()
  }
}

/** A reader without a name is called by its instance id, or by a generated name. */
function toVerifier({ siteId, keyId, verifier: { verifierId, promise, isObserver } }: FeedRequest): Verifier {
  const name = verifierId ?? promise?.instanceId ?? `conn_${randomBytes(12).toString('base64url')}`
  return { siteId, keyId, verifierId: name, isNamed: verifierId !== undefined, promise, isObserver }
}

function isUnleased({ promise, isObserver }: Verifier): boolean {
  return promise === undefined && !isObserver
}
