import type { CredentialId, Ppid, Scope, SiteId } from '../credential/ids.ts'
import { parseCredentialId, parsePpid, parseScopeList, parseSiteId } from '../credential/ids.ts'
import { parseMultikey } from '../proof/keys.ts'
import type { KeyStatus } from '../verify/trust.ts'
import { type Fields, isThumbprint, isTime, parseFields } from './members.ts'
import {
  isOAuthIssuer,
  OAUTH_ISSUER_MEMBERS,
  type OAuthIssuerState,
  parseOAuthIssuerState,
} from './oauth-issuer.ts'
import { parseEntryTime } from './parse-entry-time.ts'

/**
 * One entry of a site's log, as sent and stored. `hash` covers all other members, and `prev_hash`
 * is the hash of the previous entry.
 */
export type Entry<Kind extends EntryKind = EntryKind> = {
  readonly [K in Kind]: {
    readonly epoch: string
    readonly seq: number
    readonly site_id: SiteId
    readonly kind: K
    readonly body: EntryBodies[K]
    readonly at: string
    readonly prev_hash: string
    readonly hash: string
  }
}[Kind]

export type EntryKind = keyof EntryBodies

/**
 * The body of each kind of entry. A new kind is a new row here and in `bodyParsers`, and a case in
 * `SiteState.apply`.
 */
export interface EntryBodies {
  readonly 'user.revoked': { readonly ppid: Ppid; readonly revoked_at: string }
  readonly 'user.reinstated': { readonly ppid: Ppid; readonly reinstated_at: string }
  /** Access that was issued to the user at or before `before` has ended; later access is valid. */
  readonly 'user.signed_out': { readonly ppid: Ppid; readonly before: string }
  readonly 'credential.revoked': { readonly credential_id: CredentialId; readonly revoked_at: string }
  readonly 'token.revoked': { readonly token_sha256: string; readonly revoked_at: string }
  /** By the RFC 7638 thumbprint of a stolen key: everything bound to or delegated through it. */
  readonly 'holder.revoked': { readonly thumbprint: string; readonly revoked_at: string }
  readonly 'issuer.trusted': IssuerState
  readonly 'oauth_issuer.trusted': OAuthIssuerState
  readonly 'issuer.distrusted': { readonly issuer: string }
  /** Everything that the issuer signed at or before `before` is invalid. */
  readonly 'issuer.cut_off': { readonly issuer: string; readonly before: string }
  readonly 'key.retired': KeyChange
  readonly 'key.compromised': KeyChange
  readonly 'site.changed': SettingsState
  /** Everything that was issued for the site at or before `before` is invalid. */
  readonly 'site.cut_off': { readonly before: string }
}

/** The complete settings of an issuer that a site trusts. Null means no limit. */
export interface IssuerState {
  readonly issuer: string
  readonly keys: readonly KeyState[]
  readonly scope: readonly Scope[] | null
  readonly credential_ttl_seconds_max: number | null
}

export interface KeyState {
  /** The fragment of its verificationMethod. */
  readonly id: string
  readonly key: string
  readonly status: KeyStatus
  /** Present only if `status` is `retired`. */
  readonly retired_at?: string
}

export interface KeyChange {
  readonly issuer: string
  readonly key_id: string
  readonly at: string
}

export interface SettingsState {
  readonly bearer: 'on' | 'off'
  readonly holder_proof: 'optional' | 'required'
  /** `off`: delegated credentials are rejected. */
  readonly delegation: 'on' | 'off'
  readonly credential_ttl_seconds_max: number | null
}

export const ISSUER_KEYS_MAX = 32
const ISSUER_CHARS_MAX = 1024

const EPOCH = /^[0-9a-z]{8,32}$/
const ISSUER = /^did:(?:key|jwk|web):[A-Za-z0-9._:%-]+$/
const KEY_ID = /^[A-Za-z0-9._~:=+-]{1,128}$/

type Parser<Value> = (fields: Fields) => Value | undefined

/**
 * Undefined unless the value has exactly the members of an entry, each well-formed. Unknown kinds
 * and members are rejected: a reader that skipped an entry might keep trusting what the entry
 * revokes. Returns a copy, so the hashed data is the data in use. The members of the body are in
 * canonical order (RFC 8785 §3.2.3), which `entryHash` requires.
 */
export function parseEntry(value: unknown): Entry | undefined {
  const fields = parseFields(value, 8)
  if (fields === undefined) return undefined
  const { epoch, seq, site_id, kind, at, prev_hash, hash } = fields
  const parseBody = bodyParsers.get(kind as EntryKind)
  if (
    parseBody === undefined ||
    !isEpoch(epoch) ||
    !isSeq(seq) ||
    seq === 0 ||
    parseSiteId(site_id) === undefined
  )
    return undefined
  if (parseEntryTime(at) === undefined || !isSha256Hex(prev_hash) || !isSha256Hex(hash)) return undefined
  const body = parseBody(fields.body)
  if (body === undefined) return undefined
  return { at, body, epoch, hash, kind, prev_hash, seq, site_id } as Entry
}

