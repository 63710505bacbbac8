import type { SiteId } from '@countersign/core'
import { number, text, toSiteId } from '../columns.ts'
import { exec, type Row, read, rows, type Transaction } from '../transaction.ts'
import type { FeedStreamRow } from './feed-streams.ts'
import { toAcks, toAcksText } from './shared/acks.ts'

/** A reader without a lease that has disconnected, as it was at its end. */
export interface DepartedReader
  extends Pick<
    FeedStreamRow,
    'streamId' | 'siteId' | 'keyId' | 'verifierId' | 'connectedAtMs' | 'epoch' | 'seq' | 'acks'
  > {
  readonly endedAtMs: number
}

const LISTED_MAX = 1000

/** Records readers that have disconnected. */
export function* recordDeparted(departed: readonly DepartedReader[]): Transaction<void> {
  const sorted = [...departed].sort((one, other) => (one.streamId < other.streamId ? -1 : 1))
  for (const reader of sorted)
    yield* exec(
      `INSERT INTO departed_readers (stream_id, site_id, key_id, verifier_id, connected_at, ended_at, epoch, seq, acks)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (stream_id) DO NOTHING`,
      reader.streamId,
      reader.siteId,
      reader.keyId,
      reader.verifierId,
      Math.floor(reader.connectedAtMs),
      Math.ceil(reader.endedAtMs),
      reader.epoch,
      reader.seq,
      toAcksText(reader.acks),
    )
}

/**
 * The readers of a site that disconnected since then, about 1,000 at most: an equal part of each
 * key, its last ones first. A key with very many does not displace the readers of another.
 */
export const departedReaders = read(function* (
  siteId: SiteId,
  sinceMs: number,
): Transaction<readonly DepartedReader[]> {
  // Jumps from key to key in the index: one key may have very many.
  const keys = yield* rows(
    `WITH RECURSIVE known (key_id) AS (
       SELECT MIN(key_id) FROM departed_readers WHERE site_id = $1
       UNION ALL
       SELECT (SELECT MIN(d.key_id) FROM departed_readers d WHERE d.site_id = $1 AND d.key_id > known.key_id)
       FROM known WHERE known.key_id IS NOT NULL
     ) SELECT key_id FROM known WHERE key_id IS NOT NULL LIMIT $2`,
    siteId,
    LISTED_MAX,
  )
  const found: Row[] = []
  for (const each of keys)
    found.push(
      ...(yield* rows(
        `SELECT * FROM departed_readers WHERE site_id = $1 AND key_id = $2 AND ended_at >= $3
         ORDER BY ended_at DESC LIMIT $4`,
        siteId,
        text(each, 'key_id'),
        sinceMs,
        Math.ceil(LISTED_MAX / keys.length),
      )),
    )
  return found.map(toDeparted)
})

function toDeparted(found: Row): DepartedReader {
  return {
    streamId: text(found, 'stream_id'),
    siteId: toSiteId(found),
    keyId: text(found, 'key_id'),
    verifierId: text(found, 'verifier_id'),
    connectedAtMs: number(found, 'connected_at'),
    endedAtMs: number(found, 'ended_at'),
    epoch: text(found, 'epoch'),
    seq: number(found, 'seq'),
    acks: toAcks(found),
  }
}
