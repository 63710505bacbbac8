import { randomBytes } from 'node:crypto'
import type { SiteId } from '@countersign/core'
import { json, number, optionalText, text } from '../columns.ts'
import { type Program, type Row, rows, write } from '../program.ts'
import type { Act, AuditRow, NewAuditRow, Page } from '../store.ts'

const TIME_DIGITS = 9
const COUNT_DIGITS = 4
const COUNT_END = 36 ** COUNT_DIGITS

let count = 0

/** Sorts by time, and within a process by the order in which the rows were written. */
function auditId(atMs: number): string {
  count = (count + 1) % COUNT_END
  const time = Math.max(0, Math.floor(atMs)).toString(36).padStart(TIME_DIGITS, '0')
  return `audit_${time}${count.toString(36).padStart(COUNT_DIGITS, '0')}${randomBytes(5).toString('hex')}`
}

export function* audit({ siteId, action, target, detail, act }: NewAuditRow): Program<void> {
  yield* write(
    'INSERT INTO audit (id, site_id, at, actor, action, target, detail, request_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)',
    auditId(act.atMs),
    siteId,
    act.atMs,
    act.actor,
    action,
    target ?? null,
    JSON.stringify(detail),
    act.requestId ?? null,
  )
}

export interface Done {
  readonly siteId: SiteId | null
  readonly action: string
  readonly target: string
  readonly outcome: 'done' | 'unchanged' | 'refused'
  readonly reason?: string | undefined
  /** Of the entry that it made. */
  readonly seq?: number | undefined
  readonly detail?: NewAuditRow['detail']
  readonly act: Act
}

/** The row of a verb of this store: `detail` always has `outcome`, `reason` and `seq`. */
export function* auditDone({
  siteId,
  action,
  target,
  outcome,
  reason,
  seq,
  detail,
  act,
}: Done): Program<void> {
  yield* audit({
    siteId,
    action,
    target,
    detail: { ...detail, outcome, reason: reason ?? null, seq: seq ?? null },
    act,
  })
}

/** The newest first. */
export function* auditRows(siteId: SiteId | null, { after, limit }: Page): Program<readonly AuditRow[]> {
  // No `OR` over the two cases of `after`: an index would then be read from its beginning for every
  // page.
  const found = yield* rows(
    `SELECT * FROM audit WHERE ${siteId === null ? 'site_id IS NULL AND CAST($1 AS TEXT) IS NULL' : 'site_id = $1'}
       AND ${after === undefined ? 'CAST($2 AS TEXT) IS NULL' : 'id < $2'} ORDER BY id DESC LIMIT $3`,
    siteId,
    after ?? null,
    limit,
  )
  return found.map(auditRow)
}

function auditRow(row: Row): AuditRow {
  return {
    id: text(row, 'id'),
    siteId: (optionalText(row, 'site_id') as SiteId | undefined) ?? null,
    action: text(row, 'action'),
    target: optionalText(row, 'target'),
    detail: json(row, 'detail'),
    act: { actor: text(row, 'actor'), atMs: number(row, 'at'), requestId: optionalText(row, 'request_id') },
  }
}
