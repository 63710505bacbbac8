import type { Migration } from './migration.ts'

/** Receipts of entries, and drills. */
export const receipts: Migration = {
  version: 25,
  common: [
    // \`receipt\` is the signed receipt as JSON, and \`summary\` what lists show of it. \`due_at\`:
    // when it is written again; null when it is final. \`updates\` counts its versions.
    `CREATE TABLE receipts (
      site_id TEXT NOT NULL,
      seq BIGINT NOT NULL,
      epoch TEXT NOT NULL,
      at BIGINT NOT NULL,
      state TEXT NOT NULL,
      due_at BIGINT,
      updates BIGINT NOT NULL,
      summary TEXT NOT NULL,
      receipt TEXT NOT NULL,
      PRIMARY KEY (site_id, seq)
    )`,
    'CREATE INDEX receipts_by_state ON receipts (site_id, state, seq)',
    'CREATE INDEX receipts_open ON receipts (site_id, seq) WHERE due_at IS NOT NULL',
    'CREATE INDEX receipts_due ON receipts (due_at) WHERE due_at IS NOT NULL',
    'CREATE INDEX receipts_by_time ON receipts (at)',
    // All entries up to here have receipts, except those that were there before this table.
    `CREATE TABLE receipt_progress (
      one BIGINT PRIMARY KEY CHECK (one = 1),
      epoch TEXT NOT NULL,
      position BIGINT NOT NULL
    )`,
    'INSERT INTO receipt_progress (one, epoch, position) SELECT 1, epoch, position FROM log WHERE one = 1',
    // \`report\` is the signed report as JSON; null while the drill runs.
    `CREATE TABLE drills (
      site_id TEXT NOT NULL,
      drill_id TEXT NOT NULL,
      credential_id TEXT NOT NULL,
      epoch TEXT NOT NULL,
      seq BIGINT NOT NULL,
      started_at BIGINT NOT NULL,
      ended_at BIGINT,
      outcome TEXT,
      report TEXT,
      PRIMARY KEY (site_id, drill_id)
    )`,
    'CREATE INDEX drills_by_seq ON drills (site_id, seq)',
    'CREATE INDEX drills_running ON drills (site_id, started_at) WHERE ended_at IS NULL',
    'CREATE INDEX drills_by_time ON drills (started_at)',
  ],
  sqlite: [],
  postgres: [],
}
