import { parseSiteId, type SiteId } from '@countersign/core'
import { type ConsoleRole, consoleRoles, isLine, isLoopback, limits } from '@countersign/core/contract'

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

/** An https URL, or http on loopback. The text stays as it is: providers compare it as text. */
export function parseProviderIssuer(text: string): string | undefined {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isPlain = [text, `${text}/`].includes(url.href) && !/[?#@]/.test(text)
  return isPlain && (url.protocol === 'https:' || isLoopback(url)) ? text : undefined
}

/** One printable line that is not empty. */
export function parseLine(text: string): string | undefined {
  return text.trim() !== '' && isLine(text, limits.label_chars_max) ? text : undefined
}

/** Visible ASCII without blanks. */
export function parseToken(text: string): string | undefined {
  return /^[\x21-\x7e]{1,512}$/.test(text) ? text : undefined
}

/** Scopes, separated by blanks, with `openid` among them. */
export function parseProviderScope(text: string): string | undefined {
  const scopes = text.split(/\s+/).filter((scope) => scope !== '')
  const isValid = scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(scope))
  return isValid && scopes.includes('openid') ? scopes.join(' ') : undefined
}

/**
 * `<group>=<site>:<role>` or `<group>=all:operator`, separated by blanks. A blank or a percent sign
 * in the name of a group is percent-encoded.
 */
export function parseGroupRoles(text: string): readonly GroupRole[] | undefined {
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
