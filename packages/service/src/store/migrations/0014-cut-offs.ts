import type { Migration } from './migration.ts'

/** Entries that state a row of `sites` or `issuers`. */
export const KIND_STATES_ROW = `kind IN ('site.changed', 'issuer.trusted', 'oauth_issuer.trusted', 'issuer.distrusted', 'key.compromised', 'key.retired')`

/**
 * Sites can reject delegated credentials and trust OAuth issuers. The MACs of earlier rows do not
 * cover the new columns, so their key is removed: a store that has rows is then rejected with a
 * clear message.
 */
export const cutOffs: Migration = {
  version: 14,
  common: [
    `ALTER TABLE sites ADD COLUMN delegation TEXT NOT NULL DEFAULT 'on'`,
    `ALTER TABLE issuers ADD COLUMN issuer_id TEXT NOT NULL DEFAULT ''`,
    // Null for an issuer of credentials.
    `ALTER TABLE issuers ADD COLUMN oauth TEXT`,
    // When an administrator has set or ordered the keys.
    `ALTER TABLE issuers ADD COLUMN keys_at BIGINT`,
    // The documents that keys are fetched from, for all sites together.
    `CREATE TABLE key_sources (
      source TEXT PRIMARY KEY,
      claimed_at BIGINT NOT NULL,
      refreshed_at BIGINT,
      keys_sha256 TEXT,
      changes TEXT NOT NULL,
      mac TEXT
    )`,
    `CREATE INDEX issuers_by_id ON issuers (site_id, issuer_id)`,
    'DROP INDEX entries_that_state',
    `CREATE INDEX entries_that_state ON entries (epoch, site_id, seq) WHERE ${KIND_STATES_ROW}`,
    `DELETE FROM secrets WHERE name = 'mac-key'`,
  ],
  sqlite: [],
  postgres: [],
}
