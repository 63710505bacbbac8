/**
 * Ids, each with one grammar. A string becomes an id only by its `parse` function, so code that
 * receives an id can rely on the grammar. Ids are compared byte by byte, never normalized.
 */
declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** A site: a canonical lower-case host name such as `shop.example`. */
export type SiteId = Branded<'SiteId'>
/** A user at one site: `did:service:ppid_…`. */
export type Ppid = Branded<'Ppid'>
/** A credential: `cred_…`. Inside the signed object it is written `did:service:cred_…`. */
export type CredentialId = Branded<'CredentialId'>
/** The site's name for the permission behind a credential: `perm_…` or a label of its own. */
export type PermissionId = Branded<'PermissionId'>
/** One scope value. Scopes are compared for equality; there are no wildcards and no hierarchy. */
export type Scope = Branded<'Scope'>

const SITE_LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const SITE_ID = new RegExp(`^(?:${SITE_LABEL}\\.)*${SITE_LABEL}$`)
const PPID = /^did:service:ppid_[A-Za-z0-9_-]{8,128}$/
const CREDENTIAL_ID = /^cred_[A-Za-z0-9_-]{8,64}$/
const DERIVED_ID = /^(?:did:service:ppid_j_|cred_j[ts]_)[A-Za-z0-9_-]{43}$/
const PERMISSION_ID = /^[A-Za-z0-9_.:-]{1,64}$/
const SCOPE = /^[a-z0-9_.:/-]{1,128}$/

const CREDENTIAL_DID_PREFIX = 'did:service:'

export const SCOPE_LIST_MAX = 32
const SITE_ID_CHARS_MAX = 253

/**
 * Undefined unless the value is a lower-case DNS name or an IPv4 address, without port, scheme,
 * wildcard or final dot.
 */
export function parseSiteId(value: unknown): SiteId | undefined {
  return typeof value === 'string' && value.length <= SITE_ID_CHARS_MAX && SITE_ID.test(value)
    ? (value as SiteId)
    : undefined
}

export function parsePpid(value: unknown): Ppid | undefined {
  return typeof value === 'string' && PPID.test(value) ? (value as Ppid) : undefined
}

export function parseCredentialId(value: unknown): CredentialId | undefined {
  return typeof value === 'string' && CREDENTIAL_ID.test(value) ? (value as CredentialId) : undefined
}

/**
 * Whether the id has the form of the ids that are derived from access tokens: the prefix and 43
 * characters of base64url. No credential may carry one, because a revocation of it would also
 * revoke a user or a token of an OAuth issuer, or the other way round.
 */
export function isDerivedId(id: Ppid | CredentialId): boolean {
  return DERIVED_ID.test(id)
}

/** Parses the `id` member of a signed credential, `did:service:cred_…`. */
export function parseCredentialDid(value: unknown): CredentialId | undefined {
  if (typeof value !== 'string' || !value.startsWith(CREDENTIAL_DID_PREFIX)) return undefined
  return parseCredentialId(value.slice(CREDENTIAL_DID_PREFIX.length))
}

export function credentialDid(id: CredentialId): string {
  return CREDENTIAL_DID_PREFIX + id
}

export function parsePermissionId(value: unknown): PermissionId | undefined {
  return typeof value === 'string' && PERMISSION_ID.test(value) ? (value as PermissionId) : undefined
}

export function parseScope(value: unknown): Scope | undefined {
  return typeof value === 'string' && SCOPE.test(value) ? (value as Scope) : undefined
}

/**
 * At most 32 different scopes. The list may be empty; the caller decides whether that is allowed.
 */
export function parseScopeList(value: unknown): readonly Scope[] | undefined {
  if (!Array.isArray(value) || value.length > SCOPE_LIST_MAX) return undefined
  for (let i = 0; i < value.length; i++) {
    if (parseScope(value[i]) === undefined || value.indexOf(value[i]) !== i) return undefined
  }
  return value as readonly Scope[]
}
