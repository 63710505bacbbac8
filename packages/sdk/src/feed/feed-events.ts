import {
  type CheckedEntry,
  type ConfirmedHead,
  checkEntry,
  checkHeartbeat,
  type Heartbeat,
  isPromise,
  type PublicKey,
  parseEntry,
  parseHeartbeat,
} from '@countersign/core'
import type { FeedKeys } from './feed-keys.ts'
import { LogCorrupted } from './log-corrupted.ts'
import type { SseEvent } from './sse-reader.ts'

/**
 * Reads an entry of the feed and recomputes its hash; synchronous if the crypto backend is. Throws
 * a `LogCorrupted` when it cannot be read: an entry of an unknown kind may be a revocation.
 */
export function readEntry({ event, data, id }: SseEvent): CheckedEntry | Promise<CheckedEntry> {
  const entry = parseEntry(parseJson(data))
  if (entry?.kind !== event || id !== `${entry.epoch}.${entry.seq}`)
    throw new LogCorrupted('entry_unreadable')
  const checked = checkEntry(entry)
  return isPromise(checked) ? checked.then(requireHash) : requireHash(checked)
}

function requireHash(entry: CheckedEntry | undefined): CheckedEntry {
  if (entry === undefined) throw new LogCorrupted('wrong_hash')
  return entry
}

/** A heartbeat proves a head only with a trusted key and a valid signature. */
export interface ReadHeartbeat {
  readonly heartbeat?: Heartbeat | undefined
  readonly key?: PublicKey | undefined
  readonly proof?: ConfirmedHead | undefined
}

/** Reads a heartbeat and checks its signature. Rejects when the keys cannot be loaded. */
export async function readHeartbeat(
  { data }: Pick<SseEvent, 'data'>,
  keys: Pick<FeedKeys, 'find'>,
  signal: AbortSignal,
): Promise<ReadHeartbeat> {
  const heartbeat = parseHeartbeat(parseJson(data))
  const key = heartbeat && (await keys.find(heartbeat.kid, signal))
  return { heartbeat, key, proof: heartbeat && key && (await checkHeartbeat(heartbeat, key)) }
}

/** Undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
