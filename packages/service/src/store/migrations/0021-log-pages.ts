import type { Migration } from './migration.ts'

/** Lists of the log by kind are read from an index. */
export const logPages: Migration = {
  version: 21,
  common: ['CREATE INDEX entries_by_kind ON entries (epoch, site_id, kind, seq)'],
  sqlite: [],
  postgres: [],
}
