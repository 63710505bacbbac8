import type { Migration } from './migration.ts'

/** Finds the credentials of an issuer, or of one of its keys. */
export const issuerKeys: Migration = {
  version: 28,
  common: [
    // The verificationMethod that signed the root; null for credentials that were seen earlier.
    `ALTER TABLE credentials ADD COLUMN issuer_key TEXT`,
    `CREATE INDEX credentials_of_issuer ON credentials (site_id, issuer, status, known_at, credential_id)`,
    `CREATE INDEX credentials_of_issuer_key ON credentials (site_id, issuer_key, status, known_at, credential_id)`,
  ],
  sqlite: [],
  postgres: [],
}
