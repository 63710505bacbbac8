import type { Migration } from './migration.ts'

/**
 * Who follows the feeds, on which node, and how far each has applied the log. Only what is true
 * now: nothing here outlives its connection.
 */
export const feedStreams: Migration = {
  version: 5,
  common: [
    // A live node renews its row every few seconds. One that does not has ended, and its streams
    // with it.
    `CREATE TABLE feed_nodes (
      node_id TEXT PRIMARY KEY,
      expires_at BIGINT NOT NULL
    )`,
    // \`acks\` are the last acknowledgements, oldest first: pairs of seq and when it came.
    `CREATE TABLE feed_streams (
      stream_id TEXT PRIMARY KEY,
      node_id TEXT NOT NULL,
      site_id TEXT NOT NULL,
      key_id TEXT NOT NULL,
      verifier_id TEXT NOT NULL,
      named BIGINT NOT NULL,
      connected_at BIGINT NOT NULL,
      epoch TEXT NOT NULL,
      seq BIGINT NOT NULL,
      acks TEXT NOT NULL
    )`,
    `CREATE INDEX feed_streams_of_site ON feed_streams (site_id, stream_id)`,
    `CREATE INDEX feed_streams_of_verifier ON feed_streams (site_id, key_id, verifier_id)`,
    `CREATE INDEX feed_streams_of_node ON feed_streams (node_id)`,
  ],
  sqlite: [],
  postgres: [],
}
