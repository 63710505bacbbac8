import type { SiteId } from '@countersign/core'
import { createAuditId } from '../audit-ids.ts'
import { type AuditContext, type AuditRow, type NewAuditRow, toAuditRow } from '../audit-rows.ts'
import type { Page } from '../page.ts'
import { exec, read, rows, type Transaction } from '../transaction.ts'

export type { AuditContext, AuditRow, NewAuditRow }

export function* audit({ siteId, action, target, detail, context }: NewAuditRow): Transaction<void> {
  yield* exec(
    'INSERT INTO audit (id, site_id, at, actor, action, target, detail, request_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)',
    createAuditId(context.atMs),
    siteId,
    context.atMs,
    context.actor,
    action,
    target ?? null,
    JSON.stringify(detail),
    context.requestId ?? null,
  )
}

/** The newest first. */
export const auditRows = read(function* (
  siteId: SiteId | null,
  { after, limit }: Page,
): Transaction<readonly AuditRow[]> {
  // No `OR` over the two cases of `after`: an index would then be read from its beginning for every
  // page.
  const found = yield* rows(
    `SELECT * FROM audit WHERE ${siteId === null ? 'site_id IS NULL AND CAST($1 AS TEXT) IS NULL' : 'site_id = $1'}
       AND ${after === undefined ? 'CAST($2 AS TEXT) IS NULL' : 'id < $2'} ORDER BY id DESC LIMIT $3`,
    siteId,
    after ?? null,
    limit,
  )
  return found.map(toAuditRow)
})
