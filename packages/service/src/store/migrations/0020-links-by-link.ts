import type { Migration } from './migration.ts'

/**
 * The index by link has all columns. Without the last one, SQLite prefers the primary key and reads
 * all links of a site for each revocation: at 100,000 revocations a cut took a minute, now a
 * second.
 */
export const linksByLink: Migration = {
  version: 20,
  common: [
    'DROP INDEX credential_links_by_link',
    'CREATE INDEX credential_links_by_link ON credential_links (site_id, link_id, credential_id)',
  ],
  sqlite: [],
  postgres: [],
}
