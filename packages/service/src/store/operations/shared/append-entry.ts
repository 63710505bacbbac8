import {
  canonicalJson,
  type EntryBodies,
  type EntryKind,
  formatTime,
  GENESIS_HASH,
  type JsonValue,
  parseEntry,
} from '@countersign/core'
import { type Appended, append, type Transaction } from '../../transaction.ts'

/**
 * Appends an entry to a site's log. Throws a TypeError for an entry that readers would reject,
 * because no reader could get past it. It must be the last step of a transaction that can fail.
 */
export function* appendEntry<Kind extends EntryKind>(
  siteId: string,
  kind: Kind,
  body: EntryBodies[Kind],
  atMs: number,
): Transaction<Appended> {
  const draft = {
    epoch: 'epoch000',
    seq: 1,
    site_id: siteId,
    kind,
    body,
    at: formatTime(atMs),
    prev_hash: GENESIS_HASH,
    hash: GENESIS_HASH,
  }
  if (parseEntry(draft) === undefined) throw new TypeError(`a log entry of kind ${kind} is invalid`)
  return yield* append({ siteId, kind, bodyJson: canonicalJson(body as unknown as JsonValue), atMs })
}
