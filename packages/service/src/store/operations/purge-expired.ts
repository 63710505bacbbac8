import { text } from '../columns.ts'
import { countChanged, exec, rows, type Transaction } from '../transaction.ts'
import { moveEndedLeases } from './shared/former-rows.ts'

/** Rows of each kind that one transaction removes, so that it does not block others for long. */
const PURGED_ROWS_MAX = 2000
/** As in the contract, which the writer thread does not load. */
const DELIVERIES_KEPT_MS = 30 * 86_400_000

/**
 * Users who come too late are shown the way back to the site. Only for sign-ins that a browser has
 * opened: others are removed immediately.
 */
const SIGN_INS_KEPT_MS = 3_600_000
/** A vanished node may still decide for a short time, so receipts include it; lists show it. */
const NODES_KEPT_MS = 3_600_000
/** Receipts state early instants for entries of the last day. */
const LEASES_KEPT_MS = 86_400_000
/** Counts of decisions, by minute and by hour. */
const MINUTES_KEPT_MS = 86_400_000
const HOURS_KEPT_MS = 30 * 86_400_000
/** The roster of a site. */
const VERIFIERS_KEPT_MS = 30 * 86_400_000

/** After a person was ended, so that lists and the audit still say who it was. */
const PEOPLE_KEPT_MS = 396 * 86_400_000

/** Statistics are shown for up to 30 days. */
const APPLY_TIMES_KEPT_MS = 31 * 86_400_000

/** A document that an issuer names is fetched every few minutes. */
const SOURCES_KEPT_MS = 30 * 86_400_000

/** Receipts name readers that left after their entry until no guard can accept any longer. */
const DEPARTED_KEPT_MS = 3_600_000

/** How many rows were removed, by table, and whether there may be more. */
export interface Purged {
  readonly removed: Readonly<Record<string, number>>
  readonly hasMore: boolean
}

/** In which table, and with which statement: `$1` is the time, `$2` the maximum number of rows. */
type Removal = readonly [table: string, statement: string]

// Without the order, PostgreSQL expects to find some soon, and reads all rows instead.
const byEnd = (table: string, name: string): Removal => [
  table,
  `DELETE FROM ${table} WHERE (${name}) IN (SELECT ${name} FROM ${table} WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`,
]

