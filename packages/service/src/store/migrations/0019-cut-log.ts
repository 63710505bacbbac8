import type { Migration } from './migration.ts'

/** What removing old entries and revocations needs. */
export const cutLog: Migration = {
  version: 19,
  common: [
    // When a node last took the turn for a job that only one node does.
    `CREATE TABLE job_turns (
      job TEXT PRIMARY KEY,
      at BIGINT NOT NULL
    )`,
    // Find the rows that can no longer matter.
    'CREATE INDEX credential_revocations_by_time ON credential_revocations (at)',
    'CREATE INDEX users_reinstated ON users (cutoff) WHERE revoked = 0',
  ],
  sqlite: [],
  postgres: [],
}
