import { type Entry, parseEntry } from '@countersign/core'
import { json, number } from '../../columns.ts'
import { unreadableEntry } from '../../log-corrupted.ts'
import type { Row } from '../../transaction.ts'

/** The log row of a statement that selects its columns with the prefix `log_`. */
export function toLogRow(found: Row): Row {
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

/** Parses an entry. Throws a `LogCorrupted` for a row that is not an entry. */
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
