import type { Migration } from './migration.ts'

/** Webhooks, and what was or is to be sent to each of them. */
export const webhooks: Migration = {
  version: 3,
  common: [
    // `cursor_seq` is how far the log of the site has been made into deliveries, and `waiting` how
    // many of those have not ended. `due_at` is when there will be something to send. The sender
    // holds the lease. A deleted one stays, empty, until its deliveries have been purged.
    `CREATE TABLE webhooks (
      webhook_id TEXT PRIMARY KEY,
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      url TEXT NOT NULL,
      kinds TEXT,
      secrets TEXT NOT NULL,
      status TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      deleted_at BIGINT,
      cursor_seq BIGINT NOT NULL,
      waiting BIGINT NOT NULL,
      due_at BIGINT,
      failing_since BIGINT,
      turn_at BIGINT NOT NULL,
      lease_owner TEXT,
      lease_until BIGINT
    )`,
    `CREATE INDEX webhooks_of_site ON webhooks (site_id, webhook_id)`,
    // What is sent is in the log, under the same epoch and number. `replayed` ones were asked
    // for by hand and keep no other waiting.
    `CREATE TABLE deliveries (
      delivery_id TEXT PRIMARY KEY,
      webhook_id TEXT NOT NULL,
      site_id TEXT NOT NULL,
      epoch TEXT NOT NULL,
      seq BIGINT NOT NULL,
      kind TEXT NOT NULL,
      status TEXT NOT NULL,
      replayed BIGINT NOT NULL,
      attempts BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      next_attempt_at BIGINT NOT NULL,
      delivered_at BIGINT,
      last_status BIGINT,
      UNIQUE (webhook_id, seq)
    )`,
    `CREATE INDEX deliveries_pending ON deliveries (webhook_id, replayed, seq) WHERE status = 'pending'`,
    `CREATE INDEX deliveries_replayed ON deliveries (webhook_id, next_attempt_at, seq) WHERE status = 'pending' AND replayed = 1`,
    `CREATE INDEX deliveries_failed ON deliveries (created_at) WHERE status = 'failed'`,
    `CREATE INDEX deliveries_by_age ON deliveries (created_at)`,
  ],
  sqlite: [],
  postgres: [],
}
