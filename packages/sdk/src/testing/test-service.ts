import {
  type Entry,
  formatTime,
  type JsonObject,
  type SiteId,
  sha256Hex,
  signHeartbeat,
  signIntrospection,
} from '@countersign/core'
import type { TestClock } from './test-clock.ts'
import type { TestFeedKeys } from './test-feed-keys.ts'
import { TestFollowers } from './test-followers.ts'
import type { TestLog } from './test-log.ts'
import { type AnnouncedEpoch, signTestSnapshot } from './test-snapshot.ts'

/**
 * The part of the service that a guard calls, in this process and without a network. It speaks the
 * real contract through `fetch`.
 */
export interface TestService {
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  /** The log position that each verifier has acknowledged. */
  readonly acknowledged: ReadonlyMap<string, { readonly epoch: string; readonly seq: number }>
  /** How many guards follow the feed now. */
  readonly followers: number
  /** Broadcasts an entry and a heartbeat with it as head. */
  announce(entry: Entry): Promise<void>
  heartbeat(): Promise<void>
  /** Broadcasts any text on the feed. */
  say(text: string): void
  /** Heads signed from now on state this as `max_age_seconds`. */
  stateMaxAge(seconds: number): void
  /** The log is kept from here on only: older cursors are expired. */
  forgetEntries(): void
  readonly network: TestNetwork
  /**
   * `cut`: connections fail, and so do new ones. `silent`: they stay open, but nothing arrives.
   * `rejecting`: the API key is rejected.
   */
  setNetwork(network: TestNetwork): void
  /**
   * Continues with another log: cursors of the old one become invalid. Snapshots announce its epoch
   * with the statements given so far.
   */
  follow(log: TestLog, announced?: AnnouncedEpoch): void
  close(): void
}

export type TestNetwork = 'ok' | 'cut' | 'silent' | 'rejecting'

export interface TestServiceOptions {
  readonly baseUrl: string
  readonly siteId: SiteId
  readonly apiKey: string
  readonly clock: TestClock
  readonly log: TestLog
  readonly feedKeys: TestFeedKeys
  /** The answer of introspection, without its proof. */
  readonly introspect: (token: string) => Promise<JsonObject>
}

const HEARTBEAT_MS = 5_000

