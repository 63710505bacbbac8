/** A table whose rows carry a MAC, because they can grant something. */
export interface MacTable {
  /** The primary key; it is part of `columns`. */
  readonly key: readonly string[]
  /**
   * The columns that the MAC covers, in this order. `epoch` of a head and `keys_deleted` of an API
   * key, a person or a passkey are columns of the log row.
   */
  readonly columns: readonly string[]
  /** Columns that the MAC does not cover, each with the reason why it cannot grant anything. */
  readonly uncovered: Readonly<Record<string, string>>
}

const TAKES_AWAY =
  'when set, it only ends access; setting it back restores an earlier row, which no MAC can detect'
const CONFIRMED =
  'derived from the log, which decides; "already revoked" is answered only if the log says so; the audit compares the two'
const SEALED = 'is sealed for this very row, and changes with the master key'

/**
 * All tables whose rows can grant. A test compares this with the schema: each column is either
 * covered or has a reason.
 */
export const macTables = {
  log: {
    key: ['one'],
    columns: ['one', 'epoch', 'position', 'digest', 'keys_deleted'],
    uncovered: {
      lineage: 'can only cause a new epoch, which continues the same entries, or prevent the start',
    },
  },
  heads: { key: ['site_id'], columns: ['site_id', 'epoch', 'seq', 'hash'], uncovered: {} },
  epochs: {
    key: ['site_id', 'epoch'],
    columns: ['site_id', 'epoch', 'previous_epoch', 'previous_seq', 'previous_hash', 'at'],
    uncovered: {},
  },
  sites: {
    key: ['site_id'],
    columns: [
      'site_id',
      'name',
      'return_urls',
      'bearer',
      'holder_proof',
      'delegation',
      'credential_ttl_seconds_max',
      'hosts',
      'max_staleness_seconds_max',
      'staleness_before_seconds',
      'staleness_lowered_seq',
      'created_at',
      'entry_seq',
    ],
    uncovered: { pairwise_secret_sealed: SEALED },
  },
  // A planted row would show users another logo or another address for help.
  site_brands: {
    key: ['site_id'],
    columns: ['site_id', 'logo_url', 'logo_sha256', 'logo_type', 'accent', 'support_url', 'privacy_url'],
    uncovered: {},
  },
  issuers: {
    key: ['site_id', 'issuer'],
    columns: [
      'site_id',
      'issuer',
      'issuer_id',
      'status',
      'keys',
      'scope',
      'credential_ttl_seconds_max',
      'label',
      'fetched',
      'oauth',
      'keys_at',
      'distrusted_at',
      'created_at',
      'entry_seq',
    ],
    uncovered: {},
  },
  key_sources: {
    key: ['source'],
    columns: ['source', 'refreshed_at', 'keys_sha256', 'changes'],
    uncovered: { claimed_at: 'delays the next fetch, or allows an additional one, and nothing else' },
  },
  api_keys: {
    key: ['key_id'],
    columns: [
      'key_id',
      'site_id',
      'sha256',
      'last4',
      'permissions',
      'label',
      'expires_at',
      'created_at',
      'keys_deleted',
    ],
    uncovered: { created_by: 'is shown in lists, and decides nothing' },
  },
  people: {
    key: ['person_id'],
    columns: ['person_id', 'name', 'roles', 'status', 'ended_at', 'created_at', 'keys_deleted'],
    uncovered: {},
  },
  passkeys: {
    key: ['passkey_id'],
    columns: [
      'passkey_id',
      'credential_id',
      'person_id',
      'rp_id',
      'name',
      'public_key',
      'counter',
      'created_at',
      'keys_deleted',
    ],
    uncovered: { used_at: 'is shown in lists, and decides nothing' },
  },
  console_links: {
    key: ['sha256'],
    columns: ['sha256', 'person_id', 'expires_at'],
    uncovered: { used_at: TAKES_AWAY },
  },
  console_sessions: {
    key: ['sha256'],
    columns: [
      'sha256',
      'session_id',
      'person_id',
      'door',
      'provider_sid',
      'created_at',
      'expires_at',
      'seen_at',
      'elevated_until',
    ],
    uncovered: {},
  },
  person_identities: {
    key: ['issuer', 'subject'],
    columns: ['issuer', 'subject', 'person_id', 'created_at'],
    uncovered: {},
  },
  // A planted row would make the service acknowledge a logout without acting on it.
  provider_logouts: {
    key: ['issuer', 'jti'],
    columns: ['issuer', 'jti', 'subject', 'sid', 'body_sha256', 'issued_at', 'expires_at'],
    uncovered: {},
  },
  tokens: {
    key: ['sha256'],
    columns: [
      'sha256',
      'jti',
      'site_id',
      'ppid',
      'scope',
      'permission_id',
      'credential_id',
      'chain',
      'issuer',
      'issuer_key',
      'issued_at',
      'expires_at',
    ],
    uncovered: { revoked_at: CONFIRMED },
  },
  offers: {
    key: ['sha256'],
    columns: [
      'sha256',
      'site_id',
      'ppid',
      'scope',
      'permission_id',
      'ttl_seconds',
      'actor',
      'holder_key',
      'credential',
      'expires_at',
    ],
    uncovered: { killed_at: TAKES_AWAY, claimed_at: TAKES_AWAY },
  },
  sign_ins: {
    key: ['state_sha256'],
    columns: [
      'state_sha256',
      'site_id',
      'return_url',
      'requested_scope',
      'code_challenge',
      'browser_sha256',
      'expires_at',
    ],
    uncovered: { client_state_sealed: SEALED, status: TAKES_AWAY, tries: TAKES_AWAY },
  },
  sign_in_presentations: {
    key: ['payload_sha256'],
    columns: [
      'payload_sha256',
      'state_sha256',
      'site_id',
      'ppid',
      'scope',
      'permission_id',
      'chain',
      'issuer',
      'issuer_key',
      'verified_at',
      'credential_ends_at',
      'code_sha256',
      'code_challenge',
      'expires_at',
    ],
    uncovered: { killed_at: TAKES_AWAY, used_at: TAKES_AWAY },
  },
  // Says what the log contains up to a position, and from where on its entries must exist.
  checkpoint: {
    key: ['one'],
    columns: [
      'one',
      'epoch',
      'position',
      'digest',
      'base_position',
      'base_digest',
      'sites',
      'sites_sha256',
      'at',
    ],
    uncovered: {},
  },
  // A planted row would make the service acknowledge a signal without acting on it.
  signals: {
    key: ['site_id', 'issuer', 'jti'],
    columns: ['site_id', 'issuer', 'jti', 'type', 'body_sha256', 'outcome', 'received_at', 'expires_at'],
    uncovered: {},
  },
} as const satisfies Readonly<Record<string, MacTable>>

