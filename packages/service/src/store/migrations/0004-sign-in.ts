import type { Migration } from './migration.ts'

/**
 * Hosted sign-in and offers. States, payloads, codes, browsers and offers are there as hashes only.
 */
export const signIn: Migration = {
  version: 4,
  common: [
    `CREATE TABLE sign_ins (
      state_sha256 TEXT PRIMARY KEY,
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      return_url TEXT NOT NULL,
      requested_scope TEXT,
      client_state_sealed TEXT,
      code_challenge TEXT NOT NULL,
      browser_sha256 TEXT,
      status TEXT NOT NULL,
      tries BIGINT NOT NULL,
      expires_at BIGINT NOT NULL
    )`,
    `CREATE INDEX sign_ins_by_end ON sign_ins (expires_at)`,
    // A credential that was accepted for a sign-in: first reached by its payload, then by its code.
    `CREATE TABLE sign_in_presentations (
      payload_sha256 TEXT PRIMARY KEY,
      state_sha256 TEXT NOT NULL,
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      ppid TEXT NOT NULL,
      scope TEXT NOT NULL,
      permission_id TEXT NOT NULL,
      chain TEXT NOT NULL,
      issuer TEXT NOT NULL,
      issuer_key TEXT NOT NULL,
      verified_at BIGINT NOT NULL,
      credential_ends_at BIGINT NOT NULL,
      code_sha256 TEXT UNIQUE,
      code_challenge TEXT,
      killed_at BIGINT,
      used_at BIGINT,
      expires_at BIGINT NOT NULL
    )`,
    `CREATE INDEX sign_in_presentations_of_user ON sign_in_presentations (site_id, ppid)`,
    `CREATE INDEX sign_in_presentations_by_end ON sign_in_presentations (expires_at)`,
    // Credentials that may be claimed, and who offered them.
    `CREATE TABLE offers (
      sha256 TEXT PRIMARY KEY,
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      ppid TEXT NOT NULL,
      scope TEXT NOT NULL,
      permission_id TEXT,
      ttl_seconds BIGINT,
      actor TEXT NOT NULL,
      killed_at BIGINT,
      claimed_at BIGINT,
      expires_at BIGINT NOT NULL
    )`,
    `CREATE INDEX offers_of_user ON offers (site_id, ppid)`,
    `CREATE INDEX offers_by_end ON offers (expires_at)`,
  ],
  sqlite: [],
  postgres: [],
}