export function createTestService(options: TestServiceOptions): TestService {
  const { baseUrl, siteId, apiKey, clock, feedKeys } = options
  let { log } = options
  let keptFromSeq = 0
  let maxAgeSeconds = 60
  let network: TestNetwork = 'ok'
  let cancelHeartbeat = () => {}
  const epochs: AnnouncedEpoch[] = []
  const followers = new TestFollowers()
  const acknowledged = new Map<string, { epoch: string; seq: number }>()

  const heartbeatText = async () => {
    const { epoch, seq, hash } = log.head
    const { kid, key } = feedKeys.current
    const as_of = formatTime(clock.nowMs)
    const fields = { site_id: siteId, epoch, seq, hash, as_of, max_age_seconds: maxAgeSeconds, kid }
    return `event: heartbeat\ndata: ${JSON.stringify(await signHeartbeat(fields, key))}\n\n`
  }
  const beat = () => {
    cancelHeartbeat = clock.after(HEARTBEAT_MS, () => {
      if (followers.size > 0) heartbeatText().then((text) => followers.broadcast(text))
      beat()
    })
  }
  beat()

  const discovery = (): Response => {
    const { chain } = feedKeys
    const keys = chain.slice(-1).map(({ kid, public_key_multibase }) => ({ kid, public_key_multibase }))
    return Response.json({ base_url: baseUrl, feed: { version: 1, keys, chain } })
  }

  const snapshot = async (): Promise<Response> => {
    const { nowMs } = clock
    const feedKey = feedKeys.current
    const pieces = await signTestSnapshot({
      siteId,
      log,
      nowMs,
      maxAgeSeconds,
      keptFromSeq,
      epochs,
      feedKey,
    })
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift()
        if (piece === undefined) controller.close()
        else controller.enqueue(piece)
      },
    })
    return new Response(body, { headers: { 'content-type': 'application/x-ndjson' } })
  }

  const feed = async (headers: Headers, signal: AbortSignal | null | undefined): Promise<Response> => {
    const [epoch, place] = (headers.get('last-event-id') ?? `${log.head.epoch}.${log.head.seq}`).split('.')
    const seq = Number(place)
    if (epoch !== log.head.epoch || seq > log.head.seq) return problem(409, 'cursor_ahead')
    const backlog = log.entries.filter((entry) => entry.seq > seq)
    if (seq < keptFromSeq) return problem(410, 'cursor_expired')
    const first = `retry: 1000\n\n${backlog.map(entryText).join('')}${await heartbeatText()}`
    if (network === 'cut') throw new TypeError('the network is cut') // Meanwhile.
    return new Response(followers.open(first, signal), { headers: { 'content-type': 'text/event-stream' } })
  }

  const acknowledge = (headers: Headers, body: string): Response => {
    const { epoch, seq } = JSON.parse(body) as { epoch: string; seq: number }
    if (epoch !== log.head.epoch) return problem(409, 'cursor_ahead')
    acknowledged.set(findVerifierId(headers), { epoch, seq })
    return new Response(null, { status: 204 })
  }

  const introspect = async (body: string): Promise<Response> => {
    const { token, nonce } = JSON.parse(body) as { token: string; nonce?: string }
    const facts = await options.introspect(token)
    if (nonce === undefined) return Response.json(facts)
    const { epoch, seq, hash } = log.head
    const { kid, key } = feedKeys.current
    const token_sha256 = await sha256Hex(token)
    const as_of = formatTime(clock.nowMs)
    const fields = { nonce, site_id: siteId, token_sha256, head: { epoch, seq, hash }, as_of, kid }
    return Response.json({ ...facts, proof: await signIntrospection(facts, fields, key) })
  }

  const answer = async (url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers)
    const place = `${init.method ?? 'GET'} ${new URL(url).pathname}`
    if (place === 'GET /.well-known/countersign') return discovery()
    if (network === 'rejecting' || headers.get('x-api-key') !== apiKey) return problem(401, 'api_key_invalid')
    switch (place) {
      case `GET /api/sites/${siteId}/snapshot`:
        return snapshot()
      case `GET /api/sites/${siteId}/feed`:
        return feed(headers, init.signal)
      case `POST /api/sites/${siteId}/feed/ack`:
        return acknowledge(headers, String(init.body))
      case `POST /api/sites/${siteId}/feed/report`:
        return new Response(null, { status: 204 })
      case 'POST /api/auth/introspect':
        return introspect(String(init.body))
      default:
        return problem(404, 'not_found')
    }
  }

  return {
    acknowledged,
    get network() {
      return network
    },
    get followers() {
      return followers.size
    },
    async fetch(url, init = {}) {
      init.signal?.throwIfAborted()
      if (network === 'cut') throw new TypeError('the network is cut')
      if (network === 'silent')
        return new Promise((_, reject) =>
          init.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
        )
      return answer(url, init)
    },
    async announce(entry) {
      followers.broadcast(entryText(entry) + (await heartbeatText()))
    },
    async heartbeat() {
      followers.broadcast(await heartbeatText())
    },
    say: (text) => followers.broadcast(text),
    stateMaxAge(seconds) {
      maxAgeSeconds = seconds
    },
    forgetEntries() {
      keptFromSeq = log.head.seq
    },
    setNetwork(next) {
      network = next
      if (next === 'cut' || next === 'rejecting') followers.breakAll()
      if (next === 'silent') followers.forgetAll()
    },
    follow(next, announced) {
      log = next
      if (announced !== undefined) epochs.push(announced)
      keptFromSeq = 0
      followers.breakAll()
    },
    close() {
      cancelHeartbeat()
      followers.breakAll()
    },
  }
}

function entryText(entry: Entry): string {
  return `id: ${entry.epoch}.${entry.seq}\nevent: ${entry.kind}\ndata: ${JSON.stringify(entry)}\n\n`
}

/** The configured name of a guard, or else its instance id. */
function findVerifierId(headers: Headers): string {
  return headers.get('x-verifier-id') ?? headers.get('x-verifier-instance') ?? ''
}

function problem(status: number, code: string): Response {
  return new Response(
    JSON.stringify({ type: `/problems/${code}`, title: code, status, detail: code, code }),
    {
      status,
      headers: { 'content-type': 'application/problem+json' },
    },
  )
}
