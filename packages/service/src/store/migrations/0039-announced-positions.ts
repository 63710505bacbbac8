import type { Migration } from './migration.ts'

/** A notification says which entry was appended, so that a node that has read it need not look. */
export const announcedPositions: Migration = {
  version: 39,
  common: [],
  sqlite: [],
  postgres: [
    // As before; the position is in the notification.
    `CREATE OR REPLACE FUNCTION append_entry(in_epoch TEXT, in_site_id TEXT, in_kind TEXT, in_body TEXT, in_at TEXT)
      RETURNS TABLE (out_seq BIGINT, out_position BIGINT, out_hash TEXT, out_prev_hash TEXT, out_head_mac TEXT, out_digest TEXT, out_keys_deleted BIGINT,
        out_log_mac TEXT)
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
      PERFORM pg_notify('countersign_log', the_log.position::TEXT);
      RETURN QUERY SELECT head.seq + 1, the_log.position, new_hash, head.hash, head.mac, the_log.digest, the_log.keys_deleted, the_log.mac;
    END
    $$`,
  ],
}
