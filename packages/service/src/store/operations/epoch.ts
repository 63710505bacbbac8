import { GENESIS_HASH, type LogHead } from '@countersign/core'
import { number, text, toSiteId } from '../columns.ts'
import { hashEntry } from '../entry-hash.ts'
import { unreadableEntry } from '../log-corrupted.ts'
import { EMPTY_DIGEST, nextDigest } from '../log-digest.ts'
import { macTables } from '../mac-tables.ts'
import { exec, lock, type Row, read, row, rows, type SqlValue, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { recordHeadReaders } from './leases.ts'
import { insertNewRow, insertRow, isIntact, requireIntact, updateRow } from './shared/mac-rows.ts'
import { recordAudit } from './shared/record-audit.ts'

/** The end of the log, and the lineage of the database that wrote it. */
export interface LogState {
  readonly epoch: string
  readonly position: number
  readonly digest: string
  readonly lineage: string
}

/** Undefined in a database that has never had a log. */
export const logState = read(function* (): Transaction<LogState | undefined> {
  const found = yield* row('SELECT * FROM log WHERE one = 1')
  return found && toState(found)
})

function toState(found: Row): LogState {
  return {
    epoch: text(found, 'epoch'),
    position: number(found, 'position'),
    digest: text(found, 'digest'),
    lineage: text(found, 'lineage'),
  }
}

/**
 * The first table with rows that only a store with a log can have; undefined for an empty store.
 */
export const tableWithRows = read(function* (): Transaction<string | undefined> {
  for (const table of ['entries', ...Object.keys(macTables)]) {
    if ((yield* row(`SELECT 1 AS one FROM ${table} LIMIT 1`)) !== undefined) return table
  }
  return undefined
})

/**
 * Creates the log unless there is one. False, and nothing is written, when the log row is missing
 * from a store that is not empty.
 */
export function* beginLog(epoch: string, lineage: string): Transaction<boolean> {
  yield* lock('log')
  if ((yield* logState()) !== undefined) return true
  if ((yield* tableWithRows()) !== undefined) return false
  yield* insertNewRow('log', { one: 1, epoch, position: 0, digest: EMPTY_DIGEST, keys_deleted: 0, lineage })
  return true
}

/**
 * Begins a new epoch: the same entries in the same order with the same numbers, hashed again. The
 * entries of the old epoch are kept, and each site gets a link that names the head which its new
 * epoch continues. Does nothing when the log is no longer in the state that was audited, because
 * another node was faster. `continued` names the heads of a replaced store, from which its
 * verifiers continue. Throws when a row is forged or the entries do not match the log row.
 */
export function* beginEpoch(
  epoch: string,
  lineage: string,
  audited: LogState,
  context: AuditContext,
  continued: ReadonlyMap<string, LogHead> = new Map(),
): Transaction<void> {
  yield* lock('log')
  // Blocks every append, here and on other nodes, until the end of the transaction.
  const log = yield* row('UPDATE log SET position = position WHERE one = 1 RETURNING *')
  if (log === undefined || JSON.stringify(toState(log)) !== JSON.stringify(audited)) return
  yield* requireIntact('log', log)
  const old = yield* rows('SELECT h.*, log.epoch FROM heads h, log WHERE log.one = 1')
  for (const head of old) {
    yield* requireIntact('heads', head)
    const site_id = text(head, 'site_id')
    const previous = continued.get(site_id) ?? {
      epoch: audited.epoch,
      seq: number(head, 'seq'),
      hash: text(head, 'hash'),
    }
    yield* insertRow('epochs', {
      site_id,
      epoch,
      previous_epoch: previous.epoch,
      previous_seq: previous.seq,
      previous_hash: previous.hash,
      at: context.atMs,
    })
  }
  // Leases may have been lost, so receipts state no early instants until all earlier heads have
  // expired.
  yield* recordHeadReaders(old.map(toSiteId), context.atMs)
  const { heads, digest } = yield* copyEntries(audited, epoch)
  for (const head of old) {
    const { seq, hash } = heads.get(text(head, 'site_id')) ?? { seq: 0, hash: GENESIS_HASH }
    yield* updateRow('heads', { ...head, epoch }, { seq, hash })
  }
  yield* updateRow('log', log, { epoch, digest, lineage })
  const detail = { from: audited.epoch, entries: audited.position }
  yield* recordAudit({ siteId: null, action: 'log.begin_epoch', target: epoch, detail, context })
}

/** Rows of one INSERT; SQLite allows 32,766 values in a statement. */
const COPY_PAGE = 500

/**
 * Copies all entries into a new epoch. Throws a `LogCorrupted` when they do not match the log row.
 */
function* copyEntries(
  audited: LogState,
  epoch: string,
): Transaction<{ readonly heads: ReadonlyMap<string, Omit<LogHead, 'epoch'>>; readonly digest: string }> {
  const heads = new Map<string, { seq: number; hash: string; oldHash: string }>()
  let [position, oldDigest, digest] = [0, EMPTY_DIGEST, EMPTY_DIGEST]
  for (;;) {
    const page = yield* rows(
      'SELECT * FROM entries WHERE epoch = $1 AND position > $2 ORDER BY position LIMIT $3',
      audited.epoch,
      position,
      COPY_PAGE,
    )
    const copies: SqlValue[] = []
    for (const found of page) {
      position++
      const siteId = text(found, 'site_id')
      const head = heads.get(siteId) ?? { seq: 0, hash: GENESIS_HASH, oldHash: GENESIS_HASH }
      const seq = head.seq + 1
      const content = {
        seq,
        siteId,
        kind: text(found, 'kind'),
        bodyJson: text(found, 'body'),
        at: text(found, 'at'),
      }
      const oldHash = hashEntry({ ...content, epoch: audited.epoch, prevHash: head.oldHash })
      if (number(found, 'position') !== position || oldHash !== text(found, 'hash'))
        throw unreadableEntry(position)
      const hash = hashEntry({ ...content, epoch, prevHash: head.hash })
      copies.push(epoch, position, siteId, seq, content.kind, content.bodyJson, content.at, head.hash, hash)
      heads.set(siteId, { seq, hash, oldHash })
      oldDigest = nextDigest(oldDigest, oldHash)
      digest = nextDigest(digest, hash)
    }
    if (page.length > 0) yield* exec(toInsertion(page.length), ...copies)
    if (page.length < COPY_PAGE) break
  }
  if (position !== audited.position || oldDigest !== audited.digest) throw unreadableEntry(position)
  return { heads, digest }
}

function toInsertion(count: number): string {
  const row = (i: number) =>
    `(${Array.from({ length: 9 }, (_, column) => `$${i * 9 + column + 1}`).join(', ')})`
  const all = Array.from({ length: count }, (_, i) => row(i)).join(', ')
  return `INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash) VALUES ${all}`
}

/**
 * Copies a link from another copy of this store, if this service wrote it and the site exists here.
 */
export function* adoptLink(link: Row): Transaction<void> {
  if (!(yield* isIntact('epochs', link))) return
  if ((yield* row('SELECT 1 AS one FROM sites WHERE site_id = $1', text(link, 'site_id'))) === undefined)
    return
  const { site_id, epoch, previous_epoch, previous_seq, previous_hash, at } = link as Record<string, SqlValue>
  yield* insertNewRow('epochs', { site_id, epoch, previous_epoch, previous_seq, previous_hash, at } as Row)
}
