import type { ChainLink, CredentialId, PermissionId, Ppid, Scope, SiteId } from '@countersign/core'
import { json, number, optionalNumber, optionalText, text, toSiteId } from '../../columns.ts'
import type { Row } from '../../transaction.ts'

export interface SeenCredential {
  readonly siteId: SiteId
  readonly credentialId: CredentialId
  readonly ppid: Ppid
  readonly issuer: string
  /** The verificationMethod that signed the root. Undefined if it was not recorded. */
  readonly issuerKey?: string | undefined
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId
  /**
   * The credential itself first: a delegated one is revoked with any of its parents, so its status
   * depends on them.
   */
  readonly chain: readonly ChainLink[]
  readonly validFromMs: number
  readonly validUntilMs: number
  readonly holderBound: boolean
  readonly source: 'issued' | 'exchanged' | 'presented' | 'sign_in'
}

/** A credential that a view of its site has just accepted, if `viewSeq` is given. */
export interface RecordedCredential extends SeenCredential {
  /** The seq of that view. */
  readonly viewSeq?: number | undefined
}

/** What a list by status can ask for. */
export type ListedStatus = 'active' | 'expired' | 'revoked'

export interface CredentialRow extends SeenCredential {
  readonly knownAtMs: number
  readonly revocation:
    | { readonly type: 'user' | 'credential'; readonly atMs: number; readonly reason: string | undefined }
    | undefined
}

/** Computed as in a view of the log, so that a revocation of a user has no rows to mark. */
const BY_ID = `FROM credential_links l JOIN credential_revocations r ON r.site_id = l.site_id AND r.credential_id = l.link_id
  WHERE l.site_id = c.site_id AND l.credential_id = c.credential_id`

export const CREDENTIAL_COLUMNS = `c.*, u.revoked, u.first_at, u.first_reason, u.revoked_at, u.reason, u.cutoff,
  (SELECT r.at ${BY_ID} ORDER BY r.at LIMIT 1) AS id_at,
  (SELECT r.reason ${BY_ID} ORDER BY r.at LIMIT 1) AS id_reason,
  (SELECT r.type ${BY_ID} ORDER BY r.at LIMIT 1) AS id_type`
export const CREDENTIAL_TABLES =
  'credentials c LEFT JOIN users u ON u.site_id = c.site_id AND u.ppid = c.ppid'

/** A row with these columns. */
export function toCredential(row: Row): CredentialRow {
  return {
    siteId: toSiteId(row),
    credentialId: text(row, 'credential_id') as CredentialId,
    ppid: text(row, 'ppid') as Ppid,
    issuer: text(row, 'issuer'),
    issuerKey: optionalText(row, 'issuer_key'),
    scope: json(row, 'scope'),
    permissionId: text(row, 'permission_id') as PermissionId,
    chain: json(row, 'chain'),
    validFromMs: number(row, 'valid_from'),
    validUntilMs: number(row, 'valid_until'),
    holderBound: number(row, 'holder_bound') === 1,
    source: text(row, 'source') as SeenCredential['source'],
    knownAtMs: number(row, 'known_at'),
    revocation: toRevocation(row),
  }
}

/** Revoked by id or with its user, whichever was earlier. */
function toRevocation(row: Row): CredentialRow['revocation'] {
  const byUser = toUserRevocation(row)
  const atMs = optionalNumber(row, 'id_at')
  if (atMs === undefined || (byUser !== undefined && byUser.atMs <= atMs)) return byUser
  return { type: text(row, 'id_type') as 'user' | 'credential', atMs, reason: optionalText(row, 'id_reason') }
}

function toUserRevocation(row: Row): CredentialRow['revocation'] {
  if (row.revoked === null) return undefined
  const cutoffMs = optionalNumber(row, 'cutoff')
  if (cutoffMs === undefined || number(row, 'created') <= cutoffMs) {
    return { type: 'user', atMs: number(row, 'first_at'), reason: optionalText(row, 'first_reason') }
  }
  return number(row, 'revoked') === 1
    ? { type: 'user', atMs: number(row, 'revoked_at'), reason: optionalText(row, 'reason') }
    : undefined
}
