import type { Migration } from './migration.ts'

/** One row that is replaced to find out whether the store can be written. It means nothing else. */
export const writeProbe: Migration = {
  version: 8,
  common: [`CREATE TABLE write_probe (one BIGINT PRIMARY KEY CHECK (one = 1), filling TEXT NOT NULL)`],
  sqlite: [],
  postgres: [],
}
