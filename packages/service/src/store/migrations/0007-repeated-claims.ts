import type { Migration } from './migration.ts'

/**
 * The key that claimed an offer and the credential that it got: the same claim can be repeated
 * until the offer expires.
 */
export const repeatedClaims: Migration = {
  version: 7,
  common: [`ALTER TABLE offers ADD COLUMN holder_key TEXT`, `ALTER TABLE offers ADD COLUMN credential TEXT`],
  sqlite: [],
  postgres: [],
}
