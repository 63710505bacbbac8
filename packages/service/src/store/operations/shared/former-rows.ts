import { countChanged, exec, type Transaction } from '../../transaction.ts'

/** Receipts state early instants for entries of the last day. */
const LEASES_KEPT_MS = 86_400_000
const MOVED_ROWS_MAX = 2000

const COLUMNS = [
  'site_id',
  'key_id',
  'instance_id',
  'verifier_id',
  'named',
  'bound_ms',
  'fails_open',
  'opened_at',
  'connected_at',
  'served_at',
  'epoch',
  'seq',
  'heard_at',
  'closed_at',
  'version',
  'last_node_id',
  'retired',
].join(', ')

const ENDED = `(SELECT site_id, key_id, instance_id FROM leases
  WHERE node_id = '' AND (fails_open = 0 OR closed_at IS NOT NULL) AND served_at + bound_ms + ${LEASES_KEPT_MS} <= $1
  ORDER BY site_id, key_id, instance_id LIMIT $2)`

/**
 * Moves leases that receipts no longer need to the former verifiers. True: there may be more. One
 * that is renewed meanwhile stays, and lists show it once.
 */
export function* moveEndedLeases(nowMs: number): Transaction<boolean> {
  yield* exec(
    `INSERT INTO former_verifiers (${COLUMNS}, state)
     SELECT ${COLUMNS}, CASE WHEN closed_at IS NULL THEN 'gone' ELSE 'retired' END FROM leases
     WHERE (site_id, key_id, instance_id) IN ${ENDED} ON CONFLICT (site_id, key_id, instance_id) DO NOTHING`,
    nowMs,
    MOVED_ROWS_MAX,
  )
  const moved = yield* countChanged(
    `DELETE FROM leases WHERE (site_id, key_id, instance_id) IN ${ENDED}`,
    nowMs,
    MOVED_ROWS_MAX,
  )
  return moved === MOVED_ROWS_MAX
}
