import { GENESIS_HASH, type SiteId } from '@countersign/core'
import { number, text } from '../columns.ts'
import { copyLog, lock, type Program, row, rows } from '../program.ts'
import type { Act, EpochLink } from '../store.ts'
import { auditDone } from './audit.ts'

/** Where the log is, and which incarnation of the database wrote it. */
export interface LogState {
  readonly epoch: string
  readonly position: number
  readonly lineage: string
}

/** Undefined in a database that has never had a log. */
export function* logState(): Program<LogState | undefined> {
  const found = yield* row('SELECT epoch, position, lineage FROM log WHERE one = 1')
  return found && { epoch: text(found, 'epoch'), position: number(found, 'position'), lineage: text(found, 'lineage') }
}

/** Makes the log unless there is one. */
export function* beginLog(epoch: string, lineage: string): Program<void> {
  yield* rows('INSERT INTO log (one, epoch, position, lineage) VALUES (1, $1, 0, $2) ON CONFLICT (one) DO NOTHING', epoch, lineage)
}

/**
 * Begins a new epoch: the same entries in the same order with the same numbers, sealed anew. Those of the old epoch stay where they are, to be
 * looked at, and each site gets a link that names the head which its new epoch continues. Does nothing when the log is no longer in the state that was audited: then somebody else was faster.
 */
export function* beginEpoch(epoch: string, lineage: string, audited: LogState, act: Act): Program<void> {
  yield* lock('log')
  const state = yield* logState()
  if (state === undefined || state.epoch !== audited.epoch || state.position !== audited.position || state.lineage !== audited.lineage)
    return
  yield* rows(
    `INSERT INTO epochs (site_id, epoch, previous_epoch, previous_seq, previous_hash, at)
     SELECT site_id, $1, $2, seq, hash, CAST($3 AS BIGINT) FROM heads`,
    epoch,
    state.epoch,
    act.atMs,
  )
  yield* rows('UPDATE log SET epoch = $1, position = 0, lineage = $2 WHERE one = 1', epoch, lineage)
  yield* rows('UPDATE heads SET seq = 0, hash = $1', GENESIS_HASH)
  yield* copyLog(state.epoch, epoch)
  const detail = { from: state.epoch, entries: state.position }
  yield* auditDone({ siteId: null, action: 'log.begin_epoch', target: epoch, outcome: 'done', detail, act })
}

/** Walks back from the current epoch, so that the order does not depend on clocks. The bound ends the walk if links form a circle. */
export function* epochLinks(siteId: SiteId, limit: number): Program<readonly EpochLink[]> {
  const found = yield* rows(
    `WITH RECURSIVE links AS (
       SELECT e.*, CAST(1 AS BIGINT) AS back FROM epochs e JOIN log ON log.epoch = e.epoch WHERE log.one = 1 AND e.site_id = $1
       UNION ALL
       SELECT e.*, links.back + 1 FROM epochs e JOIN links ON e.epoch = links.previous_epoch WHERE e.site_id = $1 AND links.back < $2
     ) SELECT * FROM links ORDER BY back DESC`,
    siteId,
    limit,
  )
  return found.map((row) => ({
    epoch: text(row, 'epoch'),
    previous: { epoch: text(row, 'previous_epoch'), seq: number(row, 'previous_seq'), hash: text(row, 'previous_hash') },
    atMs: number(row, 'at'),
  }))
}
