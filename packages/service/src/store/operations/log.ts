import type { Entry, LogHead, SiteId } from '@countersign/core'
import { number, text, toSiteId } from '../columns.ts'
import { EpochChanged } from '../errors.ts'
import type { Page } from '../page.ts'
import { type Row, read, readLog, row, rows, type Transaction } from '../transaction.ts'
import { toEntry, toLogRow } from './shared/log-rows.ts'
import { requireIntact } from './shared/mac-rows.ts'

export interface SiteHead extends LogHead {
  readonly siteId: SiteId
}

/**
 * The log of a site in `epoch` continues the log of `previous.epoch` from that head, and from no
 * later one.
 */
export interface EpochLink {
  readonly epoch: string
  readonly previous: LogHead
  readonly atMs: number
}

export interface LoggedEntry {
  readonly position: number
  readonly entry: Entry
}

/** Entries of all sites, and where the log ended when they were read. */
export interface LogPage {
  readonly entries: readonly LoggedEntry[]
  /** Entries up to here are ignored, and may have been removed. 0 before the first removal. */
  readonly basePosition: number
  readonly end: LogEnd
}

/**
 * The last position, and the digest of all entries up to it: see `nextDigest`. Its MAC has been
 * checked.
 */
export interface LogEnd {
  readonly position: number
  readonly digest: string
  /** Number of API keys that have ever been deleted. */
  readonly keysDeleted: number
}

/** An entry as stored, without its hashes. */
export interface EntryRecord {
  readonly seq: number
  readonly kind: string
  /** Canonical JSON. */
  readonly body: string
  readonly at: string
}

/** An entry of any site as stored, with its hashes. */
export interface LoggedRecord extends EntryRecord {
  readonly position: number
  readonly siteId: SiteId
  readonly prevHash: string
  readonly hash: string
}

/**
 * The base of the log in the epoch `$1`. Its MAC is not checked here: a wrong base hides entries,
 * and readers find that entries are missing.
 */
const BASE_POSITION = `COALESCE((SELECT base_position FROM checkpoint WHERE one = 1 AND epoch = $1), 0)`

/**
 * Entries of all sites after `position` and the base, in order, and the end of the log at the same
 * moment.
 * Throws a `LogCorrupted` for a row that is no entry, and a `RowForged` for an end with a wrong
 * MAC.
 */
export const entriesAfter = readLog(function* (
  epoch: string,
  position: number,
  limit: number,
): Transaction<LogPage> {
  const found = yield* rows(
    `SELECT log.epoch AS log_epoch, log.position AS log_position, log.digest AS log_digest,
       log.keys_deleted AS log_keys_deleted, log.mac AS log_mac, ${BASE_POSITION} AS base_position, e.* FROM log
       LEFT JOIN (SELECT * FROM entries WHERE epoch = $1 AND position > ${maxSql('$2', BASE_POSITION)} ORDER BY position LIMIT $3) e
         ON e.epoch = log.epoch
     WHERE log.one = 1 ORDER BY e.position`,
    epoch,
    position,
    limit,
  )
  const entries = requireEpoch(found, epoch)
  const end = yield* requireIntact('log', toLogRow(found[0] ?? {}))
  return {
    entries: entries.map((row) => ({ position: number(row, 'position'), entry: toEntry(row) })),
    basePosition: number(found[0] ?? {}, 'base_position'),
    end: {
      position: number(end, 'position'),
      digest: text(end, 'digest'),
      keysDeleted: number(end, 'keys_deleted'),
    },
  }
})

/** Entries of one site after `seq` and the base, in order. */
export const siteEntriesAfter = readLog(function* (
  epoch: string,
  siteId: SiteId,
  seq: number,
  limit: number,
): Transaction<readonly Entry[]> {
  return requireEpoch(yield* rows(siteRowsSql('e.*'), epoch, seq, limit, siteId), epoch).map(toEntry)
})

/**
 * The same as they are stored, neither parsed nor checked, for callers that read very many of them
 * and recompute the chain.
 */
export const siteRecordsAfter = readLog(function* (
  epoch: string,
  siteId: SiteId,
  seq: number,
  limit: number,
): Transaction<readonly EntryRecord[]> {
  const found = yield* rows(siteRowsSql('e.epoch, e.seq, e.kind, e.body, e.at'), epoch, seq, limit, siteId)
  return requireEpoch(found, epoch) as unknown as readonly EntryRecord[]
})

