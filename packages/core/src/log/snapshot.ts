import { type CredentialId, type Ppid, parseSiteId, type SiteId } from '../credential/ids.ts'
import { parseSubjectKey } from '../jwt/derived-ids.ts'
import { parseMultikey } from '../proof/keys.ts'
import {
  type IssuerState,
  isCredentialId,
  isEpoch,
  isIssuer,
  isKeyId,
  isPpid,
  isSeq,
  isSha256Hex,
  parseIssuerState,
  parseSettingsState,
  type SettingsState,
} from './entry.ts'
import { type EpochStatement, parseEpochStatement } from './epoch-statement.ts'
import { isThumbprint, isTime, parseFields } from './members.ts'
import { OAUTH_ISSUER_MEMBERS, type OAuthIssuerState, parseOAuthIssuerState } from './oauth-issuer.ts'
import { type PackLine, type PageLine, parsePackLine, parsePageLine } from './packs.ts'
import { isKid, isMaxAgeSeconds, isSignature } from './signed-fields.ts'

/**
 * A line between the head and the end of a snapshot. The service creates them from its store,
 * because a view stores only hashes of ids.
 */
export type SnapshotLine =
  | SiteLine
  | IssuerLine
  | OAuthIssuerLine
  | OAuthKeyLine
  | CutOffLine
  | RevocationLine

/** A line that a page can contain. */
export type RevocationLine = UserLine | SignedOutLine | CredentialLine | TokenLine | HolderLine | PackLine

/**
 * The first line: the log position that the snapshot covers. `as_of` is a time before the store was
 * read.
 */
export interface SnapshotHead {
  readonly type: 'head'
  readonly site_id: SiteId
  readonly epoch: string
  readonly seq: number
  readonly hash: string
  readonly as_of: string
  readonly max_age_seconds: number
  readonly base: LogBase
}

/**
 * The service may have removed the entries up to here. The hash is that of entry `seq`; before the
 * first removal, `seq` is 0 and the hash has 64 zeros.
 */
export interface LogBase {
  readonly seq: number
  readonly hash: string
}

/**
 * How this epoch of the log, or an earlier one, began. These lines follow the head, oldest first.
 */
export interface EpochLine extends EpochStatement {
  readonly type: 'epoch'
}

export interface SiteLine extends SettingsState {
  readonly type: 'site'
  /** The latest time at which bearer tokens were off; absent if they never were. */
  readonly bearer_off_at?: string
  /** The key of the ids that are derived from access tokens, in base64url. Never public. */
  readonly subject_key?: string
}

/** An OAuth issuer that the site trusts or trusted before, with its last settings. */
export interface OAuthIssuerLine {
  readonly type: 'oauth_issuer'
  readonly state: OAuthIssuerState
  /** Null while the issuer is trusted. */
  readonly distrusted_at: string | null
}

/** A key of an OAuth issuer that was marked as compromised, by its thumbprint. */
export interface OAuthKeyLine {
  readonly type: 'oauth_key'
  readonly key_id: string
  readonly compromised_at: string
}

/** An issuer that the site trusts or trusted before, with its last settings. */
export interface IssuerLine extends IssuerState {
  readonly type: 'issuer'
  readonly status: 'trusted' | 'distrusted'
  /**
   * Present only if `status` is `distrusted`. Null if only compromised keys of the issuer are
   * known.
   */
  readonly distrusted_at?: string | null
  /** All keys of this issuer that were ever marked as compromised, by name and by key material. */
  readonly compromised: readonly CompromisedKey[]
}

export interface CompromisedKey {
  readonly key_id: string
  /** Null if the key was never listed. */
  readonly key: string | null
  readonly at: string
}

export interface UserLine {
  readonly type: 'user'
  readonly ppid: Ppid
  /** When the user was first revoked. */
  readonly revoked_at: string
  /** The latest reinstatement. Without it the user has been revoked ever since. */
  readonly reinstated_at?: string
  /** When the user was revoked again after that, if revoked now. */
  readonly revoked_again_at?: string
}

