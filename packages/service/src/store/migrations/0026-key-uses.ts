import type { Migration } from './migration.ts'

/** Who created an API key and when it was last used, and how the nodes are. */
export const keyUses: Migration = {
  version: 26,
  common: [
    'ALTER TABLE api_keys ADD COLUMN created_by TEXT',
    // Not a column of `api_keys`: it changes often and decides nothing, and the rows there carry
    // a MAC and are read for every request.
    'CREATE TABLE api_key_uses (key_id TEXT PRIMARY KEY, used_at BIGINT NOT NULL)',
    `CREATE TABLE nodes (
      node_id TEXT PRIMARY KEY,
      version TEXT NOT NULL,
      started_at BIGINT NOT NULL,
      reported_at BIGINT NOT NULL,
      epoch TEXT NOT NULL,
      position BIGINT NOT NULL,
      view_age_ms BIGINT,
      streams BIGINT NOT NULL,
      clock_difference_ms BIGINT NOT NULL,
      ready BIGINT NOT NULL
    )`,
  ],
  sqlite: [],
  postgres: [],
}
