import { parseScopeList, parseSiteId, type Scope, type SiteId } from '@countersign/core'
import { type RateLimit, rateLimits } from '@countersign/core/contract'
import { readAddresses, readTrustedProxies, toWords } from './config/address-settings.ts'
import { type ConsoleOidc, readConsoleOidc } from './config/console-oidc.ts'
import {
  KEPT_DAYS_MAX,
  loadMasterKey,
  readArchiveDir,
  readDataDir,
  readHeadFile,
  readLogKept,
  readStoreSetting,
  type StoreConfig,
} from './config/file-settings.ts'
import { rateLimitNames } from './config/setting-names.ts'
import { SettingReader } from './config/setting-reader.ts'
import type { SettingSources } from './config/settings.ts'
import { DAY_MS, HOUR_MS } from './config/units.ts'

/** The settings of one node, read once and frozen. docs/operating.md describes each of them. */
export interface Config {
  readonly mode: 'development' | 'production'
  /** The public address of the service, without a slash at the end; ids and `iss` contain it. */
  readonly baseUrl: string
  readonly host: string
  readonly port: number
  /** The admin listener. Without a port there is none. */
  readonly adminHost: string
  readonly adminPort: number | undefined
  readonly store: StoreConfig
  readonly dataDir: string
  /** Whether people can use the console. */
  readonly console: boolean
  /** The origin that only the console has. Undefined: it is at the base URL. */
  readonly consoleUrl: string | undefined
  /** The identity provider of the console. Undefined: there is none. */
  readonly consoleOidc: ConsoleOidc | undefined
  /** The file with the last signed head of each site, outside the store. Undefined: no file. */
  readonly headFile: string | undefined
  /** Encrypts secrets at rest: 32 bytes. */
  readonly masterKey: Uint8Array
  /** The site and the scope of the reference protected route. */
  readonly protectedSite: SiteId | undefined
  readonly protectedScope: readonly Scope[]
  /** Addresses of proxies whose X-Forwarded-For is trusted for rate limits. */
  readonly trustedProxies: readonly string[]
  readonly workers: number
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** The maximum age of the revocation data that a verification may use. */
  readonly viewAgeMsMax: number
  /**
   * Keys of issuers that could not be fetched again for longer are removed until they can be.
   */
  readonly issuerKeysAgeMsMax: number
  /** How long entries of the log are kept. */
  readonly logKeptMs: number
  readonly rateLimits: RateLimits
  /** How many sign-ins of one site may be open at the same time, on all nodes together. */
  readonly openSignInsMax: number
  /** How often a drill starts by itself at each site with verifiers. Undefined: never. */
  readonly drillEveryMs: number | undefined
  /** How long old rows are kept. */
  readonly retention: {
    /** After they have expired. */
    readonly credentialsKeptMs: number
    /** Undefined: permanently. */
    readonly auditKeptMs: number | undefined
    /** Where audit rows are written before they are removed. Undefined: nowhere. */
    readonly auditArchiveDir: string | undefined
    /** Receipts and drills. */
    readonly receiptsKeptMs: number
  }
  /** Above this load verifications are rejected with 503, so that revocations still succeed. */
  readonly overload: {
    readonly eventLoopDelayMsMax: number
    readonly acceptDelayMsMax: number
    readonly inFlightMax: number
  }
}

/** The rate limits of the contract, with the numbers of the operator. */
export type RateLimits = Readonly<Record<keyof typeof rateLimits, RateLimit>>

export type Mode = Config['mode']

/** The maximum of the setting `workers`. */
export const WORKERS_MAX = 64
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/**
 * Reads the settings: defaults, then the file, then the environment, then flags. Throws a TypeError
 * that names every mistake by its setting, and never contains the value of a secret.
 */
