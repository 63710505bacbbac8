import type { Migration } from './migration.ts'

/** What the removal of old rows needs. */
export const retention: Migration = {
  version: 18,
  common: [
    // Finds expired credentials without reading the others.
    `CREATE INDEX credentials_by_end ON credentials (valid_until, site_id, credential_id)`,
    // The last archive of audit rows: its number, what its last line states, and whether its rows
    // have been removed. One owner at a time archives.
    `CREATE TABLE audit_archive (
      one BIGINT PRIMARY KEY CHECK (one = 1),
      number BIGINT NOT NULL,
      sha256 TEXT NOT NULL,
      removed BIGINT NOT NULL,
      claimed_by TEXT NOT NULL,
      claimed_at BIGINT NOT NULL
    )`,
    `INSERT INTO audit_archive (one, number, sha256, removed, claimed_by, claimed_at)
      VALUES (1, 0, '${'0'.repeat(64)}', 1, '', 0)`,
  ],
  sqlite: [],
  postgres: [],
}
