import type { Migration } from './migration.ts'

/**
 * Which head of which epoch each new epoch continues, for each site. Verifiers follow these links
 * from one epoch to the next.
 */
export const epochs: Migration = {
  version: 6,
  common: [
    `CREATE TABLE epochs (
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      epoch TEXT NOT NULL,
      previous_epoch TEXT NOT NULL,
      previous_seq BIGINT NOT NULL,
      previous_hash TEXT NOT NULL,
      at BIGINT NOT NULL,
      mac TEXT,
      PRIMARY KEY (site_id, epoch)
    )`,
  ],
  sqlite: [],
  postgres: [],
}