const bodyParsers: ReadonlyMap<EntryKind, (body: unknown) => EntryBodies[EntryKind] | undefined> = new Map(
  Object.entries({
    'user.revoked': withMembers(2, ({ ppid, revoked_at }) =>
      isPpid(ppid) && isTime(revoked_at) ? { ppid, revoked_at } : undefined,
    ),
    'user.reinstated': withMembers(2, ({ ppid, reinstated_at }) =>
      isPpid(ppid) && isTime(reinstated_at) ? { ppid, reinstated_at } : undefined,
    ),
    'user.signed_out': withMembers(2, ({ ppid, before }) =>
      isPpid(ppid) && isTime(before) ? { before, ppid } : undefined,
    ),
    'credential.revoked': withMembers(2, ({ credential_id, revoked_at }) =>
      isCredentialId(credential_id) && isTime(revoked_at) ? { credential_id, revoked_at } : undefined,
    ),
    'token.revoked': withMembers(2, ({ token_sha256, revoked_at }) =>
      isSha256Hex(token_sha256) && isTime(revoked_at) ? { revoked_at, token_sha256 } : undefined,
    ),
    'holder.revoked': withMembers(2, ({ thumbprint, revoked_at }) =>
      isThumbprint(thumbprint) && isTime(revoked_at) ? { revoked_at, thumbprint } : undefined,
    ),
    'issuer.trusted': withMembers(4, parseIssuerState),
    'oauth_issuer.trusted': withMembers(OAUTH_ISSUER_MEMBERS, parseOAuthIssuerState),
    'issuer.distrusted': withMembers(1, ({ issuer }) => (isIssuer(issuer) ? { issuer } : undefined)),
    'issuer.cut_off': withMembers(2, ({ issuer, before }) =>
      isIssuer(issuer) && isTime(before) ? { before, issuer } : undefined,
    ),
    'key.retired': withMembers(3, parseKeyChange),
    'key.compromised': withMembers(3, parseKeyChange),
    'site.changed': withMembers(4, parseSettingsState),
    'site.cut_off': withMembers(1, ({ before }) => (isTime(before) ? { before } : undefined)),
  } satisfies { readonly [Kind in EntryKind]: (body: unknown) => EntryBodies[Kind] | undefined }),
) as never

export function isEntryKind(value: unknown): value is EntryKind {
  return bodyParsers.has(value as EntryKind)
}

/** Ignores other members of the object. */
export function parseIssuerState({
  issuer,
  keys,
  scope,
  credential_ttl_seconds_max,
}: Fields): IssuerState | undefined {
  if (
    !isDidIssuer(issuer) ||
    !Array.isArray(keys) ||
    keys.length > ISSUER_KEYS_MAX ||
    !isTtlMax(credential_ttl_seconds_max)
  )
    return undefined
  const states: KeyState[] = []
  for (const key of keys) {
    const state = parseKeyState(key)
    if (state === undefined || states.some(({ id }) => id === state.id)) return undefined
    states.push(state)
  }
  if (scope === null) return { credential_ttl_seconds_max, issuer, keys: states, scope }
  const cap = parseScopeList(scope)
  // An issuer with an empty list could grant nothing; the contract does not allow it either.
  if (cap === undefined || cap.length === 0) return undefined
  return { credential_ttl_seconds_max, issuer, keys: states, scope: [...cap] }
}

function parseKeyState(value: unknown): KeyState | undefined {
  const retired = parseFields(value, 4)
  const { id, key, status, retired_at } = retired ?? parseFields(value, 3) ?? {}
  if (!isKeyId(id) || typeof key !== 'string' || parseMultikey(key) === undefined) return undefined
  if (retired !== undefined)
    return status === 'retired' && isTime(retired_at) ? { id, key, retired_at, status } : undefined
  return status === 'active' || status === 'compromised' ? { id, key, status } : undefined
}

function parseKeyChange({ issuer, key_id, at }: Fields): KeyChange | undefined {
  return isIssuer(issuer) && isKeyId(key_id) && isTime(at) ? { at, issuer, key_id } : undefined
}

/** Ignores other members of the object. */
export function parseSettingsState({
  bearer,
  holder_proof,
  delegation,
  credential_ttl_seconds_max,
}: Fields): SettingsState | undefined {
  if ((bearer !== 'on' && bearer !== 'off') || (holder_proof !== 'optional' && holder_proof !== 'required'))
    return undefined
  if (delegation !== 'on' && delegation !== 'off') return undefined
  return isTtlMax(credential_ttl_seconds_max)
    ? { bearer, credential_ttl_seconds_max, delegation, holder_proof }
    : undefined
}

function withMembers<Value>(count: number, parse: Parser<Value>): (body: unknown) => Value | undefined {
  return (body) => {
    const fields = parseFields(body, count)
    return fields && parse(fields)
  }
}

export function isEpoch(value: unknown): value is string {
  return typeof value === 'string' && EPOCH.test(value)
}

/** A sequence number. 0 is the position before the first entry. */
export function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

const HEX_DIGITS = /* @__PURE__ */ Uint8Array.from({ length: 128 }, (_, code) =>
  Number('0123456789abcdef'.includes(String.fromCharCode(code))),
)

/**
 * 64 lower-case hex digits. Every entry has two hashes, and a table takes a third of the time of a
 * regular expression.
 */
export function isSha256Hex(value: unknown): value is string {
  if (typeof value !== 'string' || value.length !== 64) return false
  let digits = 0
  for (let i = 0; i < 64; i++) digits += HEX_DIGITS[value.charCodeAt(i)] ?? 0
  return digits === 64
}

/** An issuer of credentials, or an OAuth issuer. */
export function isIssuer(value: unknown): value is string {
  return isDidIssuer(value) || isOAuthIssuer(value)
}

function isDidIssuer(value: unknown): value is string {
  return typeof value === 'string' && value.length <= ISSUER_CHARS_MAX && ISSUER.test(value)
}

export function isKeyId(value: unknown): value is string {
  return typeof value === 'string' && KEY_ID.test(value)
}

export function isPpid(value: unknown): value is Ppid {
  return parsePpid(value) !== undefined
}

export function isCredentialId(value: unknown): value is CredentialId {
  return parseCredentialId(value) !== undefined
}

function isTtlMax(value: unknown): value is number | null {
  return value === null || (Number.isSafeInteger(value) && (value as number) > 0)
}
