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
 * The readers of a site that disconnected since then, at most 1,000: the last one of each key, then
 * the one before it, and so on. A key with very many does not displace the readers of another.
 */
export const departedReaders = read(function* (
  siteId: SiteId,
  sinceMs: number,
): Transaction<readonly DepartedReader[]> {
  const found = yield* rows(
    `SELECT * FROM (SELECT d.*, ROW_NUMBER() OVER (PARTITION BY key_id ORDER BY ended_at DESC, stream_id) AS turn
       FROM departed_readers d WHERE site_id = $1 AND ended_at >= $2) AS ranked ORDER BY turn, ended_at DESC LIMIT $3`,
    siteId,
    sinceMs,
    LISTED_MAX,
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
