import type { Migration } from './migration.ts'

/** Counting the open sign-ins of a site must not read those of others. */
export const openSignIns: Migration = {
  version: 11,
  common: [`CREATE INDEX sign_ins_of_site ON sign_ins (site_id, expires_at)`],
  sqlite: [],
  postgres: [],
}
