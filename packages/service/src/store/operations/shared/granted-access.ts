import type { ChainLink, PermissionId, Ppid, Scope, SiteId } from '@countersign/core'
import { json, number, text, toSiteId } from '../../columns.ts'
import type { Row } from '../../transaction.ts'

/** The access that a token or a presentation grants, and the credential that it comes from. */
export interface GrantedAccess {
  readonly siteId: SiteId
  readonly ppid: Ppid
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId
  /**
   * The credential itself first, then its parents up to the root, with the moment each was signed.
   */
  readonly chain: readonly ChainLink[]
  readonly issuer: string
  /** The verificationMethod that signed the root. */
  readonly issuerKey: string
  readonly expiresAtMs: number
}

/** Its columns, which both tables have. */
export function toAccessColumns(access: GrantedAccess): Row {
  return {
    site_id: access.siteId,
    ppid: access.ppid,
    scope: JSON.stringify(access.scope),
    permission_id: access.permissionId,
    chain: JSON.stringify(access.chain),
    issuer: access.issuer,
    issuer_key: access.issuerKey,
    expires_at: access.expiresAtMs,
  }
}

/** The opposite of `toAccessColumns`. */
export function toAccess(row: Row): GrantedAccess {
  return {
    siteId: toSiteId(row),
    ppid: text(row, 'ppid') as Ppid,
    scope: json(row, 'scope'),
    permissionId: text(row, 'permission_id') as PermissionId,
    chain: json(row, 'chain'),
    issuer: text(row, 'issuer'),
    issuerKey: text(row, 'issuer_key'),
    expiresAtMs: number(row, 'expires_at'),
  }
}
