import type { Migration } from './migration.ts'

/**
 * A MAC in every row that can grant, and the digest of all entries in the log row. Rows from before
 * have none and are not accepted: a store without a MAC key must be empty.
 */
export const rowMacs: Migration = {
  version: 10,
  common: [
    `ALTER TABLE log ADD COLUMN digest TEXT NOT NULL DEFAULT '${'0'.repeat(64)}'`,
    ...[
      'log',
      'heads',
      'sites',
      'issuers',
      'api_keys',
      'tokens',
      'offers',
      'sign_ins',
      'sign_in_presentations',
    ].map((table) => `ALTER TABLE ${table} ADD COLUMN mac TEXT`),
  ],
  sqlite: [],
  postgres: [
    'DROP FUNCTION copy_log(TEXT, TEXT)',
    'DROP FUNCTION append_entry(TEXT, TEXT, TEXT, TEXT, TEXT)',
    // As before; it also returns what the service must check before it extends it: the head and the
    // log row as they were, with their MACs.
    `CREATE FUNCTION append_entry(in_epoch TEXT, in_site_id TEXT, in_kind TEXT, in_body TEXT, in_at TEXT)
      RETURNS TABLE (out_seq BIGINT, out_position BIGINT, out_hash TEXT, out_prev_hash TEXT, out_head_mac TEXT, out_digest TEXT, out_log_mac TEXT)
      LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      the_log log%ROWTYPE;
      head heads%ROWTYPE;
      new_hash TEXT;
    BEGIN
      IF current_setting('synchronous_commit') = 'off' THEN
        RAISE EXCEPTION 'synchronous_commit is off: nothing may be acknowledged' USING ERRCODE = 'CS002';
      END IF;
      UPDATE log SET position = log.position + 1 WHERE one = 1 RETURNING * INTO the_log;
      IF the_log.epoch <> in_epoch OR the_log.lineage <> log_lineage() THEN
        RAISE EXCEPTION 'the log is in another epoch' USING ERRCODE = 'CS001';
      END IF;
      SELECT * INTO head FROM heads WHERE site_id = in_site_id FOR UPDATE;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no such site' USING ERRCODE = 'CS003';
      END IF;
      -- RFC 8785 of the entry without its hash: the members in order; none of these strings can hold a character that would need escaping.
      new_hash := encode(sha256(convert_to(
        '{"at":"' || in_at || '","body":' || in_body || ',"epoch":"' || in_epoch || '","kind":"' || in_kind || '","prev_hash":"' || head.hash
        || '","seq":' || (head.seq + 1) || ',"site_id":"' || in_site_id || '"}', 'UTF8')), 'hex');
      INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash)
        VALUES (in_epoch, the_log.position, in_site_id, head.seq + 1, in_kind, in_body, in_at, head.hash, new_hash);
      UPDATE heads SET seq = head.seq + 1, hash = new_hash WHERE site_id = in_site_id;
      PERFORM pg_notify('countersign_log', '');
      RETURN QUERY SELECT head.seq + 1, the_log.position, new_hash, head.hash, head.mac, the_log.digest, the_log.mac;
    END
    $$`,
  ],
}
