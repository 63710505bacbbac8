import type { Migration } from './migration.ts'

/** The passkeys with which people sign in to the console. */
export const passkeys: Migration = {
  version: 36,
  common: [
    // `credential_id` is the id that the authenticator has given it, `passkey_id` the public name.
    `CREATE TABLE passkeys (
      passkey_id TEXT PRIMARY KEY,
      credential_id TEXT NOT NULL UNIQUE,
      person_id TEXT NOT NULL,
      rp_id TEXT NOT NULL,
      name TEXT NOT NULL,
      public_key TEXT NOT NULL,
      counter BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      used_at BIGINT,
      mac TEXT
    )`,
    `CREATE INDEX passkeys_of_person ON passkeys (person_id, passkey_id)`,
  ],
  sqlite: [],
  postgres: [],
}
