import type { Migration } from './migration.ts'

/**
 * Which verifiers there were in the last 30 days. Receipts read the leases of the last day only.
 */
export const roster: Migration = {
  version: 27,
  common: [
    // \`version\`: of the software, as declared; empty if it did not say. \`last_node_id\`: the
    // node of its last stream. \`retired\`: 1 if an operator has closed the lease.
    `ALTER TABLE leases ADD COLUMN version TEXT NOT NULL DEFAULT ''`,
    `ALTER TABLE leases ADD COLUMN last_node_id TEXT NOT NULL DEFAULT ''`,
    `ALTER TABLE leases ADD COLUMN retired BIGINT NOT NULL DEFAULT 0`,
    // Leases that receipts no longer need. \`state\` is gone or retired.
    `CREATE TABLE former_verifiers (
      site_id TEXT NOT NULL,
      key_id TEXT NOT NULL,
      instance_id TEXT NOT NULL,
      verifier_id TEXT NOT NULL,
      state TEXT NOT NULL,
      named BIGINT NOT NULL,
      bound_ms BIGINT NOT NULL,
      fails_open BIGINT NOT NULL,
      opened_at BIGINT NOT NULL,
      connected_at BIGINT NOT NULL,
      served_at BIGINT NOT NULL,
      epoch TEXT NOT NULL,
      seq BIGINT NOT NULL,
      heard_at BIGINT NOT NULL,
      closed_at BIGINT,
      version TEXT NOT NULL,
      last_node_id TEXT NOT NULL,
      retired BIGINT NOT NULL,
      PRIMARY KEY (site_id, key_id, instance_id)
    )`,
    `CREATE INDEX former_verifiers_by_name ON former_verifiers (site_id, state, verifier_id, key_id, instance_id)`,
    `CREATE INDEX former_verifiers_by_instance ON former_verifiers (site_id, instance_id)`,
    `CREATE INDEX former_verifiers_by_time ON former_verifiers (served_at)`,
  ],
  sqlite: [],
  postgres: [],
}
