import type { Migration } from './migration.ts'

/** Finds the credentials that the service first saw in one way. */
export const credentialSources: Migration = {
  version: 32,
  common: [
    `CREATE INDEX credentials_of_source ON credentials (site_id, source, status, known_at, credential_id)`,
  ],
  sqlite: [],
  postgres: [],
}
