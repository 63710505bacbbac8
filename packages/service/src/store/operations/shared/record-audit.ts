import type { SiteId } from '@countersign/core'
import type { AuditOutcome } from '../../audit-rows.ts'
import type { Transaction } from '../../transaction.ts'
import { type AuditContext, audit, type NewAuditRow } from '../audit.ts'

export { AUDIT_REJECTED } from '../../audit-rows.ts'

interface Done {
  readonly siteId: SiteId | null
  readonly action: string
  readonly target: string
  /** Default: `done`. */
  readonly outcome?: AuditOutcome
  /** Default: that of the context. */
  readonly reason?: string | undefined
  /** The seq of its entry. */
  readonly seq?: number | undefined
  readonly detail?: NewAuditRow['detail']
  readonly context: AuditContext
}

/** Writes the audit row of an operation; its `detail` always has `outcome`, `reason` and `seq`. */
export function* recordAudit({
  siteId,
  action,
  target,
  outcome = 'done',
  reason,
  seq,
  detail,
  context,
}: Done): Transaction<void> {
  yield* audit({
    siteId,
    action,
    target,
    detail: { ...detail, outcome, reason: reason ?? context.reason ?? null, seq: seq ?? null },
    context,
  })
}
