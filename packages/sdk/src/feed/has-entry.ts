import { checkEntry, type LogHead, parseEntry } from '@countersign/core'
import { parseJson } from './feed-events.ts'
import { createSseReader } from './sse-reader.ts'
import { ServiceError, type VerifierApi } from './verifier-api.ts'

/**
 * Whether the service's log has this entry at its seq. False when it has another one there, or ends
 * before it. Rejects when the service cannot be reached, and when it says that it has removed the
 * entry (410): the next snapshot then has a higher base.
 *
 * Finds a store that was set back. It is no proof against a relay, which can repeat the entry, so
 * the view also compares what it has proven with what it loads.
 */
export async function hasEntry(
  api: VerifierApi,
  { epoch, seq, hash }: LogHead,
  signal: AbortSignal,
): Promise<boolean> {
  if (seq === 0) return true
  const reader = createSseReader()
  try {
    for await (const chunk of await api.feed(`${epoch}.${seq - 1}`, signal)) {
      // The first event decides: the entry, or a heartbeat of a log that ends before it.
      for (const { data } of reader.push(chunk)) {
        const entry = parseEntry(parseJson(data))
        const checked = entry && (await checkEntry(entry))
        return checked?.epoch === epoch && checked.seq === seq && checked.hash === hash
      }
    }
  } catch (error) {
    if (error instanceof ServiceError && error.status === 409) return false
    throw error
  }
  throw new ServiceError('unreachable', 'The feed ended before it sent the requested entry.')
}
