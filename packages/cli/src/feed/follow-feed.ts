import type { Entry } from '@countersign/core'
import { systemClock } from '@countersign/sdk'
import {
  createFeedKeys,
  createSseReader,
  LogCorrupted,
  readEntry,
  readHeartbeat,
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
          const event = await (sent.event === 'heartbeat' ? checkHead(sent) : checkNext(sent, cursor))
          if (event === undefined) continue
          failures = 0
          if (event.kind === 'entry') cursor = event.entry
          yield event
        }
      }
      throw new ServiceError('ended', 'The service closed the stream.')
    } catch (fault) {
      if (signal.aborted) return
      if (!(fault instanceof ServiceError) || isFinal(fault)) throw fault
      const waitMs = fault.retryAfterMs ?? Math.min(WAIT_MS * 2 ** failures++, WAIT_MS_MAX)
      yield { kind: 'lost', why: fault.message, waitMs }
      await pause(waitMs, signal)
    }
  }

  async function checkHead(sent: SseEvent): Promise<FeedEvent | undefined> {
    const { proof } = await readHeartbeat(sent, keys, signal)
    if (proof === undefined) return undefined
    const { epoch, seq, hash } = cursor
    if (proof.epoch !== epoch || (proof.seq === seq && hash !== undefined && proof.hash !== hash))
      throw new LogCorrupted(
        'fork',
        `The service signs ${proof.epoch}.${proof.seq}, which is not the log that was followed to ${epoch}.${seq}.`,
      )
    return { kind: 'proven', seq: proof.seq }
  }
}

/** A rejection that waiting does not change. */
function isFinal({ status }: ServiceError): boolean {
  return status >= 400 && status < 500 && status !== 429
}

/** Undefined for an entry that was read before. */
async function checkNext(sent: SseEvent, cursor: LogCursor): Promise<FeedEvent | undefined> {
  const entry = await readEntry(sent)
  const { epoch, seq, hash } = cursor
  if (entry.epoch === epoch && entry.seq <= seq) return undefined
  const isContinued = hash === undefined || entry.prev_hash === hash
  if (entry.epoch !== epoch || entry.seq !== seq + 1 || !isContinued)
    throw new LogCorrupted(
      'hole',
      `Entry ${entry.epoch}.${entry.seq} does not continue the log after ${epoch}.${seq}.`,
    )
  return { kind: 'entry', entry }
}
