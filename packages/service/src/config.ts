import { resolve } from 'node:path'
import { parseScopeList, parseSiteId, type Scope, type SiteId } from '@countersign/core'
import { isLoopback, limits, type RateLimit, rateLimits } from '@countersign/core/contract'
import {
  type ConsoleOidc,
  parseGroupRoles,
  parseLine,
  parseProviderIssuer,
  parseProviderScope,
  parseToken,
  toGroupRoleText,
} from './console-oidc-settings.ts'
import { createClientAddress } from './http/client-address.ts'
import { OWN_KEY, readMasterKey } from './keys/master-key.ts'
import { readSettings, type SettingSources } from './settings.ts'

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
  readonly store:
    | { readonly kind: 'sqlite'; readonly file: string }
    | { readonly kind: 'postgres'; readonly url: string }
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

const DATA_DIR = './data'
const LOOPBACK = '127.0.0.1'
const PORT_MAX = 65_535
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const KEPT_DAYS_MAX = 36_500
export const WORKERS_MAX = 64
const LOG_KEPT_DAYS_MIN = (limits.log_kept_seconds_min * 1000) / DAY_MS
const STORE_WANTED = 'postgres://… or sqlite:<file>'
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
const RATE_LIMIT_NAMES = Object.keys(rateLimits) as (keyof RateLimits)[]

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
  ...RATE_LIMIT_NAMES.map((name) => `rate_limit_${name}` as const),
  'open_sign_ins_max',
  'credentials_kept_days',
  'audit_kept_days',
  'audit_archive_dir',
  'receipts_kept_days',
  'drill_every_hours',
] as const
type SettingName = (typeof settingNames)[number]

/**
 * These settings may also come from a file that NAME_FILE names. They cannot be flags: every user
 * of the machine can read the command line.
 */
const SECRETS: readonly SettingName[] = ['console_oidc_client_secret', 'database_url', 'master_key']

/**
 * Reads the settings: defaults, then the file, then the environment, then flags. Throws a TypeError
 * that names every mistake by its setting, and never contains the value of a secret.
 */
