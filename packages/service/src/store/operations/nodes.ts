import { number, optionalNumber, text } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, type Row, read, row, rows, type Transaction } from '../transaction.ts'

/** What a node reports about itself every ten seconds. Kept for an hour after the last report. */
export interface NodeReport {
  readonly nodeId: string
  readonly version: string
  readonly startedAtMs: number
  readonly reportedAtMs: number
  readonly epoch: string
  /** Up to which entry it has applied the log of all sites. */
  readonly position: number
  /** Undefined while it has no view. */
  readonly viewAgeMs: number | undefined
  readonly streams: number
  /** Its clock minus that of the store. */
  readonly clockDifferenceMs: number
  readonly isReady: boolean
}

/**
 * Writes the row of a node. `isOnly`: the store has one process at a time, so all other rows are of
 * earlier ones, and are removed.
 */
export function* reportNode(report: NodeReport, isOnly: boolean): Transaction<void> {
  if (isOnly) yield* exec('DELETE FROM nodes WHERE node_id <> $1', report.nodeId)
  yield* exec(
    `INSERT INTO nodes (node_id, version, started_at, reported_at, epoch, position, view_age_ms, streams, clock_difference_ms, ready)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (node_id) DO UPDATE SET reported_at = excluded.reported_at, epoch = excluded.epoch, position = excluded.position,
       view_age_ms = excluded.view_age_ms, streams = excluded.streams, clock_difference_ms = excluded.clock_difference_ms, ready = excluded.ready`,
    report.nodeId,
    report.version,
    report.startedAtMs,
    report.reportedAtMs,
    report.epoch,
    report.position,
    report.viewAgeMs ?? null,
    report.streams,
    report.clockDifferenceMs,
    report.isReady ? 1 : 0,
  )
}

/** The node has ended. */
export function* endNode(nodeId: string): Transaction<void> {
  yield* exec('DELETE FROM nodes WHERE node_id = $1', nodeId)
}

/** By id. */
export const nodes = read(function* ({ after, limit }: Page): Transaction<readonly NodeReport[]> {
  const found = yield* rows(
    'SELECT * FROM nodes WHERE node_id > $1 ORDER BY node_id LIMIT $2',
    after ?? '',
    limit,
  )
  return found.map(toReport)
})

/** The time of the machine that has the store, in milliseconds. */
export const storeTime = read(function* (kind: 'sqlite' | 'postgres'): Transaction<number> {
  const found = yield* row(
    kind === 'postgres'
      ? 'SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS ms'
      : `SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS ms`,
  )
  if (found === undefined) throw new Error('the store has no time')
  return number(found, 'ms')
})

function toReport(found: Row): NodeReport {
  return {
    nodeId: text(found, 'node_id'),
    version: text(found, 'version'),
    startedAtMs: number(found, 'started_at'),
    reportedAtMs: number(found, 'reported_at'),
    epoch: text(found, 'epoch'),
    position: number(found, 'position'),
    viewAgeMs: optionalNumber(found, 'view_age_ms'),
    streams: number(found, 'streams'),
    clockDifferenceMs: number(found, 'clock_difference_ms'),
    isReady: number(found, 'ready') === 1,
  }
}
