import { randomBytes } from 'node:crypto'
import type { SiteId } from '@countersign/core'
import { json, number, optionalText, text } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, type Row, read, rows, type Transaction } from '../transaction.ts'

/** Who makes a change, and when. */
export interface AuditContext {
  /**
   * `operator:<key_id>`, `key:<key_id>`, `holder:<credential_id>`, `sender:<issuer>` or `system`;
   * an operator at the command line is `operator`.
   */
  readonly actor: string
  readonly atMs: number
  readonly requestId?: string | undefined
}

export interface NewAuditRow {
  /** Null for changes that belong to no site. */
  readonly siteId: SiteId | null
  readonly action: string
  /** The id of what was changed, never a secret. */
  readonly target: string | undefined
  /**
   * Lists show `outcome` (`done` when absent, `unchanged`, `refused`), `reason` and `seq` of it.
   */
  readonly detail: Readonly<Record<string, string | number | boolean | readonly string[] | null>>
  readonly context: AuditContext
}

export interface AuditRow extends NewAuditRow {
  readonly id: string
}

const TIME_DIGITS = 9
const COUNT_DIGITS = 4
const COUNT_END = 36 ** COUNT_DIGITS

let count = 0

/** Sorts by time, and within a process by the order in which the rows were written. */
function createAuditId(atMs: number): string {
  count = (count + 1) % COUNT_END
  const time = Math.max(0, Math.floor(atMs)).toString(36).padStart(TIME_DIGITS, '0')
  return `audit_${time}${count.toString(36).padStart(COUNT_DIGITS, '0')}${randomBytes(5).toString('hex')}`
}

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

function toAuditRow(row: Row): AuditRow {
  return {
    id: text(row, 'id'),
    siteId: (optionalText(row, 'site_id') as SiteId | undefined) ?? null,
    action: text(row, 'action'),
    target: optionalText(row, 'target'),
    detail: json(row, 'detail'),
    context: {
      actor: text(row, 'actor'),
      atMs: number(row, 'at'),
      requestId: optionalText(row, 'request_id'),
    },
  }
}
