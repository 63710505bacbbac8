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

/** With those that were not classified yet: every status that a row has. */
const STATUSES = Object.keys({ new: 0, active: 0, expired: 0, revoked: 0 } satisfies Record<
  ListedStatus | 'new',
  0
>)

/**
 * Selects the latest credentials of a user: site `$1`, user `$2`, at most `$3` rows. In the only
 * index of users the status comes before the time, so the latest of each status are merged.
 * `isBefore` is a condition on `known_at` and `credential_id`.
 */
export function selectLatestOfUser(isBefore = ''): string {
  const latest = 'ORDER BY known_at DESC, credential_id DESC LIMIT $3'
  const ofEach = STATUSES.map(
    // With a limit of its own. Otherwise PostgreSQL reads all of a status.
    (status) => `SELECT known_at, credential_id FROM (SELECT known_at, credential_id FROM credentials
      WHERE site_id = $1 AND ppid = $2 AND status = '${status}' ${isBefore} ${latest}) latest_${status}`,
  )
  return `${ofEach.join(' UNION ALL ')} ${latest}`
}

export interface CredentialRow extends SeenCredential {
  readonly knownAtMs: number
  readonly revocation:
    | { readonly type: 'user' | 'credential'; readonly atMs: number; readonly reason: string | undefined }
    | undefined
}

/** Revocations of the parents of a delegated credential. */
const OF_PARENTS = `FROM credential_links l JOIN credential_revocations r ON r.site_id = l.site_id AND r.credential_id = l.link_id
  WHERE l.site_id = c.site_id AND l.credential_id = c.credential_id`

/** Computed as in a view of the log, so that a revocation of a user has no rows to mark. */
export const CREDENTIAL_COLUMNS = `c.*, u.revoked, u.first_at, u.first_reason, u.revoked_at, u.reason, u.cutoff,
  own.at AS own_at, own.reason AS own_reason, own.type AS own_type,
  (SELECT r.at ${OF_PARENTS} ORDER BY r.at LIMIT 1) AS parent_at,
  (SELECT r.reason ${OF_PARENTS} ORDER BY r.at LIMIT 1) AS parent_reason,
  (SELECT r.type ${OF_PARENTS} ORDER BY r.at LIMIT 1) AS parent_type`
export const CREDENTIAL_TABLES = `credentials c LEFT JOIN users u ON u.site_id = c.site_id AND u.ppid = c.ppid
  LEFT JOIN credential_revocations own ON own.site_id = c.site_id AND own.credential_id = c.credential_id`

/**
 * Of the site `$1`, among credentials that are found by their ids. With a plain `site_id`, SQLite
 * prefers an index that begins with it, and reads all credentials of the site: 10 ms at 60,000.
 */
export const BY_ID_FIRST = 'CAST(site_id AS TEXT) = $1'

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

/** By its id, with a parent or with its user, whichever was earliest. */
function toRevocation(row: Row): CredentialRow['revocation'] {
  const all = [toUserRevocation(row), toIdRevocation(row, 'own'), toIdRevocation(row, 'parent')]
  return all.filter((each) => each !== undefined).sort((a, b) => a.atMs - b.atMs)[0]
}

function toIdRevocation(row: Row, whose: 'own' | 'parent'): CredentialRow['revocation'] {
  const atMs = optionalNumber(row, `${whose}_at`)
  if (atMs === undefined) return undefined
  const type = text(row, `${whose}_type`) as 'user' | 'credential'
  return { type, atMs, reason: optionalText(row, `${whose}_reason`) }
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
