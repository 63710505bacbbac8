import type { SiteId } from '@countersign/core'
import { createAuditId, toAuditIdStart } from '../audit-ids.ts'
import {
  type AuditContext,
  type AuditRow,
  type AuditSelection,
  type NewAuditRow,
  toAuditOutcome,
  toAuditRow,
} from '../audit-rows.ts'
import type { Page } from '../page.ts'
import { exec, read, rows, type SqlValue, type Transaction } from '../transaction.ts'

export type { AuditContext, AuditRow, AuditSelection, NewAuditRow }

export function* audit({ siteId, action, target, detail, context }: NewAuditRow): Transaction<void> {
  yield* exec(
    `INSERT INTO audit (id, site_id, at, actor, action, target, detail, request_id, outcome)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    createAuditId(context.atMs),
    siteId,
    context.atMs,
    context.actor,
    action,
    target ?? null,
    JSON.stringify(detail),
    context.requestId ?? null,
    toAuditOutcome(detail),
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

/** Sorts after every id. */
const ID_END = '~'

/**
 * A page of a selection; the last one if it has fewer rows than `limit`. Reads at most `limit`
 * rows, except by a column across all sites: only `request_id` has an index for that.
 */
export const selectAuditRows = read(function* (
  { siteId, by, fromMs, toMs, order }: AuditSelection,
  { after, limit }: Page,
): Transaction<readonly AuditRow[]> {
  const values: SqlValue[] = []
  const put = (value: SqlValue) => `$${values.push(value)}`
  const conditions: string[] = []
  if (siteId !== undefined) conditions.push(siteId === null ? 'site_id IS NULL' : `site_id = ${put(siteId)}`)
  if (by !== undefined) conditions.push(`${by.column} = ${put(by.value)}`)
  // Written out, because the index has this condition.
  if (by?.column === 'outcome') conditions.push(`outcome <> 'done'`)
  const isNewest = order === 'newest'
  const from = fromMs === undefined ? '' : toAuditIdStart(fromMs)
  const to = toMs === undefined ? ID_END : toAuditIdStart(toMs)
  // The id of a row is longer than the start of the ids of its time, so it sorts after it.
  const isLater = (id: string) => id > from
  const isEarlier = (id: string) => id < to
  // Only the bound where it begins: with two of them, SQLite prefers the index without the column.
  conditions.push(
    isNewest
      ? `id < ${put(after !== undefined && isEarlier(after) ? after : to)}`
      : `id > ${put(after !== undefined && isLater(after) ? after : from)}`,
  )
  const found = yield* rows(
    `SELECT * FROM audit WHERE ${conditions.join(' AND ')} ORDER BY id ${isNewest ? 'DESC' : ''} LIMIT ${put(limit)}`,
    ...values,
  )
  return found.map(toAuditRow).filter(({ id }) => (isNewest ? isLater(id) : isEarlier(id)))
})
