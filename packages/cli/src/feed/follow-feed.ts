import { checkEntry, checkHeartbeat, type Entry, parseEntry, parseHeartbeat } from '@countersign/core'
import { systemClock } from '@countersign/sdk'
import {
  createFeedKeys,
  createSseReader,
  LogCorrupted,
  ServiceError,
  type SseEvent,
  type VerifierApi,
} from '@countersign/sdk/feed'
import { pause } from '../terminal/until-stopped.ts'

/** The last entry that was read. Its hash is unknown if the caller named the position. */
export interface LogCursor {
  readonly epoch: string
  readonly seq: number
  readonly hash: string | undefined
}

/**
 * `proven`: the service has signed the head of the log. `lost`: the connection ended; the next
 * attempt follows after `waitMs`.
 */
export type FeedEvent =
  | { readonly kind: 'connected' }
  | { readonly kind: 'entry'; readonly entry: Entry }
  | { readonly kind: 'proven'; readonly seq: number }
  | { readonly kind: 'lost'; readonly why: string; readonly waitMs: number }

const WAIT_MS = 1000
const WAIT_MS_MAX = 10_000

/**
 * Follows the log of a site from a position until `signal` fires, over as many connections as that
 * takes. Every entry is checked against the one before it. Throws a `LogCorrupted` when it does
 * not fit, and a `ServiceError` when the service rejects the call.
 */
export async function* followFeed(
  service: VerifierApi,
  from: LogCursor,
  signal: AbortSignal,
): AsyncGenerator<FeedEvent, void> {
  const keys = createFeedKeys({ pinned: undefined, discovery: service.discovery, clock: systemClock })
  let cursor = from
  let failures = 0
  while (!signal.aborted) {
    try {
      const chunks = await service.feed(`${cursor.epoch}.${cursor.seq}`, signal)
      yield { kind: 'connected' }
      const reader = createSseReader()
      for await (const chunk of chunks) {
        for (const sent of reader.push(chunk)) {
          const event =
            sent.event === 'heartbeat' ? await readHeartbeat(sent) : await checkEntryEvent(sent, cursor)
          if (event === undefined) continue
          failures = 0
          if (event.kind === 'entry') {
            const { epoch, seq, hash } = event.entry
            cursor = { epoch, seq, hash }
          }
          yield event
        }
      }
      throw new ServiceError('ended', 'the service closed the stream')
    } catch (fault) {
      if (signal.aborted) return
      if (!(fault instanceof ServiceError) || isFinal(fault)) throw fault
      const waitMs = fault.retryAfterMs ?? Math.min(WAIT_MS * 2 ** failures++, WAIT_MS_MAX)
      yield { kind: 'lost', why: fault.message, waitMs }
      await pause(waitMs, signal)
    }
  }

  async function readHeartbeat({ data }: SseEvent): Promise<FeedEvent | undefined> {
    const heartbeat = parseHeartbeat(JSON.parse(data))
    const key = heartbeat && (await keys.find(heartbeat.kid, signal))
    const proof = heartbeat && key && (await checkHeartbeat(heartbeat, key))
    if (proof === undefined) return undefined
    const { epoch, seq, hash } = cursor
    if (proof.epoch !== epoch || (proof.seq === seq && hash !== undefined && proof.hash !== hash))
      throw new LogCorrupted(
        'fork',
        `the service signs ${proof.epoch}.${proof.seq}, which is not the log that was followed to ${epoch}.${seq}`,
      )
    return { kind: 'proven', seq: proof.seq }
  }
}

/** A rejection that waiting does not change. */
function isFinal({ status }: ServiceError): boolean {
  return status >= 400 && status < 500 && status !== 429
}

async function checkEntryEvent({ event, data }: SseEvent, cursor: LogCursor): Promise<FeedEvent | undefined> {
  const entry = parseEntry(JSON.parse(data))
  if (entry?.kind !== event)
    throw new LogCorrupted(
      'entry_unreadable',
      'the service sent an entry that this version cannot read; update it',
    )
  if (entry.epoch === cursor.epoch && entry.seq <= cursor.seq) return undefined
  const isNext = entry.epoch === cursor.epoch && entry.seq === cursor.seq + 1
  const isContinued = cursor.hash === undefined || entry.prev_hash === cursor.hash
  if (!isNext || !isContinued || (await checkEntry(entry)) === undefined)
    throw new LogCorrupted(
      'hole',
      `entry ${entry.epoch}.${entry.seq} does not continue the log after ${cursor.epoch}.${cursor.seq}`,
    )
  return { kind: 'entry', entry }
}
