import { type Entry, parseEntry, type SiteId } from '@countersign/core'
import { json, number, text } from '../columns.ts'
import { unreadableEntry } from '../log-corrupted.ts'
import { type EntryRecord, EpochChanged, type LogPage, type Page, type SiteHead } from '../store.ts'
import { type Row, row, rows, type Transaction } from '../transaction.ts'
import { requireIntact } from './macs.ts'

/**
 * Reads of the log name the epoch that the reader has followed so far, and throw an `EpochChanged`
 * in any other: an empty answer from another log must never look like "nothing new". One statement
 * each, so that both come from the same moment. They throw a `RowForged` for an end of the log or a
 * head that the service did not write.
 */
export function* entriesAfter(epoch: string, position: number, limit: number): Transaction<LogPage> {
  const found = yield* rows(
    `SELECT log.epoch AS log_epoch, log.position AS log_position, log.digest AS log_digest,
       log.keys_deleted AS log_keys_deleted, log.mac AS log_mac, e.* FROM log
       LEFT JOIN (SELECT * FROM entries WHERE epoch = $1 AND position > $2 ORDER BY position LIMIT $3) e ON e.epoch = log.epoch
     WHERE log.one = 1 ORDER BY e.position`,
    epoch,
    position,
    limit,
  )
  const entries = inEpoch(found, epoch)
  const end = yield* requireIntact('log', joinedLog(found[0] ?? {}))
  return {
    entries: entries.map((row) => ({ position: number(row, 'position'), entry: toEntry(row) })),
    end: {
      position: number(end, 'position'),
      digest: text(end, 'digest'),
      keysDeleted: number(end, 'keys_deleted'),
    },
  }
}

/** The log row from a statement that joins it to others, with `log_` before its columns. */
export function joinedLog(found: Row): Row {
  const {
    log_epoch = null,
    log_position = null,
    log_digest = null,
    log_keys_deleted = null,
    log_mac = null,
  } = found
  return {
    one: 1,
    epoch: log_epoch,
    position: log_position,
    digest: log_digest,
    keys_deleted: log_keys_deleted,
    mac: log_mac,
  }
}

export function* siteEntriesAfter(
  epoch: string,
  siteId: SiteId,
  seq: number,
  limit: number,
): Transaction<readonly Entry[]> {
  const found = yield* rows(
    `SELECT log.epoch AS log_epoch, e.* FROM log
       LEFT JOIN (SELECT * FROM entries WHERE epoch = $1 AND site_id = $4 AND seq > $2 ORDER BY seq LIMIT $3) e ON e.epoch = log.epoch
     WHERE log.one = 1 ORDER BY e.seq`,
    epoch,
    seq,
    limit,
    siteId,
  )
  return inEpoch(found, epoch).map(toEntry)
}

/** Nothing of a row is looked at here: the reader recomputes the chain over the records. */
export function* siteRecordsAfter(
  epoch: string,
  siteId: SiteId,
  seq: number,
  limit: number,
): Transaction<readonly EntryRecord[]> {
  const found = yield* rows(
    `SELECT log.epoch AS log_epoch, e.epoch, e.seq, e.kind, e.body, e.at FROM log
       LEFT JOIN (SELECT * FROM entries WHERE epoch = $1 AND site_id = $4 AND seq > $2 ORDER BY seq LIMIT $3) e ON e.epoch = log.epoch
     WHERE log.one = 1 ORDER BY e.seq`,
    epoch,
    seq,
    limit,
    siteId,
  )
  return inEpoch(found, epoch) as unknown as readonly EntryRecord[]
}

export function* logPosition(epoch: string): Transaction<number> {
  const found = yield* row('SELECT epoch, position FROM log WHERE one = 1')
  if (found === undefined || text(found, 'epoch') !== epoch)
    throw new EpochChanged('the log is in another epoch')
  return number(found, 'position')
}

export function* siteHeads(epoch: string, { after, limit }: Page): Transaction<readonly SiteHead[]> {
  const found = yield* rows(
    `SELECT log.epoch AS log_epoch, log.epoch, h.* FROM heads h, log
     WHERE log.one = 1 AND h.site_id > $1 ORDER BY h.site_id LIMIT $2`,
    after ?? '',
    limit,
  )
  if (found.length === 0) return []
  const heads = inEpoch(found, epoch)
  for (const head of heads) yield* requireIntact('heads', head)
  return heads.map((row) => ({
    siteId: text(row, 'site_id') as SiteId,
    epoch,
    seq: number(row, 'seq'),
    hash: text(row, 'hash'),
  }))
}

/** Without the row that is there only to tell the epoch when there are no entries. */
function inEpoch(found: readonly Row[], epoch: string): readonly Row[] {
  const first = found[0]
  if (first === undefined || first.log_epoch !== epoch) throw new EpochChanged('the log is in another epoch')
  return first.epoch === null ? [] : found
}

/** An entry from its columns. Throws a `LogCorrupted` for a row that is none. */
export function toEntry(row: Row): Entry {
  const entry = parseEntry({
    epoch: row.epoch,
    seq: row.seq,
    site_id: row.site_id,
    kind: row.kind,
    body: toBody(row),
    at: row.at,
    prev_hash: row.prev_hash,
    hash: row.hash,
  })
  if (entry === undefined) throw unreadableEntry(number(row, 'position'))
  return entry
}

function toBody(row: Row): unknown {
  try {
    return json(row, 'body')
  } catch {
    throw unreadableEntry(number(row, 'position'))
  }
}
