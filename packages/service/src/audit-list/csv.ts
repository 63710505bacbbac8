import type { AuditRow } from '@countersign/core/contract'

const COLUMNS: Readonly<Record<string, (row: AuditRow) => string | number | null>> = {
  audit_id: (row) => row.audit_id,
  at: (row) => row.at,
  site_id: (row) => row.site_id,
  actor_type: (row) => row.actor.type,
  actor_id: (row) => row.actor.id,
  action: (row) => row.action,
  target: (row) => row.target,
  outcome: (row) => row.outcome,
  reason: (row) => row.reason,
  seq: (row) => row.seq,
  request_id: (row) => row.request_id,
}

/**
 * Characters that begin a formula, also in full width: at the start, and after a character that a
 * spreadsheet with other settings may take for the end of a cell.
 */
const FORMULA = /(^|[,;|\t\r\n"'])([\s\p{Cf}]*[=+\-@＝＋－＠])/gu

/** The first line, with the names of the columns. */
export const CSV_HEAD = toLine(Object.keys(COLUMNS))

/** A row as a line of CSV (RFC 4180). Spreadsheets show all of it as text. */
export function toCsvLine(row: AuditRow): string {
  return toLine(Object.values(COLUMNS).map((toCell) => toCell(row)))
}

function toLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(toCsvCell).join(',')}\r\n`
}

/** An apostrophe before a formula makes it text. */
export function toCsvCell(value: string | number | null): string {
  if (value === null) return ''
  return `"${String(value).replaceAll(FORMULA, "$1'$2").replaceAll('"', '""')}"`
}
