import type { Migration } from './migration.ts'

/** Finds the credentials of a site that expire soon, whatever their status is. */
export const credentialEnds: Migration = {
  version: 33,
  common: [`CREATE INDEX credentials_of_site_by_end ON credentials (site_id, valid_until, credential_id)`],
  sqlite: [],
  postgres: [],
}
