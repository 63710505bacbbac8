import type { SiteId } from '@countersign/core'
import type { RouteAnswer } from '../../answer.ts'
import { toAuditBody } from '../../audit-list/audit-body.ts'
import { exportFormats, openAuditExport } from '../../audit-list/audit-export.ts'
import { toAuditQuery } from '../../audit-list/audit-filter.ts'
import type { Deps } from '../../deps.ts'
import { Problem } from '../../problem.ts'
import type { RouteRequest } from '../../route.ts'
import { answerPage, parseCursor } from './paging.ts'

type AuditRequest = Pick<RouteRequest<'list_audit'>, 'query' | 'caller' | 'confirmCaller' | 'lines'>

/**
 * Answers with audit rows in the format that the caller asks for. `siteId`: null for rows that
 * concern no site, undefined for all rows.
 */
export async function answerAudit(
  request: AuditRequest,
  deps: Deps,
  siteId: SiteId | null | undefined,
): Promise<RouteAnswer> {
  const { query, caller, lines } = request
  const { limit: _limit, cursor, after, format: _format, rows: rowsMax, ...filter } = query
  if (cursor !== undefined && after !== undefined)
    throw new Problem('validation_failed', 'Send either cursor or after, not both.', {
      errors: [{ path: 'after', message: 'must not be sent with cursor' }],
    })
  const { selection, isListed } = toAuditQuery(siteId, filter)
  // A cursor is valid only with the filters that it was created for.
  const list = `audit ${siteId === undefined ? '*' : (siteId ?? '-')} ${JSON.stringify(filter)}`
  const format = query.format ?? findFormat(lines('accept'))
  if (format === 'json')
    return answerPage(
      request,
      deps,
      list,
      (page) => deps.store.selectAuditRows(selection, { ...page, after: page.after ?? after }),
      ({ id }) => id,
      toAuditBody,
      isListed,
    )
  const from = cursor === undefined ? after : parseCursor(deps.keys, list, cursor)
  if (cursor !== undefined && from === undefined) throw new Problem('cursor_malformed')
  // Rows that are written while it runs are not part of it.
  const endMs = deps.clock.nowMs() + 1
  const toMs = Math.min(selection.toMs ?? endMs, endMs)
  if (caller.kind === 'anonymous') throw new TypeError('a caller without a key has reached the route')
  const release = deps.auditExports.begin(caller)
  try {
    const stream = await openAuditExport(
      deps.store,
      {
        selection: { ...selection, toMs },
        isListed,
        format: exportFormats[format],
        after: from,
        rowsMax,
        confirmCaller: request.confirmCaller,
      },
      release,
    )
    const name = `audit.${format === 'csv' ? 'csv' : 'ndjson'}`
    return {
      status: 200,
      contentType: exportFormats[format].contentType,
      headers: { 'content-disposition': `attachment; filename="${name}"` },
      stream,
    }
  } catch (fault) {
    release()
    throw fault
  }
}

/** By the media type that comes first in Accept; JSON for all others. */
function findFormat(accept: readonly string[] | undefined): keyof typeof exportFormats | 'json' {
  for (const part of accept?.join(',').split(',') ?? []) {
    const [type] = part.toLowerCase().split(';')
    if (type?.trim() === 'application/json') return 'json'
    if (type?.trim() === 'application/x-ndjson') return 'ndjson'
    if (type?.trim() === 'text/csv') return 'csv'
  }
  return 'json'
}
