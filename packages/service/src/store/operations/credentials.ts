import type { ChainLink, CredentialId, PermissionId, Ppid, Scope, SiteId } from '@countersign/core'
import { json, number, optionalNumber, optionalText, text, toSiteId } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { recordAudit } from './shared/record-audit.ts'

export interface SeenCredential {
  readonly siteId: SiteId
  readonly credentialId: CredentialId
  readonly ppid: Ppid
  readonly issuer: string
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

export interface CredentialRow extends SeenCredential {
  readonly knownAtMs: number
  readonly revocation:
    | { readonly type: 'user' | 'credential'; readonly atMs: number; readonly reason: string | undefined }
    | undefined
}

/**
 * Records credentials that have been seen. Skips known ones, and those of sites that do not exist.
 * With a context, the actor has issued them here, and each new one gets its audit row,
 * `credential.issue`.
 */
export function* recordCredentials(
  seen: readonly SeenCredential[],
  atMs: number,
  context?: AuditContext,
): Transaction<void> {
  // In a fixed order, so that two batches with the same credentials do not wait for each other.
  const inOrder = [...seen].sort((a, b) => (toName(a) < toName(b) ? -1 : 1))
  for (const credential of inOrder) yield* recordCredential(credential, atMs, context)
}

function* recordCredential(
  seen: SeenCredential,
  atMs: number,
  context: AuditContext | undefined,
): Transaction<void> {
  const { siteId, credentialId, chain } = seen
  const learned = yield* row(
    `INSERT INTO credentials
       (site_id, credential_id, ppid, issuer, scope, permission_id, chain, created, valid_from, valid_until, holder_bound, source, known_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, CAST($8 AS BIGINT), CAST($9 AS BIGINT), CAST($10 AS BIGINT), CAST($11 AS BIGINT), $12, CAST($13 AS BIGINT)
     WHERE EXISTS (SELECT 1 FROM sites WHERE site_id = $1)
     ON CONFLICT (site_id, credential_id) DO NOTHING RETURNING credential_id`,
    siteId,
    credentialId,
    seen.ppid,
    seen.issuer,
    JSON.stringify(seen.scope),
    seen.permissionId,
    JSON.stringify(chain),
    Math.min(...chain.map(({ createdMs }) => createdMs)),
    seen.validFromMs,
    seen.validUntilMs,
    seen.holderBound ? 1 : 0,
    seen.source,
    atMs,
  )
  if (learned === undefined) return
  for (const linkId of new Set([credentialId, ...chain.map((link) => link.credentialId)])) {
    yield* exec(
      'INSERT INTO credential_links (site_id, credential_id, link_id) VALUES ($1, $2, $3)',
      siteId,
      credentialId,
      linkId,
    )
  }
  if (context === undefined) return
  const detail = { ppid: seen.ppid }
  yield* recordAudit({ siteId, action: 'credential.issue', target: credentialId, detail, context })
}

/** Computed as in a view of the log, so that a revocation of a user has no rows to mark. */
const BY_ID = `FROM credential_links l JOIN credential_revocations r ON r.site_id = l.site_id AND r.credential_id = l.link_id
  WHERE l.site_id = c.site_id AND l.credential_id = c.credential_id`

const COLUMNS = `c.*, u.revoked, u.first_at, u.first_reason, u.revoked_at, u.reason, u.cutoff,
  (SELECT r.at ${BY_ID} ORDER BY r.at LIMIT 1) AS id_at,
  (SELECT r.reason ${BY_ID} ORDER BY r.at LIMIT 1) AS id_reason,
  (SELECT r.type ${BY_ID} ORDER BY r.at LIMIT 1) AS id_type`
const TABLES = 'credentials c LEFT JOIN users u ON u.site_id = c.site_id AND u.ppid = c.ppid'

/** The newest first. */
export const credentials = read(function* (
  siteId: SiteId,
  { ppid }: { readonly ppid?: Ppid | undefined },
  { after, limit }: Page,
): Transaction<readonly CredentialRow[]> {
  const found = yield* rows(
    `SELECT ${COLUMNS} FROM ${TABLES} WHERE c.site_id = $1
       AND ${ppid === undefined ? 'CAST($2 AS TEXT) IS NULL' : 'c.ppid = $2'}
       AND ${
         after === undefined
           ? 'CAST($3 AS TEXT) IS NULL'
           : '(c.known_at, c.credential_id) < (SELECT a.known_at, a.credential_id FROM credentials a WHERE a.site_id = $1 AND a.credential_id = $3)'
       }
     ORDER BY c.known_at DESC, c.credential_id DESC LIMIT $4`,
    siteId,
    ppid ?? null,
    after ?? null,
    limit,
  )
  return found.map(toCredential)
})

/**
 * What is known of each id; with a site, only what that site knows. An id that several sites know
 * has several rows; one that was never presented or issued has none.
 */
export const statuses = read(function* (
  ids: readonly CredentialId[],
  siteId: SiteId | undefined,
): Transaction<readonly CredentialRow[]> {
  if (ids.length === 0) return []
  const list = ids.map((_, i) => `$${i + 2}`).join(', ')
  const found = yield* rows(
    `SELECT ${COLUMNS} FROM ${TABLES} WHERE c.credential_id IN (${list})
       AND ${siteId === undefined ? 'CAST($1 AS TEXT) IS NULL' : 'c.site_id = $1'} ORDER BY c.credential_id, c.site_id`,
    siteId ?? null,
    ...ids,
  )
  return found.map(toCredential)
})

function toCredential(row: Row): CredentialRow {
  return {
    siteId: toSiteId(row),
    credentialId: text(row, 'credential_id') as CredentialId,
    ppid: text(row, 'ppid') as Ppid,
    issuer: text(row, 'issuer'),
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

function toName({ siteId, credentialId }: SeenCredential): string {
  return `${siteId} ${credentialId}`
}
