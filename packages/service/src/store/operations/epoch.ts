import type { LogHead } from '@countersign/core'
import type { CheckpointSite } from '../checkpoint.ts'
import { digestSite, digestSites } from '../checkpoint-digests.ts'
import { number, text, toSiteId } from '../columns.ts'
import { EMPTY_DIGEST } from '../log-digest.ts'
import { macTables } from '../mac-tables.ts'
import { lock, type Row, read, row, rows, type SqlValue, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { checkpoint, replaceCheckpoint } from './checkpoints.ts'
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

/** A log that was audited, with a checkpoint at its end. */
export interface AuditedEnd {
  readonly state: LogState
  /** All sites of the checkpoint, with their heads as their bases. */
  readonly sites: readonly CheckpointSite[]
  /** The digest of the checkpoint over its sites, as they were. */
  readonly sitesSha256: string | undefined
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
 * Begins a new epoch at the end of the log. Nothing is copied: the log goes on with the next
 * numbers, the first entry of each site continues the hash of its head, and the checkpoint, which
 * must be at the end of the log, becomes its base. Entries of the old epoch stay until they are
 * removed. Each site gets a link that names the head which its new epoch continues. Does nothing
 * when the log or the checkpoint is no longer as it was audited, because another node was faster.
 * `continued` names the heads of a replaced store, from which its verifiers continue. Throws when a
 * row is forged.
 */
export function* beginEpoch(
  epoch: string,
  lineage: string,
  { state, sites, sitesSha256 }: AuditedEnd,
  context: AuditContext,
  continued: ReadonlyMap<string, LogHead> = new Map(),
): Transaction<void> {
  // Other nodes that start at the same time write a checkpoint, too.
  yield* lock('checkpoint', 'log')
  // Blocks every append, here and on other nodes, until the end of the transaction.
  const log = yield* row('UPDATE log SET position = position WHERE one = 1 RETURNING *')
  if (log === undefined || JSON.stringify(toState(log)) !== JSON.stringify(state)) return
  yield* requireIntact('log', log)
  const before = yield* checkpoint()
  if (before?.epoch !== state.epoch || before.position !== state.position) return
  if (before.sitesSha256 !== sitesSha256) return
  const heads = yield* rows('SELECT h.*, log.epoch FROM heads h, log WHERE log.one = 1')
  for (const head of heads) {
    yield* requireIntact('heads', head)
    const site_id = text(head, 'site_id')
    const previous = continued.get(site_id) ?? {
      epoch: state.epoch,
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
    yield* updateRow('heads', { ...head, epoch }, {})
  }
  // Leases may have been lost, so receipts state no early instants until all earlier heads have
  // expired.
  yield* recordHeadReaders(heads.map(toSiteId), context.atMs)
  yield* updateRow('log', log, { epoch, lineage })
  const next = {
    ...before,
    epoch,
    basePosition: before.position,
    baseDigest: before.digest,
    sitesSha256: digestSites(new Map(sites.map((site) => [site.siteId, digestSite(site)]))),
  }
  if (!(yield* replaceCheckpoint(before, next, { sites })))
    throw new Error('the pages of the checkpoint are not those that it names: run countersign audit-log')
  const detail = { from: state.epoch, entries: state.position }
  yield* recordAudit({ siteId: null, action: 'log.begin_epoch', target: epoch, detail, context })
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
