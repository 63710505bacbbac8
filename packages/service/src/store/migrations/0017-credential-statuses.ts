import type { Migration } from './migration.ts'

/** Lists of credentials by status are read from an index, however many have another status. */
export const credentialStatuses: Migration = {
  version: 17,
  common: [
    // What a list by status shows. \`new\`: no node has classified the credential yet. A verdict
    // never depends on it.
    `ALTER TABLE credentials ADD COLUMN status TEXT NOT NULL DEFAULT 'new'`,
    `CREATE INDEX credentials_by_status ON credentials (site_id, status, known_at, credential_id)`,
    `CREATE INDEX credentials_of_user_by_status ON credentials (site_id, ppid, status, known_at, credential_id)`,
    `CREATE INDEX credentials_by_status_end ON credentials (site_id, status, valid_until, credential_id)`,
    // Finds the credentials that end with a parent.
    `CREATE INDEX credential_links_by_link ON credential_links (site_id, link_id)`,
    // \`seq\`: the statuses include the effects of the site's entries up to it. \`claimed_seq\`: a
    // node has begun to apply the entries up to it, so an older view must not classify any more.
    `CREATE TABLE credential_statuses (
      site_id TEXT PRIMARY KEY,
      seq BIGINT NOT NULL,
      claimed_seq BIGINT NOT NULL
    )`,
  ],
  sqlite: [],
  postgres: [],
}
