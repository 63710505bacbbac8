import type { Migration } from './migration.ts'

/** Signals of identity providers that were acknowledged, so that none has its effect twice. */
export const signals: Migration = {
  version: 15,
  common: [
    // \`issuer\` is that of the sender. \`outcome\` is what the first answer acknowledged.
    `CREATE TABLE signals (
      site_id TEXT NOT NULL,
      issuer TEXT NOT NULL,
      jti TEXT NOT NULL,
      type TEXT NOT NULL,
      body_sha256 TEXT NOT NULL,
      outcome TEXT NOT NULL,
      received_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      mac TEXT,
      PRIMARY KEY (site_id, issuer, jti)
    )`,
    `CREATE INDEX signals_expire ON signals (expires_at)`,
  ],
  sqlite: [],
  postgres: [],
}
