import type { CredentialId, Ppid, Scope, SiteId } from '../credential/ids.ts'
import { parseCredentialId, parsePpid, parseScopeList, parseSiteId } from '../credential/ids.ts'
import { parseMultikey } from '../proof/keys.ts'
import type { KeyStatus } from '../verify/trust.ts'
import { parseEntryTime } from './parse-entry-time.ts'

/**
 * One step of a site's log, as it stands on the wire and in the store. `hash` covers all the rest,
 * `prev_hash` binds it to the step before.
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

/** What each kind of entry says. A new kind is a new row here, in `bodyParsers` and in the view. */
export interface EntryBodies {
  readonly 'user.revoked': { readonly ppid: Ppid; readonly revoked_at: string }
  readonly 'user.reinstated': { readonly ppid: Ppid; readonly reinstated_at: string }
  readonly 'credential.revoked': { readonly credential_id: CredentialId; readonly revoked_at: string }
  readonly 'token.revoked': { readonly token_sha256: string; readonly revoked_at: string }
  readonly 'issuer.trusted': IssuerState
  readonly 'issuer.distrusted': { readonly issuer: string }
  readonly 'key.retired': KeyChange
  readonly 'key.compromised': KeyChange
  readonly 'site.changed': SettingsState
}

/** All that a site says about an issuer it trusts. Null: no cap of its own. */
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
  /** There when `status` is `retired`, and only then. */
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
  readonly credential_ttl_seconds_max: number | null
}

export const ISSUER_KEYS_MAX = 32
const ISSUER_CHARS_MAX = 1024

const EPOCH = /^[0-9a-z]{8,32}$/
const ISSUER = /^did:(?:key|jwk|web):[A-Za-z0-9._:%-]+$/
const KEY_ID = /^[A-Za-z0-9._~:=+-]{1,128}$/

type Fields = { readonly [member: string]: unknown }
type Parser<Value> = (fields: Fields) => Value | undefined

/**
 * Undefined for anything but exactly these members, each in its grammar. An unknown kind or member
 * is rejected, not ignored: a reader that skipped an entry that it does not understand would go on
 * trusting what the entry takes away. The answer is a copy, so what is hashed is what is used, with
 * the members of its body in canonical order (RFC 8785 §3.2.3), on which `entryHash` relies.
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
    'user.revoked': members(2, ({ ppid, revoked_at }) =>
      isPpid(ppid) && isTime(revoked_at) ? { ppid, revoked_at } : undefined,
    ),
    'user.reinstated': members(2, ({ ppid, reinstated_at }) =>
      isPpid(ppid) && isTime(reinstated_at) ? { ppid, reinstated_at } : undefined,
    ),
    'credential.revoked': members(2, ({ credential_id, revoked_at }) =>
      isCredentialId(credential_id) && isTime(revoked_at) ? { credential_id, revoked_at } : undefined,
    ),
    'token.revoked': members(2, ({ token_sha256, revoked_at }) =>
      isSha256Hex(token_sha256) && isTime(revoked_at) ? { revoked_at, token_sha256 } : undefined,
    ),
    'issuer.trusted': members(4, parseIssuerState),
    'issuer.distrusted': members(1, ({ issuer }) => (isIssuer(issuer) ? { issuer } : undefined)),
    'key.retired': members(3, parseKeyChange),
    'key.compromised': members(3, parseKeyChange),
    'site.changed': members(3, parseSettingsState),
  } satisfies { readonly [Kind in EntryKind]: (body: unknown) => EntryBodies[Kind] | undefined }),
) as never

/** The members of an issuer's state, out of an object that may have others. */
export function parseIssuerState({
  issuer,
  keys,
  scope,
  credential_ttl_seconds_max,
}: Fields): IssuerState | undefined {
  if (
    !isIssuer(issuer) ||
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
  // An empty cap would be an issuer that may grant nothing; the contract refuses it where it would
  // be made.
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

/** The members of a site's settings, out of an object that may have others. */
export function parseSettingsState({
  bearer,
  holder_proof,
  credential_ttl_seconds_max,
}: Fields): SettingsState | undefined {
  if ((bearer !== 'on' && bearer !== 'off') || (holder_proof !== 'optional' && holder_proof !== 'required'))
    return undefined
  return isTtlMax(credential_ttl_seconds_max)
    ? { bearer, credential_ttl_seconds_max, holder_proof }
    : undefined
}

function members<Value>(count: number, parse: Parser<Value>): (body: unknown) => Value | undefined {
  return (body) => {
    const fields = parseFields(body, count)
    return fields && parse(fields)
  }
}

/**
 * The value itself when it is an object with exactly that many members of its own. Each caller then
 * asks for that many by name.
 */
export function parseFields(value: unknown, count: number): Fields | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.keys(value).length === count ? (value as Fields) : undefined
}

export function isEpoch(value: unknown): value is string {
  return typeof value === 'string' && EPOCH.test(value)
}

/** A place in the log; 0 is the place before the first entry. */
export function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

const HEX_DIGITS = /* @__PURE__ */ Uint8Array.from({ length: 128 }, (_, code) =>
  Number('0123456789abcdef'.includes(String.fromCharCode(code))),
)

/**
 * 64 lower-case hex digits. There are two in every entry, and a table is three times faster than a
 * regular expression.
 */
export function isSha256Hex(value: unknown): value is string {
  if (typeof value !== 'string' || value.length !== 64) return false
  let digits = 0
  for (let i = 0; i < 64; i++) digits += HEX_DIGITS[value.charCodeAt(i)] ?? 0
  return digits === 64
}

export function isTime(value: unknown): value is string {
  return parseEntryTime(value) !== undefined
}

function isIssuer(value: unknown): value is string {
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
