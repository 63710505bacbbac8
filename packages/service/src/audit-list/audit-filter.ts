import { parseTime, type SiteId } from '@countersign/core'
import { type AuditRow as AuditBody, parseAuditActor } from '@countersign/core/contract'
import type { AuditSelection } from '../store/audit-rows.ts'
import { toStoredActor } from './audit-body.ts'

/** What a caller asks for, as in the contract. */
export interface AuditFilter {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly outcome?: AuditBody['outcome'] | undefined
  readonly request_id?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly order: AuditSelection['order']
}

type Selected = NonNullable<AuditSelection['by']>

/**
 * How to find the rows of a filter: a selection that the store reads from an index, and whether a
 * row of it passes the rest of the filter. `isListed` is undefined when there is no rest.
 */
export interface AuditQuery {
  readonly selection: AuditSelection
  readonly isListed: ((row: AuditBody) => boolean) | undefined
}

/** `siteId`: null for rows that concern no site, undefined for all rows. */
export function toAuditQuery(siteId: SiteId | null | undefined, filter: AuditFilter): AuditQuery {
  const actor = filter.actor === undefined ? undefined : parseAuditActor(filter.actor)
  const { action, target, outcome, request_id } = filter
  // In the order in which they are likely to leave few rows.
  const columns: readonly (readonly [column: Selected['column'], value: string | undefined])[] = [
    ['request_id', request_id],
    ['target', target],
    ['actor', actor?.id === undefined ? undefined : toStoredActor(actor.type, actor.id)],
    ['action', action],
    ['outcome', outcome === 'done' ? undefined : outcome],
  ]
  const found = columns.find(
    ([column, value]) => value !== undefined && (siteId !== undefined || column === 'request_id'),
  )
  const by = found && { column: found[0], value: found[1] as string }
  const asked = [actor, action, target, outcome, request_id].filter((each) => each !== undefined)
  return {
    selection: {
      siteId,
      by,
      fromMs: parseTime(filter.from),
      toMs: parseTime(filter.to),
      order: filter.order,
    },
    isListed:
      asked.length === (by === undefined ? 0 : 1)
        ? undefined
        : (row) =>
            (actor === undefined ||
              (row.actor.type === actor.type && (actor.id === undefined || row.actor.id === actor.id))) &&
            (action === undefined || row.action === action) &&
            (target === undefined || row.target === target) &&
            (outcome === undefined || row.outcome === outcome) &&
            (request_id === undefined || row.request_id === request_id),
  }
}