export function readConfig(mode: Mode, sources: SettingSources): Config {
  const settings = new SettingReader(sources)
  const workers = settings.integer('workers', 1, 1, WORKERS_MAX)
  const addresses = readAddresses(settings, mode, workers)
  const dataDir = readDataDir(settings)
  const store = readStoreSetting(settings, dataDir)
  if (workers > 1 && store.kind === 'sqlite')
    settings.report('workers above 1 need PostgreSQL: set database_url')
  const drillHours = settings.integerOr('drill_every_hours', 'off', 1, 8760)
  const config: Config = {
    mode,
    ...addresses,
    store,
    dataDir,
    console: settings.value('console', true, parseSwitch, 'on or off'),
    consoleOidc: readConsoleOidc(settings),
    headFile: readHeadFile(settings, store),
    masterKey: loadMasterKey(settings, mode, dataDir),
    protectedSite: settings.value<SiteId | undefined>(
      'protected_site',
      undefined,
      parseSiteId,
      'a lower-case host name',
    ),
    protectedScope: settings.value<readonly Scope[]>(
      'protected_scope',
      [],
      (text) => parseScopeList(toWords(text)),
      'scopes, separated by spaces',
    ),
    trustedProxies: readTrustedProxies(settings),
    workers,
    logLevel: settings.value(
      'log_level',
      mode === 'production' ? 'info' : 'warn',
      (text) => LOG_LEVELS.find((level) => level === text),
      LOG_LEVELS.join(', '),
    ),
    viewAgeMsMax: settings.integer('view_age_ms_max', 2000, 500, 60_000),
    issuerKeysAgeMsMax: settings.integer('issuer_keys_hours_max', 24, 1, 8760) * HOUR_MS,
    logKeptMs: readLogKept(settings),
    rateLimits: readRateLimits(settings),
    openSignInsMax: settings.integer('open_sign_ins_max', 10_000, 1, 1_000_000),
    drillEveryMs: drillHours === 'off' ? undefined : drillHours * HOUR_MS,
    retention: readRetention(settings),
    overload: {
      eventLoopDelayMsMax: settings.integer('overload_event_loop_delay_ms_max', 100, 10, 60_000),
      acceptDelayMsMax: settings.integer('overload_accept_delay_ms_max', 250, 10, 60_000),
      inFlightMax: settings.integer('overload_in_flight_max', 1000, 1, 1_000_000),
    },
  }
  settings.requireNoMistakes()
  return Object.freeze(config)
}

function parseSwitch(text: string): boolean | undefined {
  return text === 'on' ? true : text === 'off' ? false : undefined
}

function readRetention(settings: SettingReader): Config['retention'] {
  const auditDays = settings.integerOr('audit_kept_days', 'all', 1, KEPT_DAYS_MAX)
  if (auditDays !== 'all' && !settings.isSet('audit_archive_dir'))
    settings.report(
      'audit_archive_dir must be set with audit_kept_days: a directory, or off to remove rows without an archive',
    )
  return {
    credentialsKeptMs: settings.integer('credentials_kept_days', 30, 1, KEPT_DAYS_MAX) * DAY_MS,
    auditKeptMs: auditDays === 'all' ? undefined : auditDays * DAY_MS,
    auditArchiveDir: readArchiveDir(settings),
    receiptsKeptMs: settings.integer('receipts_kept_days', 396, 1, KEPT_DAYS_MAX) * DAY_MS,
  }
}

function readRateLimits(settings: SettingReader): RateLimits {
  const read = rateLimitNames.map((name) => {
    const fallback: RateLimit = rateLimits[name]
    const parse = (text: string) => parseRateLimit(text, fallback)
    const wanted = 'requests/seconds, such as 600/10'
    return [name, settings.value(`rate_limit_${name}`, fallback, parse, wanted)]
  })
  return Object.fromEntries(read) as RateLimits
}

/** `600/10`: 600 requests in 10 seconds. What is limited stays as in the contract. */
function parseRateLimit(text: string, fallback: RateLimit): RateLimit | undefined {
  const [, requests, seconds] = /^(\d{1,9})\/(\d{1,5})$/.exec(text) ?? []
  if (requests === undefined || seconds === undefined || Number(requests) < 1 || Number(seconds) < 1)
    return undefined
  return { ...fallback, requests: Number(requests), window_seconds: Number(seconds) }
}
