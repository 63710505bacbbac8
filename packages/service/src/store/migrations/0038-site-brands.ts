import type { Migration } from './migration.ts'

/** The look of sites on hosted pages, and their logos. */
export const siteBrands: Migration = {
  version: 38,
  common: [
    `CREATE TABLE site_brands (
      site_id TEXT PRIMARY KEY,
      logo_url TEXT,
      logo_sha256 TEXT,
      logo_type TEXT,
      accent TEXT,
      support_url TEXT,
      privacy_url TEXT,
      mac TEXT
    )`,
  ],
  sqlite: [
    `CREATE TABLE site_logos (
      site_id TEXT PRIMARY KEY,
      logo BLOB NOT NULL
    )`,
  ],
  postgres: [
    `CREATE TABLE site_logos (
      site_id TEXT PRIMARY KEY,
      logo BYTEA NOT NULL
    )`,
  ],
}
