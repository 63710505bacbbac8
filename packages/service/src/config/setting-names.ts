import { rateLimits } from '@countersign/core/contract'

/** The names of the rate limits of the contract. Each has a setting `rate_limit_<name>`. */
export const rateLimitNames = Object.keys(rateLimits) as (keyof typeof rateLimits)[]

/**
 * All settings by their name in the file. In the environment a setting is COUNTERSIGN_<NAME>, on
 * the command line --<name> with dashes.
 */
export const settingNames = [
  'base_url',
  'host',
  'port',
  'admin_host',
  'admin_port',
  'console',
  'console_url',
  'console_oidc_issuer',
  'console_oidc_client_id',
  'console_oidc_client_secret',
  'console_oidc_client_auth',
  'console_oidc_name',
  'console_oidc_scope',
  'console_oidc_groups_claim',
  'console_oidc_roles',
  'data_dir',
  'database_url',
  'head_file',
  'master_key',
  'master_key_file',
  'protected_site',
  'protected_scope',
  'trusted_proxies',
  'workers',
  'log_level',
  'view_age_ms_max',
  'issuer_keys_hours_max',
  'log_kept_days',
  'overload_event_loop_delay_ms_max',
  'overload_accept_delay_ms_max',
  'overload_in_flight_max',
  ...rateLimitNames.map((name) => `rate_limit_${name}` as const),
  'open_sign_ins_max',
  'credentials_kept_days',
  'audit_kept_days',
  'audit_archive_dir',
  'receipts_kept_days',
  'drill_every_hours',
] as const

/** The name of one setting. */
export type SettingName = (typeof settingNames)[number]

/**
 * These settings may also come from a file that NAME_FILE names. They cannot be flags: every user
 * of the machine can read the command line.
 */
export const secretSettings: readonly SettingName[] = [
  'console_oidc_client_secret',
  'database_url',
  'master_key',
]