export function readConfig(mode: Mode, sources: SettingSources): Config {
  const mistakes: string[] = []
  const settings = readSettings(settingNames, SECRETS, sources, mistakes)
  const read = <T>(
    name: SettingName,
    standard: T,
    parse: (text: string) => T | undefined,
    wanted: string,
  ): T => {
    const text = settings.get(name)
    const value = text === undefined ? standard : parse(text)
    if (value !== undefined || text === undefined) return value as T
    mistakes.push(`${name} must be ${wanted}`)
    return standard
  }
  const integer = (min: number, max: number) => (text: string) =>
    /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined
  const count = (name: SettingName, standard: number, min: number, max: number) =>
    read(name, standard, integer(min, max), `an integer from ${min} to ${max}`)

  const port = count('port', 8787, 0, PORT_MAX)
  const hostOr = (name: SettingName, standard: string) =>
    read(
      name,
      standard,
      (text) => (/^[0-9A-Za-z.:-]+$/.test(text) ? text : undefined),
      'an address or a host name',
    )
  const host = hostOr('host', LOOPBACK)
  const adminHost = hostOr('admin_host', LOOPBACK)
  const admin = read(
    'admin_port',
    port === 0 ? 0 : Math.min(port + 1, PORT_MAX),
    parseAdminPort,
    'a port, or off',
  )
  const baseUrl = read(
    'base_url',
    `http://127.0.0.1:${port}`,
    parseBaseUrl,
    'an origin such as https://id.example, without a path',
  )
  const consoleUrl = read(
    'console_url',
    undefined as string | undefined,
    parseConsoleUrl,
    'an origin such as https://console.example, without a path; http is for loopback only',
  )
  const dataDir = resolve(
    read('data_dir', DATA_DIR, (text) => (text === '' ? undefined : text), 'a directory'),
  )
  const store = read('database_url', embeddedStore(dataDir), parseStore, STORE_WANTED)
  const workers = count('workers', 1, 1, WORKERS_MAX)

  const auditKept = read(
    'audit_kept_days',
    'all' as number | 'all',
    (text) => (text === 'all' ? text : integer(1, KEPT_DAYS_MAX)(text)),
    `an integer from 1 to ${KEPT_DAYS_MAX}, or all`,
  )
  if (auditKept !== 'all' && !settings.has('audit_archive_dir'))
    mistakes.push(
      'audit_archive_dir must be set with audit_kept_days: a directory, or off to remove rows without an archive',
    )

  const drillHours = read(
    'drill_every_hours',
    'off' as number | 'off',
    (text) => (text === 'off' ? text : integer(1, 8760)(text)),
    'an integer from 1 to 8760, or off',
  )

  if (mode === 'production') {
    if (!settings.has('base_url'))
      mistakes.push('base_url must be set: the address under which clients reach the service')
    else if (baseUrl.startsWith('http:') && !isLoopback(new URL(baseUrl)))
      mistakes.push('base_url must be https, unless it is on loopback')
  } else {
    for (const [name, value] of Object.entries({ host, admin_host: adminHost })) {
      if (['127.0.0.1', '::1', 'localhost'].includes(value)) continue
      mistakes.push(`${name} must be on loopback in development; use the production start to serve others`)
    }
  }
  if (workers > 1 && store.kind === 'sqlite')
    mistakes.push('workers above 1 need PostgreSQL: set database_url')
  if (admin !== 'off' && admin !== 0 && admin + workers - 1 > PORT_MAX) {
    mistakes.push(`admin_port must leave room for ${workers} ports, one for each worker`)
  }
  if (workers > 1 && port === 0)
    mistakes.push('workers above 1 need a port of their own: 0 would give each another one')
  const config: Config = {
    mode,
    baseUrl,
    host,
    port,
    adminHost,
    adminPort: admin === 'off' ? undefined : admin,
    store,
    dataDir,
    console: read('console', true, parseSwitch, 'on or off'),
    consoleUrl: consoleUrl === baseUrl ? undefined : consoleUrl,
    consoleOidc: readConsoleOidc(read, settings, mistakes),
    headFile: toHeadFile(settings, store, mistakes),
    masterKey: loadMasterKey(settings, mode, dataDir, mistakes),
    protectedSite: read(
      'protected_site',
      undefined as SiteId | undefined,
      parseSiteId,
      'a lower-case host name',
    ),
    protectedScope: read(
      'protected_scope',
      [] as readonly Scope[],
      (text) => parseScopeList(words(text)),
      'scopes, separated by spaces',
    ),
    trustedProxies: read(
      'trusted_proxies',
      [] as readonly string[],
      parseProxies,
      'addresses or CIDR ranges, separated by spaces',
    ),
    workers,
    logLevel: read(
      'log_level',
      mode === 'production' ? 'info' : 'warn',
      (text) => LOG_LEVELS.find((level) => level === text),
      LOG_LEVELS.join(', '),
    ),
    viewAgeMsMax: count('view_age_ms_max', 2000, 500, 60_000),
    issuerKeysAgeMsMax: count('issuer_keys_hours_max', 24, 1, 8760) * HOUR_MS,
    logKeptMs: toLogKept(settings, mistakes),
    rateLimits: Object.fromEntries(
      RATE_LIMIT_NAMES.map((name) => [
        name,
        read(
          `rate_limit_${name}`,
          rateLimits[name] as RateLimit,
          (text) => parsePace(text, rateLimits[name]),
          'requests/seconds, such as 600/10',
        ),
      ]),
    ) as RateLimits,
    openSignInsMax: count('open_sign_ins_max', 10_000, 1, 1_000_000),
    drillEveryMs: drillHours === 'off' ? undefined : drillHours * HOUR_MS,
    retention: {
      credentialsKeptMs: count('credentials_kept_days', 30, 1, KEPT_DAYS_MAX) * DAY_MS,
      auditKeptMs: auditKept === 'all' ? undefined : auditKept * DAY_MS,
      auditArchiveDir: toArchiveDir(settings, mistakes),
      receiptsKeptMs: count('receipts_kept_days', 396, 1, KEPT_DAYS_MAX) * DAY_MS,
    },
    overload: {
      eventLoopDelayMsMax: count('overload_event_loop_delay_ms_max', 100, 10, 60_000),
      acceptDelayMsMax: count('overload_accept_delay_ms_max', 250, 10, 60_000),
      inFlightMax: count('overload_in_flight_max', 1000, 1, 1_000_000),
    },
  }
  requireNone(mistakes)
  return Object.freeze(config)
}

type ReadSetting = <T>(
  name: SettingName,
  standard: T,
  parse: (text: string) => T | undefined,
  wanted: string,
) => T

