import type { IssuerState, KeyState, OAuthIssuerState, Scope, SiteId } from '@countersign/core'
import type { KeySource, SignalSender } from '@countersign/core/contract'
import { json, number, optionalNumber, optionalText, text } from '../../columns.ts'
import { toIssuerId } from '../../issuer-id.ts'
import type { Appended, Row, Transaction } from '../../transaction.ts'
import { appendEntry } from './append-entry.ts'

export interface NewIssuer {
  readonly siteId: SiteId
  readonly issuer: string
  readonly keys: readonly IssuerKey[]
  /** Undefined: no cap. */
  readonly scope: readonly Scope[] | undefined
  readonly credentialTtlSecondsMax: number | undefined
  readonly label: string | undefined
  /**
   * Whether its keys come from a document that is fetched periodically, rather than from its DID or
   * from an administrator.
   */
  readonly fetched: boolean
  /** Undefined: it issues credentials, not access tokens. */
  readonly oauth?: OAuthSettings | undefined
}

/** The key of an OAuth issuer also has the name that tokens use, or null. */
export type IssuerKey = KeyState & { readonly kid?: string | null }

/** What a site has set for an OAuth issuer. All but the last four members are in the log. */
export interface OAuthSettings
  extends Omit<OAuthIssuerState, 'type' | 'issuer' | 'keys' | 'scope'>,
    OAuthUpkeep {}

interface OAuthUpkeep {
  readonly session_ttl_seconds_max: number
  readonly key_source: KeySource
  readonly jwks_uri: string | null
  /** Who may send signals, at most 8. */
  readonly signals: readonly SignalSender[]
}

export interface Issuer extends NewIssuer {
  readonly issuerId: string
  readonly status: 'trusted' | 'distrusted'
  /** When an administrator has set its keys or ordered to fetch them. */
  readonly keysAtMs: number
  readonly createdAtMs: number
}

/** The columns that a change can replace. */
export function toSettings(issuer: NewIssuer & Pick<Issuer, 'status'>): Row {
  return {
    issuer_id: toIssuerId(issuer.issuer),
    status: issuer.status,
    keys: JSON.stringify(issuer.keys),
    scope: issuer.scope === undefined ? null : JSON.stringify(issuer.scope),
    credential_ttl_seconds_max: issuer.credentialTtlSecondsMax ?? null,
    label: issuer.label ?? null,
    fetched: issuer.fetched ? 1 : 0,
    oauth: issuer.oauth === undefined ? null : JSON.stringify(issuer.oauth),
  }
}

export function toIssuer(row: Row): Issuer {
  return {
    siteId: text(row, 'site_id') as SiteId,
    issuer: text(row, 'issuer'),
    issuerId: text(row, 'issuer_id'),
    keys: json(row, 'keys'),
    scope: row.scope === null ? undefined : json(row, 'scope'),
    credentialTtlSecondsMax: optionalNumber(row, 'credential_ttl_seconds_max'),
    label: optionalText(row, 'label'),
    fetched: number(row, 'fetched') === 1,
    oauth: row.oauth === null ? undefined : json(row, 'oauth'),
    status: text(row, 'status') as Issuer['status'],
    keysAtMs: optionalNumber(row, 'keys_at') ?? number(row, 'created_at'),
    createdAtMs: number(row, 'created_at'),
  }
}

/** Appends the whole state of a trusted issuer. */
export function* appendTrusted(issuer: Issuer, atMs: number): Transaction<Appended> {
  const state = toState(issuer)
  return 'type' in state
    ? yield* appendEntry(issuer.siteId, 'oauth_issuer.trusted', state, atMs)
    : yield* appendEntry(issuer.siteId, 'issuer.trusted', state, atMs)
}

/** Whether verifiers need not learn about a change. */
export function hasSameState(before: Issuer, after: Issuer): boolean {
  return JSON.stringify(toState(before)) === JSON.stringify(toState(after))
}

function toState({
  issuer,
  keys,
  scope,
  credentialTtlSecondsMax,
  oauth,
}: Issuer): IssuerState | OAuthIssuerState {
  const common = { issuer, scope: scope ?? null }
  if (oauth === undefined)
    return { ...common, keys, credential_ttl_seconds_max: credentialTtlSecondsMax ?? null }
  const { session_ttl_seconds_max, key_source, jwks_uri, signals, ...policy } = oauth
  return { ...common, ...policy, type: 'oauth', keys: keys.map((key) => ({ kid: null, ...key })) }
}
