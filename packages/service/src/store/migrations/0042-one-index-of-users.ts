import type { Migration } from './migration.ts'

/**
 * Credentials of a user are read by their status, also in a list of all: four short ranges of one
 * index are merged. The index without a status was changed all over by each batch of new
 * credentials, because users follow each other at random.
 */
export const oneIndexOfUsers: Migration = {
  version: 42,
  common: ['DROP INDEX credentials_of_user'],
  sqlite: [],
  postgres: [],
}