function readConsoleOidc(
  read: ReadSetting,
  settings: ReadonlyMap<SettingName, string>,
  mistakes: string[],
): ConsoleOidc | undefined {
  const none = undefined as string | undefined
  const before = mistakes.length
  const issuer = read(
    'console_oidc_issuer',
    none,
    parseProviderIssuer,
    'the issuer of the identity provider, https, or http on loopback, without a query',
  )
  const clientId = read('console_oidc_client_id', none, parseToken, 'the id of the client at the provider')
  const clientSecret = read('console_oidc_client_secret', none, parseToken, 'the secret of the client')
  const clientAuth = read(
    'console_oidc_client_auth',
    'basic' as ConsoleOidc['clientAuth'],
    (text) => (text === 'basic' || text === 'post' ? text : undefined),
    'basic or post',
  )
  const name = read('console_oidc_name', none, parseLine, 'one line of at most 64 characters')
  const scope = read(
    'console_oidc_scope',
    'openid profile',
    parseProviderScope,
    'scopes, separated by spaces, with openid',
  )
  const groupsClaim = read('console_oidc_groups_claim', 'groups', parseToken, 'the name of a claim')
  const roles = read(
    'console_oidc_roles',
    undefined as ConsoleOidc['roles'] | undefined,
    parseGroupRoles,
    '<group>=<site>:<role> or <group>=all:operator, separated by spaces',
  )
  if (mistakes.length > before) return undefined
  if (issuer !== undefined && clientId !== undefined && roles !== undefined)
    return {
      issuer,
      clientId,
      clientSecret,
      clientAuth,
      name: name ?? new URL(issuer).host,
      scope,
      groupsClaim,
      roles,
    }
  const needed = ['console_oidc_issuer', 'console_oidc_client_id', 'console_oidc_roles'] as const
  const isWanted = [...needed, 'console_oidc_client_secret' as const].some((each) => settings.has(each))
  for (const each of needed)
    if (isWanted && !settings.has(each))
      mistakes.push(`${each} must be set with the other settings of the identity provider`)
  return undefined
}

/**
 * Reads some settings, for commands that need nothing else. Throws like `readConfig`. The other
 * settings are not validated.
 */
function readSome<T>(
  sources: SettingSources,
  read: (settings: ReadonlyMap<SettingName, string>, mistakes: string[]) => T,
): T {
  const mistakes: string[] = []
  const found = read(readSettings(settingNames, SECRETS, sources, mistakes), mistakes)
  requireNone(mistakes)
  return found
}

function requireNone(mistakes: readonly string[]): void {
  if (mistakes.length > 0)
    throw new TypeError(
      `These settings are invalid:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`,
    )
}

/** Reads only the settings of the store. Throws like `readConfig`. */
export function readStoreConfig(sources: SettingSources): Config['store'] {
  return readSome(sources, toStore)
}

/** Reads only the settings of the store and the head file. Throws like `readConfig`. */
export function readHeadFileConfig(sources: SettingSources): Config['headFile'] {
  return readSome(sources, (settings, mistakes) =>
    toHeadFile(settings, toStore(settings, mistakes), mistakes),
  )
}

/** Where settings say that files are. */
export interface FilePaths {
  readonly dataDir: string
  readonly masterKeyFile: string | undefined
}

/**
 * Reads only the paths of files, whatever is wrong with other settings. Throws a TypeError when the
 * configuration file cannot be read.
 */
export function readFilePaths(sources: SettingSources): FilePaths {
  const settings = readSettings(settingNames, SECRETS, sources, [])
  return { dataDir: toDataDir(settings), masterKeyFile: settings.get('master_key_file') }
}

/** Reads only the directory of the archives of audit rows. Throws like `readConfig`. */
export function readArchiveDirConfig(sources: SettingSources): Config['retention']['auditArchiveDir'] {
  return readSome(sources, toArchiveDir)
}

/** Reads only how long entries of the log are kept. Throws like `readConfig`. */
export function readLogKeptConfig(sources: SettingSources): Config['logKeptMs'] {
  return readSome(sources, toLogKept)
}

function toLogKept(settings: ReadonlyMap<SettingName, string>, mistakes: string[]): number {
  const days = Number(settings.get('log_kept_days') ?? LOG_KEPT_DAYS_MIN)
  if (!Number.isInteger(days) || days < LOG_KEPT_DAYS_MIN || days > KEPT_DAYS_MAX)
    mistakes.push(`log_kept_days must be an integer from ${LOG_KEPT_DAYS_MIN} to ${KEPT_DAYS_MAX}`)
  return days * DAY_MS
}