/** Access that was issued to the user at or before `before` has ended. */
interface SignedOutLine {
  readonly type: 'signed_out'
  readonly ppid: Ppid
  readonly before: string
}

/** A stolen holder key. */
interface HolderLine {
  readonly type: 'holder'
  readonly thumbprint: string
  readonly revoked_at: string
}

/** What was issued at or before `before` is invalid: by this issuer, or by all if it is null. */
export interface CutOffLine {
  readonly type: 'cut_off'
  readonly issuer: string | null
  readonly before: string
}

export interface CredentialLine {
  readonly type: 'credential'
  readonly credential_id: CredentialId
  readonly revoked_at: string
}

export interface TokenLine {
  readonly type: 'token'
  readonly token_sha256: string
  readonly revoked_at: string
}

/**
 * The last line. `lines` is the number of lines before it, including the head and the announcements
 * of pages, without the lines of the pages; `sha256` covers the bytes of the lines that it counts.
 * The digest in each announcement covers the lines of that page.
 */
export interface SnapshotEnd {
  readonly type: 'end'
  readonly lines: number
  readonly sha256: string
  readonly kid: string
  readonly signature: string
}

export const COMPROMISED_KEYS_MAX = 1024
/**
 * A snapshot leaves out older token revocations: a token is valid for at most an hour, and one day
 * covers wrong clocks.
 */
export const TOKEN_REVOCATIONS_KEPT_MS = (3600 + 86_400) * 1000

/**
 * Undefined unless the value has exactly the members of a line, each well-formed. Returns a copy.
 */
export function parseSnapshotLine(
  value: unknown,
): SnapshotHead | EpochLine | PageLine | SnapshotLine | SnapshotEnd | undefined {
  const type =
    typeof value === 'object' && value !== null ? (value as { readonly type?: unknown }).type : undefined
  switch (type) {
    case 'users':
    case 'credentials':
    case 'tokens':
      return parsePackLine(type, value)
    case 'page':
      return parsePageLine(value)
    case 'credential': {
      const { credential_id, revoked_at } = parseFields(value, 3) ?? {}
      return isCredentialId(credential_id) && isTime(revoked_at)
        ? { type, credential_id, revoked_at }
        : undefined
    }
    case 'token': {
      const { token_sha256, revoked_at } = parseFields(value, 3) ?? {}
      return isSha256Hex(token_sha256) && isTime(revoked_at) ? { type, token_sha256, revoked_at } : undefined
    }
    case 'holder': {
      const { thumbprint, revoked_at } = parseFields(value, 3) ?? {}
      return isThumbprint(thumbprint) && isTime(revoked_at) ? { type, thumbprint, revoked_at } : undefined
    }
    case 'signed_out': {
      const { ppid, before } = parseFields(value, 3) ?? {}
      return isPpid(ppid) && isTime(before) ? { type, ppid, before } : undefined
    }
    case 'cut_off': {
      const { issuer, before } = parseFields(value, 3) ?? {}
      return (issuer === null || isIssuer(issuer)) && isTime(before) ? { type, issuer, before } : undefined
    }
    case 'oauth_issuer':
      return parseOAuthIssuerLine(value)
    case 'oauth_key': {
      const { key_id, compromised_at } = parseFields(value, 3) ?? {}
      return isThumbprint(key_id) && isTime(compromised_at) ? { type, key_id, compromised_at } : undefined
    }
    case 'user':
      return parseUserLine(value)
    case 'issuer':
      return parseIssuerLine(value)
    case 'site':
      return parseSiteLine(value)
    case 'head':
      return parseHead(value)
    case 'epoch': {
      const { type: _, ...members } = value as EpochLine
      const statement = parseEpochStatement(members)
      return statement && { type, ...statement }
    }
    case 'end': {
      const { lines, sha256, kid, signature } = parseFields(value, 5) ?? {}
      if (!isSeq(lines) || !isSha256Hex(sha256) || !isKid(kid) || !isSignature(signature)) return undefined
      return { type, lines, sha256, kid, signature }
    }
    default:
      return undefined
  }
}