/** Entries of all sites after `position` as they are stored, neither parsed nor checked. */
export const recordsAfter = readLog(function* (
  epoch: string,
  position: number,
  limit: number,
): Transaction<readonly LoggedRecord[]> {
  const found = yield* rows(
    `SELECT log.epoch AS log_epoch, e.epoch, e.position, e.site_id AS "siteId", e.seq, e.kind, e.body, e.at,
       e.prev_hash AS "prevHash", e.hash FROM log
       LEFT JOIN (SELECT * FROM entries WHERE epoch = $1 AND position > $2 ORDER BY position LIMIT $3) e ON e.epoch = log.epoch
     WHERE log.one = 1 ORDER BY e.position`,
    epoch,
    position,
    limit,
  )
  return requireEpoch(found, epoch) as unknown as readonly LoggedRecord[]
})

function siteRowsSql(columns: string): string {
  return `SELECT log.epoch AS log_epoch, ${columns} FROM log
       LEFT JOIN (SELECT * FROM entries WHERE epoch = $1 AND site_id = $4 AND seq > $2 AND position > ${BASE_POSITION} ORDER BY seq LIMIT $3) e
         ON e.epoch = log.epoch
     WHERE log.one = 1 ORDER BY e.seq`
}

function maxSql(one: string, other: string): string {
  return `(SELECT CASE WHEN ${one} > ${other} THEN ${one} ELSE ${other} END)`
}

export const logPosition = readLog(function* (epoch: string): Transaction<number> {
  const found = yield* row('SELECT epoch, position FROM log WHERE one = 1')
  if (found === undefined || text(found, 'epoch') !== epoch)
    throw new EpochChanged('the log is in another epoch')
  return number(found, 'position')
})

/** Where the log of each site ends, by site. Throws a `RowForged` for a head with a wrong MAC. */
export const siteHeads = readLog(function* (
  epoch: string,
  { after, limit }: Page,
): Transaction<readonly SiteHead[]> {
  const found = yield* rows(
    `SELECT log.epoch AS log_epoch, log.epoch, h.* FROM heads h, log
     WHERE log.one = 1 AND h.site_id > $1 ORDER BY h.site_id LIMIT $2`,
    after ?? '',
    limit,
  )
  if (found.length === 0) return []
  const heads = requireEpoch(found, epoch)
  for (const head of heads) yield* requireIntact('heads', head)
  return heads.map((row) => ({
    siteId: toSiteId(row),
    epoch,
    seq: number(row, 'seq'),
    hash: text(row, 'hash'),
  }))
})

/** Without the row that only has the epoch, when there are no entries. */
function requireEpoch(found: readonly Row[], epoch: string): readonly Row[] {
  const first = found[0]
  if (first === undefined || first.log_epoch !== epoch) throw new EpochChanged('the log is in another epoch')
  return first.epoch === null ? [] : found
}

/**
 * The links between epochs that lead to the current one: the newest `limit`, oldest first. A site
 * that was created in the current epoch has none. Throws a `RowForged` for a link that the service
 * did not write.
 */
export const epochLinks = read(function* (siteId: SiteId, limit: number): Transaction<readonly EpochLink[]> {
  const found = yield* rows(
    `WITH RECURSIVE links AS (
       SELECT e.*, CAST(1 AS BIGINT) AS back FROM epochs e JOIN log ON log.epoch = e.epoch WHERE log.one = 1 AND e.site_id = $1
       UNION ALL
       SELECT e.*, links.back + 1 FROM epochs e JOIN links ON e.epoch = links.previous_epoch WHERE e.site_id = $1 AND links.back < $2
     ) SELECT * FROM links ORDER BY back DESC`,
    siteId,
    limit,
  )
  for (const link of found) yield* requireIntact('epochs', link)
  return found.map((link) => ({
    epoch: text(link, 'epoch'),
    previous: {
      epoch: text(link, 'previous_epoch'),
      seq: number(link, 'previous_seq'),
      hash: text(link, 'previous_hash'),
    },
    atMs: number(link, 'at'),
  }))
})
