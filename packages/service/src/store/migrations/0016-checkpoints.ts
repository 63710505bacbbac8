import type { Migration } from './migration.ts'

/** The columns of a page besides its bytes, for which the two stores have different types. */
const pageColumns = (text: string) => `
      site_id ${text} NOT NULL,
      from_seq BIGINT NOT NULL,
      to_seq BIGINT NOT NULL,
      lines BIGINT NOT NULL,
      revocations BIGINT NOT NULL,
      bytes BIGINT NOT NULL,
      crc32 BIGINT NOT NULL,
      sha256 ${text} NOT NULL,
      newest_at BIGINT NOT NULL`

/** The state of all sites at a position of the log, so that a start reads only what came after. */
export const checkpoints: Migration = {
  version: 16,
  common: [
    // \`digest\` is that of the log at \`position\`. Entries up to \`base_position\` may have been
    // removed; \`base_digest\` is the digest there. The MAC covers \`sites_sha256\`, which covers
    // all rows of \`checkpoint_sites\`.
    `CREATE TABLE checkpoint (
      one BIGINT PRIMARY KEY CHECK (one = 1),
      epoch TEXT NOT NULL,
      position BIGINT NOT NULL,
      digest TEXT NOT NULL,
      base_position BIGINT NOT NULL,
      base_digest TEXT NOT NULL,
      sites BIGINT NOT NULL,
      sites_sha256 TEXT NOT NULL,
      at BIGINT NOT NULL,
      mac TEXT
    )`,
    // \`seq\` and \`hash\` are the head of the site at that position, \`base_seq\` and
    // \`base_hash\` its head at the base. \`state\` has everything but the revocations, as JSON.
    // \`pages_sha256\` covers the pages of the site up to \`seq\`.
    `CREATE TABLE checkpoint_sites (
      site_id TEXT PRIMARY KEY,
      seq BIGINT NOT NULL,
      hash TEXT NOT NULL,
      base_seq BIGINT NOT NULL,
      base_hash TEXT NOT NULL,
      state TEXT NOT NULL,
      pages BIGINT NOT NULL,
      pages_sha256 TEXT NOT NULL
    )`,
  ],
  // The revocations of a site in a range of seqs, as lines of a snapshot. \`bytes\`, \`crc32\` and
  // \`sha256\` are those of the text, \`deflated\` is the text in raw DEFLATE blocks that end at a
  // byte boundary.
  sqlite: [
    `CREATE TABLE log_pages (${pageColumns('TEXT')},
      deflated BLOB NOT NULL,
      PRIMARY KEY (site_id, to_seq)
    )`,
  ],
  postgres: [
    `CREATE TABLE log_pages (${pageColumns('TEXT COLLATE "C"')},
      deflated BYTEA NOT NULL,
      PRIMARY KEY (site_id, to_seq)
    )`,
    // The bytes are compressed already.
    'ALTER TABLE log_pages ALTER COLUMN deflated SET STORAGE EXTERNAL',
  ],
}
