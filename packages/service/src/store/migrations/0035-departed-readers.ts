import type { Migration } from './migration.ts'

/** Readers without a lease that disconnected lately, and receipts that are due, by site. */
export const departedReaders: Migration = {
  version: 35,
  common: [
    // They may have a signed head from before they left, so receipts of that time name them.
    `CREATE TABLE departed_readers (
      stream_id TEXT PRIMARY KEY,
      site_id TEXT NOT NULL,
      key_id TEXT NOT NULL,
      verifier_id TEXT NOT NULL,
      connected_at BIGINT NOT NULL,
      ended_at BIGINT NOT NULL,
      epoch TEXT NOT NULL,
      seq BIGINT NOT NULL,
      acks TEXT NOT NULL
    )`,
    'CREATE INDEX departed_readers_by_key ON departed_readers (site_id, key_id, ended_at)',
    'CREATE INDEX departed_readers_by_time ON departed_readers (ended_at)',
    'DROP INDEX receipts_due',
    'CREATE INDEX receipts_due_by_site ON receipts (site_id, due_at) WHERE due_at IS NOT NULL',
  ],
  sqlite: [],
  postgres: [],
}
