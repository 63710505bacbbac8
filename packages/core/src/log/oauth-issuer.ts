import { parseScopeList, type Scope } from '../credential/ids.ts'
import type { JwtPolicy } from '../jwt/claims.ts'
import { type JwtKey, parseJwtKey } from '../jwt/jwk.ts'
import type { KeyStatus } from '../verify/trust.ts'
import { type Fields, isThumbprint, isTime, parseFields } from './members.ts'

/** What a site accepts from an OAuth issuer, as the log states it. */
export interface OAuthIssuerState {
  readonly type: 'oauth'
  readonly issuer: string
  readonly keys: readonly OAuthKeyState[]
  readonly audience: readonly string[]
  readonly client_ids: readonly string[] | null
  readonly required_claims: Readonly<Record<string, string | number | boolean>>
  readonly require_at_jwt: boolean
  readonly scope: readonly Scope[] | null
  readonly scope_claim: string
  readonly scope_map: Readonly<Record<string, readonly Scope[]>>
  readonly session_claim: string | null
  readonly subject_claim: string
  readonly token_ttl_seconds_max: number
  readonly user_ref_from_subject: boolean
}

export interface OAuthKeyState {
  /** The RFC 7638 thumbprint. */
  readonly id: string
  /** How tokens name the key. Null: its key set gives it no name. */
  readonly kid: string | null
  /** The JWK with its algorithm, as canonical JSON. */
  readonly key: string
  readonly status: KeyStatus
  /** Present if and only if `status` is `retired`. */
  readonly retired_at?: string
}

/** The settings of an issuer, unless the site chooses others. */
export const OAUTH_ISSUER_DEFAULTS: Omit<OAuthIssuerState, 'issuer' | 'keys' | 'audience'> = {
  type: 'oauth',
  client_ids: null,
  required_claims: {},
  require_at_jwt: true,
  scope: null,
  scope_claim: 'scope',
  scope_map: {},
  session_claim: null,
  subject_claim: 'sub',
  token_ttl_seconds_max: 86_400,
  user_ref_from_subject: false,
}