export type MacTableName = keyof typeof macTables

/**
 * The other tables, each with the reason why a row that is added, changed or removed there grants
 * nothing and prevents no revocation.
 */
export const tablesWithoutMac: Readonly<Record<string, string>> = {
  entries: 'each entry is covered by the digest of the log, and so by the MAC of the log row',
  checkpoint_sites:
    'all rows together are covered by sites_sha256 of the checkpoint, and so by its MAC; a row that is added, changed, removed or put back is found',
  log_pages:
    'the pages of a site are covered by pages_sha256 of its checkpoint_sites row, and so by the MAC of the checkpoint',
  site_logos: 'each logo is covered by logo_sha256 of its site_brands row, and so by its MAC',
  users: CONFIRMED,
  user_history: 'a list of what the log says about users, with reasons; the view of the log decides',
  credential_revocations: CONFIRMED,
  compromised_keys: 'derived from the log, which decides; the audit compares the two',
  credentials:
    'a list of what was seen; whether a credential is valid is decided by its signature and the log. A row that is removed is not revoked by id when its user is reinstated',
  credential_links: 'a list of what was seen',
  credential_statuses: 'up to which entry lists by status are current, and grants nothing',
  token_links: 'finds the tokens to revoke; whether a token is valid is decided by its own row and the log',
  used_once:
    'a row that is removed allows a captured proof to be replayed within its short life, and nothing else',
  idempotency_keys: 'answers are sealed for the caller, the key and the request',
  audit: 'a record, which decides nothing',
  audit_archive:
    'the last archive of audit rows; a row is removed from the audit only if a file contains the same row',
  secrets: 'each value is sealed under the master key for its name',
  confirmed_time: 'a time that is set back cannot make the clock of a node run back',
  schema_version: 'the version of the schema',
  webhooks: 'says where events are sent; their secrets are sealed for the webhook',
  deliveries: 'events to be sent, which are read from the log',
  leases: 'which verifiers may still accept: says what receipts state, and grants nothing',
  former_verifiers: 'which verifiers there were: a list, which decides nothing',
  verdict_tallies: 'counts of decisions that were made: statistics, which decide nothing',
  head_readers: 'until when a head that was read may be used: says what receipts state, and grants nothing',
  log_times: 'when entries were committed: says what receipts state, and grants nothing',
  receipts: 'each receipt is signed with the feed key, so a changed one is rejected; it decides nothing',
  apply_times: 'counts for statistics, which decide nothing',
  receipt_progress: 'up to which entry receipts are written; decides nothing else',
  drills: 'each report is signed with the feed key; a drill revokes an id that no credential has',
  job_turns:
    'when a node last did a job, such as the removal of old entries; decides only when it is done again',
  api_key_uses: 'when keys were last used: is shown in lists, and decides nothing',
  nodes: 'what the nodes report about themselves, for operators; decides nothing',
  write_probe: 'is replaced to find out whether the store can be written, and means nothing else',
  feed_nodes: 'which nodes serve feeds now',
  feed_streams: 'who follows the feeds now',
  departed_readers: 'readers that disconnected lately: says what receipts state, and grants nothing',
}
