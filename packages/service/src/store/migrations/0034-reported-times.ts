import type { Migration } from './migration.ts'

/** When entries took effect in verifiers, by their own reports. */
export const reportedTimes: Migration = {
  version: 34,
  common: [
    // Pairs of seq and time, oldest first, like \`acks\`: all entries up to seq were applied then,
    // and what the entry seq revoked was first denied then.
    `ALTER TABLE leases ADD COLUMN applied TEXT NOT NULL DEFAULT '[]'`,
    `ALTER TABLE leases ADD COLUMN denied TEXT NOT NULL DEFAULT '[]'`,
    // \`measure\` is applied or acknowledged: what the verifier reported, or when its
    // acknowledgement came.
    'ALTER TABLE apply_times RENAME TO apply_times_before',
    'DROP INDEX apply_times_by_slot',
    `CREATE TABLE apply_times (
      site_id TEXT NOT NULL,
      slot BIGINT NOT NULL,
      verifier_id TEXT NOT NULL,
      measure TEXT NOT NULL,
      bucket BIGINT NOT NULL,
      count BIGINT NOT NULL,
      ms_max BIGINT NOT NULL,
      PRIMARY KEY (site_id, slot, verifier_id, measure, bucket)
    )`,
    `INSERT INTO apply_times (site_id, slot, verifier_id, measure, bucket, count, ms_max)
     SELECT site_id, slot, verifier_id, 'acknowledged', bucket, count, ms_max FROM apply_times_before`,
    'DROP TABLE apply_times_before',
    'CREATE INDEX apply_times_by_slot ON apply_times (slot)',
  ],
  sqlite: [],
  postgres: [],
}
