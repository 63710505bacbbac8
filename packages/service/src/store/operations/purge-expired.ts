import { rows, type Transaction } from '../transaction.ts'

/** Rows of each kind that one transaction removes, so that it does not block others for long. */
const PURGED_ROWS_MAX = 2000
/** As in the contract, which the writer thread does not load. */
const DELIVERIES_KEPT_MS = 30 * 86_400_000

/**
 * Users who come too late are shown the way back to the site. Only for sign-ins that a browser has
 * opened: others are removed immediately.
 */
const SIGN_INS_KEPT_MS = 3_600_000
/** A vanished node may still decide for a short time, so receipts include it. */
const NODES_KEPT_MS = 3_600_000
/** Receipts state early instants for entries of the last day. */
const LEASES_KEPT_MS = 86_400_000

/**
 * Removes a batch of expired rows: tokens, sign-ins, offers, used-once names, idempotency keys,
 * signals, old deliveries, streams of vanished nodes. Never anything of the log. True when there
 * may be more.
 */
export function* purgeExpired(nowMs: number): Transaction<boolean> {
  const statements = [
    'DELETE FROM tokens WHERE sha256 IN (SELECT sha256 FROM tokens WHERE expires_at <= $1 LIMIT $2) RETURNING 1 AS one',
    'DELETE FROM used_once WHERE (kind, sha256) IN (SELECT kind, sha256 FROM used_once WHERE expires_at <= $1 LIMIT $2) RETURNING 1 AS one',
    `DELETE FROM sign_ins WHERE state_sha256 IN
       (SELECT state_sha256 FROM sign_ins WHERE expires_at <= $1 AND (browser_sha256 IS NULL OR expires_at <= $1 - ${SIGN_INS_KEPT_MS}) LIMIT $2) RETURNING 1 AS one`,
    ...[
      ['sign_in_presentations', 'payload_sha256'],
      ['offers', 'sha256'],
    ].map(
      ([table, name]) =>
        `DELETE FROM ${table} WHERE ${name} IN (SELECT ${name} FROM ${table} WHERE expires_at <= $1 LIMIT $2) RETURNING 1 AS one`,
    ),
    'DELETE FROM signals WHERE (site_id, issuer, jti) IN (SELECT site_id, issuer, jti FROM signals WHERE expires_at <= $1 LIMIT $2) RETURNING 1 AS one',
    'DELETE FROM idempotency_keys WHERE (owner, sha256) IN (SELECT owner, sha256 FROM idempotency_keys WHERE expires_at <= $1 LIMIT $2) RETURNING 1 AS one',
    `DELETE FROM deliveries WHERE delivery_id IN
       (SELECT delivery_id FROM deliveries WHERE created_at <= $1 - ${DELIVERIES_KEPT_MS} AND status <> 'pending' LIMIT $2) RETURNING 1 AS one`,
    `DELETE FROM deliveries WHERE delivery_id IN (SELECT d.delivery_id FROM webhooks w JOIN deliveries d ON d.webhook_id = w.webhook_id
       WHERE w.deleted_at <= $1 LIMIT $2) RETURNING 1 AS one`,
    `DELETE FROM webhooks WHERE webhook_id IN (SELECT w.webhook_id FROM webhooks w WHERE w.deleted_at <= $1
       AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.webhook_id) LIMIT $2) RETURNING 1 AS one`,
    `DELETE FROM feed_streams WHERE stream_id IN (SELECT f.stream_id FROM feed_streams f WHERE NOT EXISTS
       (SELECT 1 FROM feed_nodes n WHERE n.node_id = f.node_id AND n.expires_at > $1) LIMIT $2) RETURNING 1 AS one`,
    `DELETE FROM feed_nodes WHERE node_id IN (SELECT node_id FROM feed_nodes WHERE expires_at + ${NODES_KEPT_MS} <= $1 LIMIT $2) RETURNING 1 AS one`,
    `DELETE FROM leases WHERE (site_id, key_id, instance_id) IN (SELECT site_id, key_id, instance_id FROM leases
       WHERE node_id = '' AND (fails_open = 0 OR closed_at IS NOT NULL) AND served_at + bound_ms + ${LEASES_KEPT_MS} <= $1 LIMIT $2) RETURNING 1 AS one`,
    `DELETE FROM head_readers WHERE site_id IN (SELECT site_id FROM head_readers WHERE until + ${LEASES_KEPT_MS * 2} <= $1 LIMIT $2) RETURNING 1 AS one`,
    `DELETE FROM log_times WHERE (epoch, position) IN (SELECT t.epoch, t.position FROM log_times t WHERE t.at + ${LEASES_KEPT_MS * 2} <= $1
       AND EXISTS (SELECT 1 FROM log_times o WHERE o.epoch = t.epoch AND o.position > t.position) LIMIT $2) RETURNING 1 AS one`,
  ]
  // Before their node is removed, records until when it may have given them signed heads.
  yield* rows(
    `UPDATE leases SET served_at = (SELECT n.expires_at FROM feed_nodes n WHERE n.node_id = leases.node_id), node_id = '', stream_id = ''
     WHERE node_id IN (SELECT node_id FROM feed_nodes WHERE expires_at + ${NODES_KEPT_MS} <= $1)`,
    nowMs,
  )
  let more = false
  for (const statement of statements) {
    const gone = yield* rows(statement, nowMs, PURGED_ROWS_MAX)
    if (gone.length === PURGED_ROWS_MAX) more = true
  }
  return more
}
