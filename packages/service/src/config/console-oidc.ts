import { parseSiteId, type SiteId } from '@countersign/core'
import { type ConsoleRole, consoleRoles, isLine, isLoopback, limits } from '@countersign/core/contract'
import type { SettingReader } from './setting-reader.ts'

/** The identity provider with which people sign in to the console. */
export interface ConsoleOidc {
  /** As the provider writes it, character by character. */
  readonly issuer: string
  readonly clientId: string
  /** Undefined: a client without a secret. */
  readonly clientSecret: string | undefined
  /** How the secret is sent to the provider. */
  readonly clientAuth: 'basic' | 'post'
  /** The name of the provider, for the button. */
  readonly name: string
  readonly scope: string
  /** The claim of the ID token that lists the groups of the person. */
  readonly groupsClaim: string
  /** In the order in which they count. */
  readonly roles: readonly GroupRole[]
}

/** Gives a group of the identity provider a role. */
export interface GroupRole {
  readonly group: string
  /** Null for an operator. */
  readonly siteId: SiteId | null
  readonly role: ConsoleRole
}

const GROUPS_MAX = 500

/**
 * The settings `console_oidc_*`. Undefined: none is set, or they are invalid; then every mistake is
 * reported.
 */
export function readConsoleOidc(settings: SettingReader): ConsoleOidc | undefined {
  const none = undefined as string | undefined
  const before = settings.mistakeCount
  const issuer = settings.value(
    'console_oidc_issuer',
    none,
    parseProviderIssuer,
    'the issuer of the identity provider, https, or http on loopback, without a query',
  )
  const clientId = settings.value(
    'console_oidc_client_id',
    none,
    parseToken,
    'the id of the client at the provider',
  )
  const clientSecret = settings.value(
    'console_oidc_client_secret',
    none,
    parseToken,
    'the secret of the client',
  )
  const clientAuth = settings.value(
    'console_oidc_client_auth',
    'basic' as ConsoleOidc['clientAuth'],
    (text) => (text === 'basic' || text === 'post' ? text : undefined),
    'basic or post',
  )
  const name = settings.value('console_oidc_name', none, parseLine, 'one line of at most 64 characters')
  const scope = settings.value(
    'console_oidc_scope',
    'openid profile',
    parseProviderScope,
    'scopes, separated by spaces, with openid',
  )
  const groupsClaim = settings.value('console_oidc_groups_claim', 'groups', parseToken, 'the name of a claim')
  const roles = settings.value(
    'console_oidc_roles',
    undefined as ConsoleOidc['roles'] | undefined,
    parseGroupRoles,
    '<group>=<site>:<role> or <group>=all:operator, separated by spaces',
  )
  if (settings.mistakeCount > before) return undefined
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
  const isWanted = [...needed, 'console_oidc_client_secret' as const].some((each) => settings.isSet(each))
  for (const each of needed)
    if (isWanted && !settings.isSet(each))
      settings.report(`${each} must be set with the other settings of the identity provider`)
  return undefined
}

/** An https URL, or http on loopback. The text stays as it is: providers compare it as text. */
function parseProviderIssuer(text: string): string | undefined {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isPlain = [text, `${text}/`].includes(url.href) && !/[?#@]/.test(text)
  return isPlain && (url.protocol === 'https:' || isLoopback(url)) ? text : undefined
}

/** One printable line that is not empty. */
function parseLine(text: string): string | undefined {
  return text.trim() !== '' && isLine(text, limits.label_chars_max) ? text : undefined
}

/** Visible ASCII without blanks. */
function parseToken(text: string): string | undefined {
  return /^[\x21-\x7e]{1,512}$/.test(text) ? text : undefined
}

/** Scopes, separated by blanks, with `openid` among them. */
function parseProviderScope(text: string): string | undefined {
  const scopes = text.split(/\s+/).filter((scope) => scope !== '')
  const isValid = scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(scope))
  return isValid && scopes.includes('openid') ? scopes.join(' ') : undefined
}

/**
 * `<group>=<site>:<role>` or `<group>=all:operator`, separated by blanks. A blank or a percent sign
 * in the name of a group is percent-encoded.
 */
function parseGroupRoles(text: string): readonly GroupRole[] | undefined {
  const parsed = text
    .split(/\s+/)
    .filter((word) => word !== '')
    .map(parseGroupRole)
  const known = parsed.filter((each) => each !== undefined)
  const sites = new Set(known.map(({ siteId }) => siteId))
  const isFit = known.length > 0 && known.length <= GROUPS_MAX && sites.size <= limits.person_roles_max
  return isFit && known.length === parsed.length ? known : undefined
}

/** The text that `parseGroupRoles` reads as this role. */
export function toGroupRoleText({ group, siteId, role }: GroupRole): string {
  return `${group.replaceAll(/[\s%]/g, encodeURIComponent)}=${siteId ?? 'all'}:${role}`
}

function parseGroupRole(word: string): GroupRole | undefined {
  const [, encoded = '', site = '', name = ''] = /^(.+)=([^=:]+):([a-z]+)$/.exec(word) ?? []
  const role = consoleRoles.find((each) => each === name)
  const group = decode(encoded)
  if (role === undefined || group === undefined) return undefined
  if (role === 'operator') return site === 'all' ? { group, siteId: null, role } : undefined
  const siteId = parseSiteId(site)
  return siteId === undefined || site === 'all' ? undefined : { group, siteId, role }
}

function decode(text: string): string | undefined {
  try {
    const group = decodeURIComponent(text)
    return isLine(group, limits.user_ref_chars_max) ? group : undefined
  } catch {
    return undefined
  }
}
