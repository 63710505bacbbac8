import type { Migration } from './migration.ts'

/** People who use the console, the links that they sign in with, and their sessions. */
export const people: Migration = {
  version: 23,
  common: [
    `CREATE TABLE people (
      person_id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      roles TEXT NOT NULL,
      status TEXT NOT NULL,
      ended_at BIGINT,
      created_at BIGINT NOT NULL,
      mac TEXT
    )`,
    `CREATE INDEX people_ended ON people (ended_at) WHERE ended_at IS NOT NULL`,
    `CREATE TABLE console_links (
      sha256 TEXT PRIMARY KEY,
      person_id TEXT NOT NULL,
      expires_at BIGINT NOT NULL,
      used_at BIGINT,
      mac TEXT
    )`,
    `CREATE INDEX console_links_of_person ON console_links (person_id)`,
    `CREATE INDEX console_links_expire ON console_links (expires_at)`,
    // \`sha256\` is the hash of the cookie, \`session_id\` the public name.
    `CREATE TABLE console_sessions (
      sha256 TEXT PRIMARY KEY,
      session_id TEXT NOT NULL UNIQUE,
      person_id TEXT NOT NULL,
      door TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      seen_at BIGINT NOT NULL,
      elevated_until BIGINT NOT NULL,
      mac TEXT
    )`,
    `CREATE INDEX console_sessions_of_person ON console_sessions (person_id, session_id)`,
    `CREATE INDEX console_sessions_expire ON console_sessions (expires_at)`,
  ],
  sqlite: [],
  postgres: [],
}
