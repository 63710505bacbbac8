import type { Migration } from './migration.ts'

/**
 * Times are milliseconds since 1970, lists are JSON, and what is secret is there as a hash or
 * sealed.
 */
export const begin: Migration = {
  version: 1,
  common: [
    // The log. One row says where it ends; `lineage` says which incarnation of the database wrote
    // it.
    `CREATE TABLE log (
      one BIGINT PRIMARY KEY CHECK (one = 1),
      epoch TEXT NOT NULL,
      position BIGINT NOT NULL,
      lineage TEXT NOT NULL
    )`,
    // Where the log of each site ends in this epoch.
    `CREATE TABLE heads (
      site_id TEXT PRIMARY KEY,
      seq BIGINT NOT NULL,
      hash TEXT NOT NULL
    )`,
    `CREATE TABLE entries (
      epoch TEXT NOT NULL,
      position BIGINT NOT NULL,
      site_id TEXT NOT NULL,
      seq BIGINT NOT NULL,
      kind TEXT NOT NULL,
      body TEXT NOT NULL,
      at TEXT NOT NULL,
      prev_hash TEXT NOT NULL,
      hash TEXT NOT NULL,
      PRIMARY KEY (epoch, position),
      UNIQUE (epoch, site_id, seq)
    )`,

    `CREATE TABLE sites (
      site_id TEXT PRIMARY KEY,
      name TEXT,
      return_urls TEXT NOT NULL,
      bearer TEXT NOT NULL,
      holder_proof TEXT NOT NULL,
      credential_ttl_seconds_max BIGINT,
      pairwise_secret_sealed TEXT NOT NULL,
      created_at BIGINT NOT NULL
    )`,
    `CREATE TABLE issuers (
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      issuer TEXT NOT NULL,
      status TEXT NOT NULL,
      keys TEXT NOT NULL,
      scope TEXT,
      credential_ttl_seconds_max BIGINT,
      label TEXT,
      fetched BIGINT NOT NULL,
      distrusted_at BIGINT,
      created_at BIGINT NOT NULL,
      PRIMARY KEY (site_id, issuer)
    )`,
    // Permanent, whether or not the issuer still lists the key.
    `CREATE TABLE compromised_keys (
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      issuer TEXT NOT NULL,
      key_id TEXT NOT NULL,
      multikey TEXT NOT NULL,
      at BIGINT NOT NULL,
      PRIMARY KEY (site_id, issuer, key_id, multikey)
    )`,
    `CREATE TABLE api_keys (
      key_id TEXT PRIMARY KEY,
      site_id TEXT REFERENCES sites (site_id),
      sha256 TEXT NOT NULL UNIQUE,
      last4 TEXT NOT NULL,
      permissions TEXT NOT NULL,
      label TEXT,
      expires_at BIGINT,
      created_at BIGINT NOT NULL
    )`,
    `CREATE INDEX api_keys_of_site ON api_keys (site_id, key_id)`,

    // `created` is when the oldest link of its chain was signed: a reinstatement leaves what was
    // signed before it revoked.
    `CREATE TABLE credentials (
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      credential_id TEXT NOT NULL,
      ppid TEXT NOT NULL,
      issuer TEXT NOT NULL,
      scope TEXT NOT NULL,
      permission_id TEXT NOT NULL,
      chain TEXT NOT NULL,
      created BIGINT NOT NULL,
      valid_from BIGINT NOT NULL,
      valid_until BIGINT NOT NULL,
      holder_bound BIGINT NOT NULL,
      source TEXT NOT NULL,
      known_at BIGINT NOT NULL,
      PRIMARY KEY (site_id, credential_id)
    )`,
    `CREATE INDEX credentials_by_age ON credentials (site_id, known_at, credential_id)`,
    `CREATE INDEX credentials_of_user ON credentials (site_id, ppid, known_at, credential_id)`,
    `CREATE INDEX credentials_by_id ON credentials (credential_id)`,
    // A credential and all its parents, itself included.
    `CREATE TABLE credential_links (
      site_id TEXT NOT NULL,
      credential_id TEXT NOT NULL,
      link_id TEXT NOT NULL,
      PRIMARY KEY (site_id, credential_id, link_id)
    )`,
    // Revoked by id, seen or not. With the answer that was given, for a repeated request.
    `CREATE TABLE credential_revocations (
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      credential_id TEXT NOT NULL,
      type TEXT NOT NULL,
      at BIGINT NOT NULL,
      reason TEXT,
      tokens_revoked BIGINT NOT NULL,
      seq BIGINT NOT NULL,
      position BIGINT NOT NULL,
      PRIMARY KEY (site_id, credential_id)
    )`,
    // Users that have ever been revoked. What was signed up to \`cutoff\` stays revoked since
    // \`first_at\`; the rest is valid unless \`revoked\`.
    `CREATE TABLE users (
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      ppid TEXT NOT NULL,
      revoked BIGINT NOT NULL,
      first_at BIGINT NOT NULL,
      first_reason TEXT,
      revoked_at BIGINT NOT NULL,
      reason TEXT,
      credential_ids TEXT NOT NULL,
      tokens_revoked BIGINT NOT NULL,
      revoked_seq BIGINT NOT NULL,
      revoked_position BIGINT NOT NULL,
      cutoff BIGINT,
      reinstated_seq BIGINT,
      reinstated_position BIGINT,
      PRIMARY KEY (site_id, ppid)
    )`,

    `CREATE TABLE tokens (
      sha256 TEXT PRIMARY KEY,
      jti TEXT NOT NULL,
      site_id TEXT NOT NULL REFERENCES sites (site_id),
      ppid TEXT NOT NULL,
      scope TEXT NOT NULL,
      permission_id TEXT NOT NULL,
      credential_id TEXT NOT NULL,
      chain TEXT NOT NULL,
      issuer TEXT NOT NULL,
      issuer_key TEXT NOT NULL,
      issued_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      revoked_at BIGINT,
      UNIQUE (site_id, jti)
    )`,
    `CREATE INDEX tokens_of_user ON tokens (site_id, ppid, jti)`,
    `CREATE INDEX tokens_of_credential ON tokens (site_id, credential_id)`,
    `CREATE INDEX tokens_by_end ON tokens (expires_at)`,
    `CREATE TABLE token_links (
      sha256 TEXT NOT NULL REFERENCES tokens (sha256) ON DELETE CASCADE,
      site_id TEXT NOT NULL,
      link_id TEXT NOT NULL,
      PRIMARY KEY (sha256, link_id)
    )`,
    `CREATE INDEX token_links_by_link ON token_links (site_id, link_id)`,

    `CREATE TABLE used_once (
      kind TEXT NOT NULL,
      sha256 TEXT NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (kind, sha256)
    )`,
    `CREATE INDEX used_once_by_end ON used_once (expires_at)`,
    `CREATE TABLE idempotency_keys (
      owner TEXT NOT NULL,
      sha256 TEXT NOT NULL,
      request_sha256 TEXT NOT NULL,
      state TEXT NOT NULL,
      sealed TEXT,
      began_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (owner, sha256)
    )`,
    `CREATE INDEX idempotency_keys_by_end ON idempotency_keys (expires_at)`,

    `CREATE TABLE audit (
      id TEXT PRIMARY KEY,
      site_id TEXT,
      at BIGINT NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      target TEXT,
      detail TEXT NOT NULL,
      request_id TEXT
    )`,
    `CREATE INDEX audit_of_site ON audit (site_id, id)`,
    `CREATE TABLE secrets (
      name TEXT PRIMARY KEY,
      sealed TEXT NOT NULL
    )`,
    `CREATE TABLE confirmed_time (
      one BIGINT PRIMARY KEY CHECK (one = 1),
      at BIGINT NOT NULL
    )`,
    `INSERT INTO confirmed_time (one, at) VALUES (1, 0)`,
  ],
  sqlite: [],
  postgres: [
    // Which incarnation of the database this is. A restore, a fail-over or a copy is another one.
    // pg_control_checkpoint() may report the old timeline for a while after a promotion; the
    // name of the current WAL file has the new one immediately.
    `CREATE FUNCTION log_lineage() RETURNS TEXT LANGUAGE sql VOLATILE AS $$
      SELECT (SELECT system_identifier FROM pg_control_system())
        || '.' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
        || '.' || (SELECT oid FROM pg_database WHERE datname = current_database())
        || '.' || 'log'::regclass::oid
    $$`,
    // The one way into the log. The update of the one row in \`log\` holds every other writer until
    // this transaction has ended, so numbers become visible in their order and without gaps, which
    // a sequence cannot promise.
    `CREATE FUNCTION append_entry(in_epoch TEXT, in_site_id TEXT, in_kind TEXT, in_body TEXT, in_at TEXT)
      RETURNS TABLE (out_seq BIGINT, out_position BIGINT, out_hash TEXT) LANGUAGE plpgsql VOLATILE AS $$
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
      RETURN QUERY SELECT head.seq + 1, the_log.position, new_hash;
    END
    $$`,
    `CREATE FUNCTION copy_log(from_epoch TEXT, into_epoch TEXT) RETURNS VOID LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      e entries%ROWTYPE;
    BEGIN
      FOR e IN SELECT * FROM entries WHERE epoch = from_epoch ORDER BY position LOOP
        PERFORM append_entry(into_epoch, e.site_id, e.kind, e.body, e.at);
      END LOOP;
    END
    $$`,
  ],
}