function parseHead(value: unknown): SnapshotHead | undefined {
  const { site_id, epoch, seq, hash, as_of, max_age_seconds, base } = parseFields(value, 8) ?? {}
  const { seq: baseSeq, hash: baseHash } = parseFields(base, 2) ?? {}
  const siteId = parseSiteId(site_id)
  if (siteId === undefined || !isEpoch(epoch) || !isSeq(seq) || !isSha256Hex(hash)) return undefined
  if (!isTime(as_of) || !isMaxAgeSeconds(max_age_seconds)) return undefined
  if (!isSeq(baseSeq) || baseSeq > seq || !isSha256Hex(baseHash)) return undefined
  return {
    type: 'head',
    site_id: siteId,
    epoch,
    seq,
    hash,
    as_of,
    max_age_seconds,
    base: { seq: baseSeq, hash: baseHash },
  }
}

function parseSiteLine(value: unknown): SiteLine | undefined {
  const { bearer_off_at, subject_key } = value as Readonly<Record<string, unknown>>
  const optional = Number(bearer_off_at !== undefined) + Number(subject_key !== undefined)
  const fields = parseFields(value, 5 + optional)
  const state = fields && parseSettingsState(fields)
  if (state === undefined) return undefined
  if (bearer_off_at !== undefined && !isTime(bearer_off_at)) return undefined
  if (subject_key !== undefined && !isSubjectKeyText(subject_key)) return undefined
  return {
    type: 'site',
    ...state,
    ...(bearer_off_at === undefined ? {} : { bearer_off_at }),
    ...(subject_key === undefined ? {} : { subject_key }),
  }
}

function isSubjectKeyText(value: unknown): value is string {
  return parseSubjectKey(value) !== undefined
}

function parseUserLine(value: unknown): UserLine | undefined {
  const { ppid, revoked_at, reinstated_at, revoked_again_at } =
    parseFields(value, 3) ?? parseFields(value, 4) ?? parseFields(value, 5) ?? {}
  if (!isPpid(ppid) || !isTime(revoked_at)) return undefined
  const line = { type: 'user', ppid, revoked_at } as const
  if (parseFields(value, 3) !== undefined) return line
  if (!isTime(reinstated_at)) return undefined
  if (parseFields(value, 4) !== undefined) return { ...line, reinstated_at }
  return isTime(revoked_again_at) ? { ...line, reinstated_at, revoked_again_at } : undefined
}

function parseIssuerLine(value: unknown): IssuerLine | undefined {
  const trusted = parseFields(value, 7)
  const fields = trusted ?? parseFields(value, 8)
  const state = fields && parseIssuerState(fields)
  const compromised = fields && parseCompromised(fields.compromised)
  if (state === undefined || compromised === undefined) return undefined
  if (trusted !== undefined)
    return trusted.status === 'trusted'
      ? { type: 'issuer', ...state, status: 'trusted', compromised }
      : undefined
  const distrustedAt = fields?.distrusted_at
  if (fields?.status !== 'distrusted' || !(distrustedAt === null || isTime(distrustedAt))) return undefined
  return { type: 'issuer', ...state, status: 'distrusted', distrusted_at: distrustedAt, compromised }
}

function parseOAuthIssuerLine(value: unknown): OAuthIssuerLine | undefined {
  const { state, distrusted_at } = parseFields(value, 3) ?? {}
  const fields = parseFields(state, OAUTH_ISSUER_MEMBERS)
  const parsed = fields && parseOAuthIssuerState(fields)
  if (parsed === undefined || !(distrusted_at === null || isTime(distrusted_at))) return undefined
  return { type: 'oauth_issuer', state: parsed, distrusted_at }
}

function parseCompromised(value: unknown): readonly CompromisedKey[] | undefined {
  if (!Array.isArray(value) || value.length > COMPROMISED_KEYS_MAX) return undefined
  const keys: CompromisedKey[] = []
  for (const item of value) {
    const { key_id, key, at } = parseFields(item, 3) ?? {}
    if (!isKeyId(key_id) || !isTime(at)) return undefined
    if (key !== null && (typeof key !== 'string' || parseMultikey(key) === undefined)) return undefined
    keys.push({ key_id, key, at })
  }
  return keys
}
