import type { Migration } from './migration.ts'

/** Fills the table from the entries that the log still has, and from the state of the users. */
const fillHistory = (ppid: string, atMs: string): readonly string[] => [
  `INSERT INTO user_history (site_id, ppid, seq, kind, at, reason, revoked, latest)
    SELECT e.site_id, ${ppid}, e.seq, e.kind, ${atMs}, NULL, 0, 0 FROM entries e JOIN log ON log.one = 1 AND log.epoch = e.epoch
    WHERE e.kind IN ('user.revoked', 'user.reinstated', 'user.signed_out')`,
  `INSERT INTO user_history (site_id, ppid, seq, kind, at, reason, revoked, latest)
    SELECT site_id, ppid, revoked_seq, 'user.revoked', revoked_at, reason, 1, 0 FROM users WHERE revoked = 1
    ON CONFLICT (site_id, ppid, seq) DO UPDATE SET reason = excluded.reason`,
  `INSERT INTO user_history (site_id, ppid, seq, kind, at, reason, revoked, latest)
    SELECT site_id, ppid, reinstated_seq, 'user.reinstated', cutoff, NULL, 0, 0 FROM users WHERE revoked = 0
    ON CONFLICT (site_id, ppid, seq) DO NOTHING`,
  `UPDATE user_history SET
    revoked = COALESCE((SELECT CASE WHEN h.kind = 'user.revoked' THEN 1 ELSE 0 END FROM user_history h
      WHERE h.site_id = user_history.site_id AND h.ppid = user_history.ppid AND h.seq <= user_history.seq AND h.kind <> 'user.signed_out'
      ORDER BY h.seq DESC LIMIT 1), 0),
    latest = CASE WHEN seq = (SELECT MAX(h.seq) FROM user_history h
      WHERE h.site_id = user_history.site_id AND h.ppid = user_history.ppid) THEN 1 ELSE 0 END`,
]

/** Users that the log knows, and the entries about each of them. */
export const userHistory: Migration = {
  version: 24,
  common: [
    // \`revoked\` is the state of the user after the entry. \`latest\` marks the last entry about a
    // user. Reasons are here because the log has none.
    `CREATE TABLE user_history (
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      ppid TEXT NOT NULL,
      seq BIGINT NOT NULL,
      kind TEXT NOT NULL,
      at BIGINT NOT NULL,
      reason TEXT,
      revoked BIGINT NOT NULL,
      latest BIGINT NOT NULL,
      PRIMARY KEY (site_id, ppid, seq)
    )`,
    `CREATE INDEX user_history_latest ON user_history (site_id, seq) WHERE latest = 1`,
    `CREATE INDEX user_history_latest_by_state ON user_history (site_id, revoked, seq) WHERE latest = 1`,
    // Those that are removed when they are old.
    `CREATE INDEX user_history_by_age ON user_history (at) WHERE latest = 0 OR revoked = 0`,
  ],
  sqlite: fillHistory(
    `json_extract(e.body, '$.ppid')`,
    'CAST(ROUND((julianday(e.at) - 2440587.5) * 86400000) AS INTEGER)',
  ),
  postgres: fillHistory(
    `CAST(e.body AS JSON) ->> 'ppid'`,
    'CAST(EXTRACT(EPOCH FROM CAST(e.at AS TIMESTAMPTZ)) * 1000 AS BIGINT)',
  ),
}
