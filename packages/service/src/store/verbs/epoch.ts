import { GENESIS_HASH } from '@countersign/core'
import { number, text } from '../columns.ts'
import { copyLog, lock, type Program, row, rows } from '../program.ts'
import type { Act } from '../store.ts'
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
 * looked at. Does nothing when the log is no longer in the state that was audited: then somebody else was faster.
 */
export function* beginEpoch(epoch: string, lineage: string, audited: LogState, act: Act): Program<void> {
  yield* lock('log')
  const state = yield* logState()
  if (state === undefined || state.epoch !== audited.epoch || state.position !== audited.position || state.lineage !== audited.lineage)
    return
  yield* rows('UPDATE log SET epoch = $1, position = 0, lineage = $2 WHERE one = 1', epoch, lineage)
  yield* rows('UPDATE heads SET seq = 0, hash = $1', GENESIS_HASH)
  yield* copyLog(state.epoch, epoch)
  const detail = { from: state.epoch, entries: state.position }
  yield* auditDone({ siteId: null, action: 'log.begin_epoch', target: epoch, outcome: 'done', detail, act })
}
