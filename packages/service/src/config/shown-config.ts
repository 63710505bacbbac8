import type { Config, RateLimits } from '../config.ts'
import { type ConsoleOidc, toGroupRoleText } from './console-oidc.ts'
import { rateLimitNames, type SettingName } from './setting-names.ts'
import { DAY_MS, HOUR_MS } from './units.ts'

/** A setting as it is shown, in the form of the configuration file. */
type ShownSetting = string | number | readonly string[]

/** `master_key` is shown for both settings of the master key. */
type ShownName = Exclude<SettingName, 'master_key_file'>

const HIDDEN = '(hidden)'

/**
 * The effective settings by their names and in their units, for display. What it returns can be put
 * into a configuration file, except for secrets, which are `(hidden)`. Settings that have neither a
 * value nor a default are left out.
 */
export function shownConfig(config: Config): Readonly<Partial<Record<ShownName, ShownSetting>>> {
  const { store, retention, overload } = config
  const shown: Readonly<Record<ShownName, ShownSetting | undefined>> = {
    base_url: config.baseUrl,
    host: config.host,
    port: config.port,
    admin_host: config.adminHost,
    admin_port: config.adminPort ?? 'off',
    console: config.console ? 'on' : 'off',
    console_url: config.consoleUrl,
    ...shownConsoleOidc(config.consoleOidc),
    data_dir: config.dataDir,
    database_url: store.kind === 'sqlite' ? `sqlite:${store.file}` : HIDDEN,
    head_file: config.headFile ?? 'off',
    master_key: HIDDEN,
    protected_site: config.protectedSite,
    protected_scope: config.protectedScope.length === 0 ? undefined : config.protectedScope,
    trusted_proxies: config.trustedProxies.length === 0 ? undefined : config.trustedProxies,
    workers: config.workers,
    log_level: config.logLevel,
    view_age_ms_max: config.viewAgeMsMax,
    issuer_keys_hours_max: config.issuerKeysAgeMsMax / HOUR_MS,
    log_kept_days: config.logKeptMs / DAY_MS,
    overload_event_loop_delay_ms_max: overload.eventLoopDelayMsMax,
    overload_accept_delay_ms_max: overload.acceptDelayMsMax,
    overload_in_flight_max: overload.inFlightMax,
    ...shownRateLimits(config.rateLimits),
    open_sign_ins_max: config.openSignInsMax,
    credentials_kept_days: retention.credentialsKeptMs / DAY_MS,
    audit_kept_days: retention.auditKeptMs === undefined ? 'all' : retention.auditKeptMs / DAY_MS,
    audit_archive_dir: retention.auditArchiveDir ?? 'off',
    receipts_kept_days: retention.receiptsKeptMs / DAY_MS,
    drill_every_hours: config.drillEveryMs === undefined ? 'off' : config.drillEveryMs / HOUR_MS,
  }
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined))
}

function shownConsoleOidc(oidc: ConsoleOidc | undefined) {
  return {
    console_oidc_issuer: oidc?.issuer,
    console_oidc_client_id: oidc?.clientId,
    console_oidc_client_secret: oidc?.clientSecret === undefined ? undefined : HIDDEN,
    console_oidc_client_auth: oidc?.clientAuth,
    console_oidc_name: oidc?.name,
    console_oidc_scope: oidc?.scope,
    console_oidc_groups_claim: oidc?.groupsClaim,
    console_oidc_roles: oidc?.roles.map(toGroupRoleText),
  }
}

/** `rate_limit_keyless: '600/10'` and the others. */
function shownRateLimits(limits: RateLimits) {
  const shown = rateLimitNames.map((name) => {
    const { requests, window_seconds } = limits[name]
    return [`rate_limit_${name}`, `${requests}/${window_seconds}`]
  })
  return Object.fromEntries(shown) as Record<`rate_limit_${keyof RateLimits}`, string>
}
