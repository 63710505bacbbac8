import type { Migration } from './migration.ts'

/**
 * How often an operator has set the confirmed time: a node that does not know of the last reset
 * must not move the time any more.
 */
export const timeResets: Migration = {
  version: 2,
  common: ['ALTER TABLE confirmed_time ADD COLUMN resets BIGINT NOT NULL DEFAULT 0'],
  sqlite: [],
  postgres: [],
}
