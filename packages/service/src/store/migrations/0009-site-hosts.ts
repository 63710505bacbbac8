import type { Migration } from './migration.ts'

/**
 * The hosts for which forward-auth accepts holder proofs, as a JSON list; null for the name of the
 * site only.
 */
export const siteHosts: Migration = {
  version: 9,
  common: [`ALTER TABLE sites ADD COLUMN hosts TEXT`],
  sqlite: [],
  postgres: [],
}
