import type { Migration } from './migration.ts'

/** People who sign in to the console with an identity provider, and its logouts. */
export const identityProvider: Migration = {
  version: 37,
  common: [
    // The MAC of a session covers one more column, so people sign in again.
    'DELETE FROM console_sessions',
    // \`sid\` of the provider, if it opened the session and has sent one.
    'ALTER TABLE console_sessions ADD COLUMN provider_sid TEXT',
    'CREATE INDEX console_sessions_of_sid ON console_sessions (provider_sid) WHERE provider_sid IS NOT NULL',
    `CREATE TABLE person_identities (
      issuer TEXT NOT NULL,
      subject TEXT NOT NULL,
      person_id TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      mac TEXT,
      PRIMARY KEY (issuer, subject)
    )`,
    'CREATE INDEX person_identities_of_person ON person_identities (person_id)',
    `CREATE TABLE provider_logouts (
      issuer TEXT NOT NULL,
      jti TEXT NOT NULL,
      subject TEXT,
      sid TEXT,
      body_sha256 TEXT NOT NULL,
      issued_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      mac TEXT,
      PRIMARY KEY (issuer, jti)
    )`,
    'CREATE INDEX provider_logouts_of_subject ON provider_logouts (issuer, subject) WHERE subject IS NOT NULL',
    'CREATE INDEX provider_logouts_of_sid ON provider_logouts (issuer, sid) WHERE sid IS NOT NULL',
    'CREATE INDEX provider_logouts_expire ON provider_logouts (expires_at)',
  ],
  sqlite: [],
  postgres: [],
}
