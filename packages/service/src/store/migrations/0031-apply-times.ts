import type { Migration } from './migration.ts'

/** How long verifiers took to acknowledge entries. */
export const applyTimes: Migration = {
  version: 31,
  common: [
    // \`slot\` is the hour of the entry. \`verifier_id\` is empty for verifiers without a name.
    `CREATE TABLE apply_times (
      site_id TEXT NOT NULL,
      slot BIGINT NOT NULL,
      verifier_id TEXT NOT NULL,
      bucket BIGINT NOT NULL,
      count BIGINT NOT NULL,
      ms_max BIGINT NOT NULL,
      PRIMARY KEY (site_id, slot, verifier_id, bucket)
    )`,
    'CREATE INDEX apply_times_by_slot ON apply_times (slot)',
  ],
  sqlite: [],
  postgres: [],
}