/** Reads only the master key. Throws like `readConfig`. */
export function readMasterKeyConfig(sources: SettingSources): Uint8Array {
  return readSome(sources, (settings, mistakes) =>
    loadMasterKey(settings, 'production', toDataDir(settings), mistakes),
  )
}

function toDataDir(settings: ReadonlyMap<SettingName, string>): string {
  return resolve(settings.get('data_dir') ?? DATA_DIR)
}

function toStore(settings: ReadonlyMap<SettingName, string>, mistakes: string[]): Config['store'] {
  const standard = embeddedStore(toDataDir(settings))
  const text = settings.get('database_url')
  const store = text === undefined ? standard : parseStore(text)
  if (store === undefined) mistakes.push(`database_url must be ${STORE_WANTED}`)
  return store ?? standard
}

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
  const shown = RATE_LIMIT_NAMES.map((name) => {
    const { requests, window_seconds } = limits[name]
    return [`rate_limit_${name}`, `${requests}/${window_seconds}`]
  })
  return Object.fromEntries(shown) as Record<`rate_limit_${keyof RateLimits}`, string>
}

function loadMasterKey(
  settings: ReadonlyMap<SettingName, string>,
  mode: Mode,
  dataDir: string,
  mistakes: string[],
): Uint8Array {
  try {
    return readMasterKey({
      text: settings.get('master_key'),
      file: settings.get('master_key_file'),
      dataDir,
      mode,
    })
  } catch (error) {
    const { path = 'its file' } = error as NodeJS.ErrnoException
    const advice =
      findCode(error) === 'ENOENT'
        ? `; to make one: (umask 077; openssl rand -hex 32 > ${path}). ${OWN_KEY}`
        : ''
    mistakes.push(
      `master_key: ${error instanceof TypeError ? error.message : `${path} cannot be read (${findCode(error)})${advice}`}`,
    )
    return new Uint8Array()
  }
}

function findCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown reason'
}

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== '')

function parseBaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    (text === url.origin || text === `${url.origin}/`)
    ? url.origin
    : undefined
}

function parseConsoleUrl(text: string): string | undefined {
  const origin = parseBaseUrl(text)
  return origin !== undefined && (origin.startsWith('https:') || isLoopback(new URL(origin)))
    ? origin
    : undefined
}

function embeddedStore(dataDir: string): Config['store'] {
  return { kind: 'sqlite', file: resolve(dataDir, 'countersign.db') }
}

/**
 * By default the head file is next to an embedded store. With PostgreSQL there is none unless it is
 * set, since nodes need not have a disk.
 */
function toHeadFile(
  settings: ReadonlyMap<SettingName, string>,
  store: Config['store'],
  mistakes: string[],
): Config['headFile'] {
  const text = settings.get('head_file')
  if (text === '') mistakes.push('head_file must be a file, or off')
  if (text !== undefined) return text === 'off' || text === '' ? undefined : resolve(text)
  return store.kind === 'sqlite' ? `${store.file.replace(/\.db$/, '')}.heads` : undefined
}

function toArchiveDir(settings: ReadonlyMap<SettingName, string>, mistakes: string[]): string | undefined {
  const text = settings.get('audit_archive_dir')
  if (text === '') mistakes.push('audit_archive_dir must be a directory, or off')
  return text === undefined || text === '' || text === 'off' ? undefined : resolve(text)
}

function parseStore(text: string): Config['store'] | undefined {
  if (/^postgres(?:ql)?:\/\/./.test(text)) return { kind: 'postgres', url: text }
  return /^sqlite:./.test(text) ? { kind: 'sqlite', file: resolve(text.slice('sqlite:'.length)) } : undefined
}

function parseSwitch(text: string): boolean | undefined {
  return text === 'on' ? true : text === 'off' ? false : undefined
}

function parseAdminPort(text: string): number | 'off' | undefined {
  if (text === 'off') return text
  return /^\d{1,5}$/.test(text) && Number(text) <= PORT_MAX ? Number(text) : undefined
}

function parseProxies(text: string): readonly string[] | undefined {
  try {
    createClientAddress(words(text))
    return words(text)
  } catch {
    return undefined
  }
}

function parsePace(text: string, standard: RateLimit): RateLimit | undefined {
  const [, requests, seconds] = /^(\d{1,9})\/(\d{1,5})$/.exec(text) ?? []
  if (requests === undefined || seconds === undefined || Number(requests) < 1 || Number(seconds) < 1)
    return undefined
  return { ...standard, requests: Number(requests), window_seconds: Number(seconds) }
}
