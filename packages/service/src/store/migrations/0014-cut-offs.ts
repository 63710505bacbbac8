import type { Migration } from './migration.ts'

/**
 * Sites can reject delegated credentials. The MACs of earlier rows do not cover the new column, so
 * their key is removed: a store that has rows is then rejected with a clear message.
 */
export const cutOffs: Migration = {
  version: 14,
  common: [
    `ALTER TABLE sites ADD COLUMN delegation TEXT NOT NULL DEFAULT 'on'`,
    `DELETE FROM secrets WHERE name = 'mac-key'`,
  ],
  sqlite: [],
  postgres: [],
}
