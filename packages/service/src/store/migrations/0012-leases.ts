import type { Migration } from './migration.ts'

/**
 * Which verifier instances may accept with the revocation data that they have, and for how long.
 * Receipts are computed from these rows.
 */
export const leases: Migration = {
  version: 12,
  common: [
    // \`node_id\` and \`stream_id\` are empty while the instance has no stream. \`served_at\`: when
    // it was last given a signed head, while it has none. \`acks\` are the last acknowledgements,
    // oldest first: pairs of seq and when it came.
    `CREATE TABLE leases (
      site_id TEXT NOT NULL,
      key_id TEXT NOT NULL,
      instance_id TEXT NOT NULL,
      verifier_id TEXT NOT NULL,
      named BIGINT NOT NULL,
      bound_ms BIGINT NOT NULL,
      fails_open BIGINT NOT NULL,
      opened_at BIGINT NOT NULL,
      node_id TEXT NOT NULL,
      stream_id TEXT NOT NULL,
      connected_at BIGINT NOT NULL,
      served_at BIGINT NOT NULL,
      epoch TEXT NOT NULL,
      seq BIGINT NOT NULL,
      acks TEXT NOT NULL,
      heard_at BIGINT NOT NULL,
      closed_at BIGINT,
      PRIMARY KEY (site_id, key_id, instance_id)
    )`,
    `CREATE INDEX leases_of_key ON leases (key_id, served_at)`,
    `CREATE INDEX leases_of_node ON leases (node_id)`,
    // Until when readers that hold no lease may have been given signed heads of a site.
    `CREATE TABLE head_readers (
      site_id TEXT PRIMARY KEY,
      until BIGINT NOT NULL
    )`,
    // By when the log had been committed up to a position.
    `CREATE TABLE log_times (
      epoch TEXT NOT NULL,
      position BIGINT NOT NULL,
      at BIGINT NOT NULL,
      PRIMARY KEY (epoch, position)
    )`,
    // A node decides too: for at most \`view_age_ms\` after it has read the log. \`marks\` are the
    // last positions that it has applied, with their times.
    `ALTER TABLE feed_nodes ADD COLUMN view_age_ms BIGINT NOT NULL DEFAULT 0`,
    `ALTER TABLE feed_nodes ADD COLUMN epoch TEXT NOT NULL DEFAULT ''`,
    `ALTER TABLE feed_nodes ADD COLUMN marks TEXT NOT NULL DEFAULT '[]'`,
    // Signed heads of a site are valid for so long. After the setting was lowered by the entry
    // \`staleness_lowered_seq\`, older heads were valid longer.
    `ALTER TABLE sites ADD COLUMN max_staleness_seconds_max BIGINT NOT NULL DEFAULT 60`,
    `ALTER TABLE sites ADD COLUMN staleness_before_seconds BIGINT NOT NULL DEFAULT 0`,
    `ALTER TABLE sites ADD COLUMN staleness_lowered_seq BIGINT NOT NULL DEFAULT 0`,
  ],
  sqlite: [],
  postgres: [],
}