const REMOVALS: readonly Removal[] = [
  byEnd('tokens', 'sha256'),
  byEnd('used_once', 'kind, sha256'),
  [
    'sign_ins',
    `DELETE FROM sign_ins WHERE state_sha256 IN
       (SELECT state_sha256 FROM sign_ins WHERE expires_at <= $1 AND (browser_sha256 IS NULL OR expires_at <= $1 - ${SIGN_INS_KEPT_MS}) ORDER BY expires_at LIMIT $2)`,
  ],
  byEnd('sign_in_presentations', 'payload_sha256'),
  byEnd('offers', 'sha256'),
  byEnd('console_links', 'sha256'),
  byEnd('console_sessions', 'sha256'),
  byEnd('provider_logouts', 'issuer, jti'),
  // A person of the identity provider would be added again at the next sign-in, so they stay ended.
  [
    'people',
    `DELETE FROM people WHERE person_id IN
       (SELECT p.person_id FROM people p WHERE p.status = 'ended' AND p.ended_at IS NOT NULL AND p.ended_at <= $1 - ${PEOPLE_KEPT_MS}
          AND NOT EXISTS (SELECT 1 FROM person_identities i WHERE i.person_id = p.person_id) LIMIT $2)`,
  ],
  byEnd('signals', 'site_id, issuer, jti'),
  byEnd('idempotency_keys', 'owner, sha256'),
  [
    'deliveries',
    `DELETE FROM deliveries WHERE delivery_id IN
       (SELECT delivery_id FROM deliveries WHERE created_at <= $1 - ${DELIVERIES_KEPT_MS} AND status <> 'pending' ORDER BY created_at LIMIT $2)`,
  ],
  // With a plain JOIN, SQLite reads all deliveries to find those of deleted webhooks.
  [
    'deliveries',
    `DELETE FROM deliveries WHERE delivery_id IN (SELECT d.delivery_id FROM webhooks w CROSS JOIN deliveries d
       WHERE w.deleted_at <= $1 AND d.webhook_id = w.webhook_id LIMIT $2)`,
  ],
  [
    'webhooks',
    `DELETE FROM webhooks WHERE webhook_id IN (SELECT w.webhook_id FROM webhooks w WHERE w.deleted_at <= $1
       AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.webhook_id) LIMIT $2)`,
  ],
  [
    'feed_streams',
    `DELETE FROM feed_streams WHERE stream_id IN (SELECT f.stream_id FROM feed_streams f WHERE NOT EXISTS
       (SELECT 1 FROM feed_nodes n WHERE n.node_id = f.node_id AND n.expires_at > $1) LIMIT $2)`,
  ],
  [
    'departed_readers',
    `DELETE FROM departed_readers WHERE stream_id IN (SELECT stream_id FROM departed_readers WHERE ended_at <= CAST($1 AS BIGINT) - ${DEPARTED_KEPT_MS} LIMIT $2)`,
  ],
  [
    'feed_nodes',
    `DELETE FROM feed_nodes WHERE node_id IN (SELECT node_id FROM feed_nodes WHERE expires_at + ${NODES_KEPT_MS} <= $1 LIMIT $2)`,
  ],
  [
    'nodes',
    `DELETE FROM nodes WHERE node_id IN (SELECT node_id FROM nodes WHERE reported_at + ${NODES_KEPT_MS} <= $1 LIMIT $2)`,
  ],
  [
    'verdict_tallies',
    `DELETE FROM verdict_tallies WHERE (site_id, span_ms, at, verifier_id, presented, outcome) IN
       (SELECT site_id, span_ms, at, verifier_id, presented, outcome FROM verdict_tallies WHERE span_ms = 60000 AND at <= CAST($1 AS BIGINT) - ${MINUTES_KEPT_MS} LIMIT $2)`,
  ],
  [
    'verdict_tallies',
    `DELETE FROM verdict_tallies WHERE (site_id, span_ms, at, verifier_id, presented, outcome) IN
       (SELECT site_id, span_ms, at, verifier_id, presented, outcome FROM verdict_tallies WHERE span_ms = 3600000 AND at <= $1 - ${HOURS_KEPT_MS} LIMIT $2)`,
  ],
  [
    'former_verifiers',
    `DELETE FROM former_verifiers WHERE (site_id, key_id, instance_id) IN (SELECT site_id, key_id, instance_id FROM former_verifiers
       WHERE served_at <= $1 - ${VERIFIERS_KEPT_MS} LIMIT $2)`,
  ],
  [
    'head_readers',
    `DELETE FROM head_readers WHERE site_id IN (SELECT site_id FROM head_readers WHERE until + ${LEASES_KEPT_MS * 2} <= $1 LIMIT $2)`,
  ],
  [
    'log_times',
    `DELETE FROM log_times WHERE (epoch, position) IN (SELECT t.epoch, t.position FROM log_times t WHERE t.at + ${LEASES_KEPT_MS * 2} <= $1
       AND (EXISTS (SELECT 1 FROM log_times o WHERE o.epoch = t.epoch AND o.position > t.position)
         OR NOT EXISTS (SELECT 1 FROM log WHERE log.epoch = t.epoch)) LIMIT $2)`,
  ],
  [
    'apply_times',
    `DELETE FROM apply_times WHERE (site_id, slot, verifier_id, bucket) IN
       (SELECT site_id, slot, verifier_id, bucket FROM apply_times WHERE slot <= $1 - ${APPLY_TIMES_KEPT_MS} LIMIT $2)`,
  ],
  [
    'key_sources',
    `DELETE FROM key_sources WHERE source IN (SELECT source FROM key_sources WHERE claimed_at + ${SOURCES_KEPT_MS} <= $1 LIMIT $2)`,
  ],
]

/**
 * Removes a batch of expired rows: tokens, sign-ins, offers, used-once names, idempotency keys,
 * links and sessions of the console, people who were ended long ago, signals, old deliveries,
 * streams of vanished nodes, sources of keys that no issuer names. Never anything of the log.
 */
export function* purgeExpired(nowMs: number): Transaction<Purged> {
  // Before their node is removed, records until when it may have given them signed heads.
  yield* rows(
    `UPDATE leases SET served_at = (SELECT n.expires_at FROM feed_nodes n WHERE n.node_id = leases.node_id), node_id = '', stream_id = ''
     WHERE node_id IN (SELECT node_id FROM feed_nodes WHERE expires_at + ${NODES_KEPT_MS} <= $1)`,
    nowMs,
  )
  const removed: Record<string, number> = {}
  let hasMore = yield* moveEndedLeases(nowMs)
  for (const [table, statement] of REMOVALS) {
    const gone = yield* countChanged(statement, nowMs, PURGED_ROWS_MAX)
    if (gone > 0) removed[table] = (removed[table] ?? 0) + gone
    if (gone === PURGED_ROWS_MAX) hasMore = true
  }
  return { removed, hasMore }
}

/**
 * Removes the credentials that expired longest ago, up to `beforeMs` and at most `limit`, with
 * their links. Returns how many. Revocations of credentials are other rows, and stay.
 */
export function* purgeCredentials(beforeMs: number, limit: number): Transaction<number> {
  const gone = yield* rows(
    `DELETE FROM credentials WHERE (site_id, credential_id) IN
       (SELECT site_id, credential_id FROM credentials WHERE valid_until <= $1 ORDER BY valid_until LIMIT $2)
     RETURNING site_id, credential_id`,
    beforeMs,
    limit,
  )
  for (const credential of gone) {
    yield* exec(
      'DELETE FROM credential_links WHERE site_id = $1 AND credential_id = $2',
      text(credential, 'site_id'),
      text(credential, 'credential_id'),
    )
  }
  return gone.length
}
