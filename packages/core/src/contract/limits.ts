import { SCOPE_LIST_MAX } from '../credential/ids.ts'
import {
  BODY_MEMBERS_MAX,
  CREDENTIAL_BYTES_MAX,
  CREDENTIAL_HEADER_CHARS_MAX,
  CREDENTIAL_LIFETIME_SECONDS_MAX,
  CREDENTIAL_MEMBERS_MAX,
  DELEGATION_DEPTH_MAX,
  JSON_DEPTH_MAX,
  VALID_FROM_LEEWAY_MS,
} from '../credential/limits.ts'
import { PROOF_AGE_MS_MAX } from '../holder/profile.ts'
import { EPOCH_STATEMENTS_MAX } from '../log/epoch-statement.ts'
import { OAUTH_KEYS_MAX } from '../log/oauth-issuer.ts'
import { MAX_AGE_SECONDS_MAX } from '../log/signed-fields.ts'

const MINUTE = 60
const DAY = 86_400
const KIB = 1024

/**
 * All limits of the HTTP interface. Schemas are built from them, the service enforces them, and
 * discovery lists them. `chars` are Unicode code points in text, and characters in ASCII grammars.
 */
export const limits = Object.freeze({
  credential_header_chars_max: CREDENTIAL_HEADER_CHARS_MAX,
  credential_bytes_max: CREDENTIAL_BYTES_MAX,
  json_depth_max: JSON_DEPTH_MAX,
  credential_members_max: CREDENTIAL_MEMBERS_MAX,
  delegation_depth_max: DELEGATION_DEPTH_MAX,
  valid_from_leeway_seconds: VALID_FROM_LEEWAY_MS / 1000,
  holder_proof_age_seconds_max: PROOF_AGE_MS_MAX / 1000,
  scope_list_max: SCOPE_LIST_MAX,

  credential_lifetime_seconds_min: 1,
  credential_lifetime_seconds_max: CREDENTIAL_LIFETIME_SECONDS_MAX,
  credential_lifetime_seconds_default: 30 * DAY,
  token_ttl_seconds_min: 60,
  token_ttl_seconds_max: 3600,
  token_ttl_seconds_default: 900,
  tokens_per_credential_max: 20,
  offer_seconds: 15 * MINUTE,
  api_key_lifetime_seconds_max: 3660 * DAY,

  request_body_bytes_max: 64 * KIB,
  request_body_bytes_usual_max: 16 * KIB,
  request_body_bytes_small_max: 4 * KIB,
  signal_body_bytes_max: 12 * KIB,
  request_body_members_max: BODY_MEMBERS_MAX,
  request_parameters_max: 128,
  url_bytes_max: 8 * KIB,
  header_section_bytes_max: 16 * KIB,
  headers_arrive_seconds_max: 10,
  request_arrive_seconds_max: 30,
  errors_listed_max: 20,
  idempotency_key_chars_max: 255,
  idempotency_kept_seconds: DAY,
  request_id_chars_max: 128,

  status_ids_max: 100,
  revocation_targets_max: 200,
  preview_samples_max: 20,
  wait_seconds_max: 30,
  waits_per_key_max: 100,
  waits_per_site_max: 200,
  laggards_listed_max: 100,
  user_entries_listed_max: 50,
  drill_seconds: 30,
  stats_buckets_max: 256,
  descendants_listed_max: 50,
  page_items_default: 50,
  page_items_max: 200,
  audit_export_rows_max: 100_000,
  audit_exports_per_site_max: 2,
  cursor_chars_max: 512,

  sign_in_state_seconds: 600,
  sign_in_payload_seconds: 60,
  sign_in_code_seconds: 60,
  sign_in_tries_max: 10,
  return_urls_max: 32,
  site_hosts_max: 16,
  return_url_chars_max: 2048,

  client_state_chars_max: 512,
  ui_locales_chars_max: 100,
  user_ref_chars_max: 256,
  reason_chars_max: 256,
  action_chars_max: 256,
  name_chars_max: 128,
  link_url_chars_max: 2048,
  logo_bytes_max: 64 * KIB,
  logo_side_pixels_max: 1024,
  label_chars_max: 64,
  did_chars_max: 1024,
  issuer_keys_max: 32,
  issuers_per_site_max: 1000,
  compromised_keys_max: 1024,
  oauth_issuer_keys_max: OAUTH_KEYS_MAX,
  key_set_items_max: 64,
  signal_senders_max: 8,
  session_ttl_seconds_max: 366 * DAY,

  people_max: 1000,
  person_roles_max: 100,
  console_link_seconds: 60,
  console_session_seconds: 12 * 3600,
  console_idle_seconds: 30 * MINUTE,
  console_elevated_seconds: 5 * MINUTE,
  console_sessions_per_person_max: 20,
  passkeys_per_person_max: 10,
  passkey_challenge_seconds: 5 * MINUTE,
  passkey_id_chars_max: 1364,
  passkey_bytes_chars_max: 8192,
  console_sign_in_seconds: 10 * MINUTE,
  console_return_chars_max: 2048,
  provider_code_chars_max: 4096,

  feed_connections_per_key_max: 1000,
  feed_observers_per_key_max: 20,
  feed_leases_per_key_max: 1000,
  verifier_queries_per_key_max: 8,
  feed_heartbeat_seconds: 5,
  max_age_seconds_min: 5,
  max_age_seconds_default: 60,
  max_age_seconds_max: MAX_AGE_SECONDS_MAX,
  epoch_statements_max: EPOCH_STATEMENTS_MAX,
  feed_ack_seconds: 5,
  feed_silent_seconds: 15,
  feed_buffer_bytes_max: 256 * KIB,
  verifier_id_chars_max: 64,
  verifier_version_chars_max: 64,
  verifiers_kept_seconds: 30 * DAY,
  verifier_times_max: 16,
  verifier_time_ms_max: 3_600_000,
  tallies_per_report_max: 64,
  tally_count_max: 10_000_000,
  tally_report_seconds_min: 10,
  summary_items_max: 100,
  summary_rows_counted_max: 10_000,
  verifier_staleness_seconds_min: 1,
  verifier_staleness_seconds_max: 3600,
  clock_allowance_seconds: 10,
  log_kept_seconds_min: CREDENTIAL_LIFETIME_SECONDS_MAX + 30 * DAY,

  webhooks_per_site_max: 16,
  webhook_url_chars_max: 2048,
  webhook_attempts_max: 8,
  webhook_attempts_listed_max: 20,
  webhook_recovered_max: 500,
  webhook_test_seconds: 8,
  webhook_tests_per_minute_max: 10,
  webhook_answer_seconds_max: 15,
  webhook_answer_bytes_max: 64 * KIB,
  webhook_disabled_after_seconds: 5 * DAY,
  webhook_secret_overlap_seconds: DAY,
  webhook_deliveries_kept_seconds: 30 * DAY,
})