/** Every state has exactly these members. */
export const OAUTH_ISSUER_MEMBERS = 14
export const OAUTH_KEYS_MAX = 16
const OAUTH_LIST_MAX = 64
const ISSUER_CHARS_MAX = 1024
const TEXT_CHARS_MAX = 512
const OAUTH_ISSUER = /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?$/
const CLAIM = /^[^\s"\\\p{Cc}\p{Cs}]{1,128}$/u

/** An issuer URL as RFC 8414 §2 has it: no query and no fragment. */
export function isOAuthIssuer(value: unknown): value is string {
  return typeof value === 'string' && value.length <= ISSUER_CHARS_MAX && OAUTH_ISSUER.test(value)
}

/** Ignores other members of the object. The members of the copy are in canonical order. */
export function parseOAuthIssuerState(fields: Fields): OAuthIssuerState | undefined {
  const { issuer, type, require_at_jwt, user_ref_from_subject, token_ttl_seconds_max } = fields
  if (type !== 'oauth' || !isOAuthIssuer(issuer)) return undefined
  if (typeof require_at_jwt !== 'boolean' || typeof user_ref_from_subject !== 'boolean') return undefined
  if (!Number.isSafeInteger(token_ttl_seconds_max) || (token_ttl_seconds_max as number) < 1) return undefined
  const { subject_claim, scope_claim, session_claim } = fields
  if (!isClaimName(subject_claim) || !isClaimName(scope_claim)) return undefined
  if (session_claim !== null && !isClaimName(session_claim)) return undefined
  const audience = parseTexts(fields.audience)
  const client_ids = fields.client_ids === null ? null : parseTexts(fields.client_ids)
  const required_claims = parseRecord(fields.required_claims, parsePlain)
  const scope_map = parseRecord(fields.scope_map, parseScopeList)
  const scope = fields.scope === null ? null : parseScopeList(fields.scope)
  const keys = parseKeys(fields.keys)
  if (audience === undefined || audience.length === 0 || client_ids === undefined) return undefined
  if (required_claims === undefined || scope_map === undefined) return undefined
  if (scope === undefined || scope?.length === 0 || keys === undefined) return undefined
  // Otherwise an ID token of the same issuer could pass for an access token.
  if (!require_at_jwt && client_ids === null && Object.keys(required_claims).length === 0) return undefined
  return {
    audience,
    client_ids,
    issuer,
    keys,
    require_at_jwt,
    required_claims,
    scope,
    scope_claim,
    scope_map,
    session_claim,
    subject_claim,
    token_ttl_seconds_max: token_ttl_seconds_max as number,
    type,
    user_ref_from_subject,
  }
}

/** The canonical JSON of a key with its algorithm. `parseKeyText` reads it back. */
export function toKeyText({ algorithm, jwk }: JwtKey): string {
  return JSON.stringify({ alg: algorithm, ...jwk })
}

export function parseKeyText(text: unknown): JwtKey | undefined {
  if (typeof text !== 'string' || text.length > 1024) return undefined
  try {
    const key = parseJwtKey(JSON.parse(text))
    return key !== undefined && toKeyText(key) === text ? key : undefined
  } catch {
    return undefined
  }
}

export function toJwtPolicy(state: OAuthIssuerState): JwtPolicy {
  return {
    issuer: state.issuer,
    audience: state.audience,
    subjectClaim: state.subject_claim,
    sessionClaim: state.session_claim ?? undefined,
    scopeClaim: state.scope_claim,
    scopeMap: new Map(Object.entries(state.scope_map)),
    scope: state.scope === null ? undefined : new Set(state.scope),
    tokenTtlSecondsMax: state.token_ttl_seconds_max,
    requireAtJwt: state.require_at_jwt,
    requiredClaims: new Map(Object.entries(state.required_claims)),
    clientIds: state.client_ids === null ? undefined : new Set(state.client_ids),
  }
}

function parseKeys(value: unknown): readonly OAuthKeyState[] | undefined {
  if (!Array.isArray(value) || value.length > OAUTH_KEYS_MAX) return undefined
  const keys: OAuthKeyState[] = []
  for (const item of value) {
    const state = parseKeyState(item)
    if (state === undefined || keys.some(({ id }) => id === state.id)) return undefined
    keys.push(state)
  }
  return keys
}

function parseKeyState(value: unknown): OAuthKeyState | undefined {
  const retired = parseFields(value, 5)
  const { id, kid, key, status, retired_at } = retired ?? parseFields(value, 4) ?? {}
  if (!isThumbprint(id) || !(kid === null || isText(kid))) return undefined
  if (typeof key !== 'string' || parseKeyText(key) === undefined) return undefined
  if (retired !== undefined)
    return status === 'retired' && isTime(retired_at) ? { id, key, kid, retired_at, status } : undefined
  return status === 'active' || status === 'compromised' ? { id, key, kid, status } : undefined
}

/** A copy with the names in canonical order, which is that of UTF-16 code units. */
function parseRecord<Value>(
  value: unknown,
  parse: (value: unknown) => Value | undefined,
): Readonly<Record<string, Value>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const names = Object.keys(value).sort()
  if (names.length > OAUTH_LIST_MAX) return undefined
  const record: Record<string, Value> = {}
  for (const name of names) {
    const parsed = parse((value as Fields)[name])
    if (!isText(name) || name === '__proto__' || parsed === undefined) return undefined
    record[name] = parsed
  }
  return record
}

function parsePlain(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return value as boolean | number
  return isText(value) ? value : undefined
}

function parseTexts(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > OAUTH_LIST_MAX) return undefined
  if (!value.every(isText) || new Set(value).size !== value.length) return undefined
  return [...value]
}

function isText(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length > 0 && value.length <= TEXT_CHARS_MAX && value.isWellFormed()
  )
}

function isClaimName(value: unknown): value is string {
  return typeof value === 'string' && CLAIM.test(value)
}