/** `counts: 'failures'`: only rejected attempts count. */
export interface RateLimit {
  readonly requests: number
  readonly window_seconds: number
  readonly per: 'address' | 'api_key' | 'sender'
  readonly counts: 'requests' | 'failures'
}

const perAddress = { window_seconds: 10, per: 'address' } as const

/**
 * The default rate limits, the same in development and production. The operator can change them.
 */
export const rateLimits = Object.freeze({
  keyless: { ...perAddress, requests: 600, counts: 'requests' },
  wrong_key: { ...perAddress, requests: 60, counts: 'failures' },
  unknown_key: { ...perAddress, requests: 60, counts: 'requests' },
  sign_in_start: { ...perAddress, requests: 300, counts: 'requests' },
  failed_presentation: { ...perAddress, requests: 600, counts: 'failures' },
  key: { window_seconds: 10, per: 'api_key', requests: 20_000, counts: 'requests' },
  signal: { window_seconds: 10, per: 'sender', requests: 5000, counts: 'requests' },
} as const satisfies Record<string, RateLimit>)

/**
 * The rate limit of an endpoint. `caller`: `key` with an API key, else `keyless`. `sign_in_start`
 * and `failed_presentation`: the limit of that name. `none`: no limit.
 */
export type RateClass = 'caller' | 'sign_in_start' | 'failed_presentation' | 'none'
