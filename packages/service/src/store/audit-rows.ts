import type { SiteId } from '@countersign/core'
import { json, number, optionalText, text } from './columns.ts'
import type { Row } from './transaction.ts'

/** Who makes a change, and when. */
export interface AuditContext {
  /**
   * `operator:<key_id>`, `key:<key_id>`, `person:<person_id>`, `holder:<credential_id>`,
   * `sender:<issuer>` or `system`; an operator at the command line is `operator`.
   */
  readonly actor: string
  readonly atMs: number
  readonly requestId?: string | undefined
  /** The reason given by the caller. `recordAudit` writes it. */
  readonly reason?: string | undefined
}

export interface NewAuditRow {
  /** Null for changes that belong to no site. */
  readonly siteId: SiteId | null
  readonly action: string
  /** The id of what was changed, never a secret. */
  readonly target: string | undefined
  /**
   * Lists show `outcome` (`done` when absent, `unchanged`, or `AUDIT_REJECTED`), `reason` and `seq`
   * of it.
   */
  readonly detail: Readonly<Record<string, string | number | boolean | readonly string[] | null>>
  readonly context: AuditContext
}

export interface AuditRow extends NewAuditRow {
  readonly id: string
}

/** Which rows of the audit a list shows, and in which order. */
export interface AuditSelection {
  /** Null: those that concern no site. Undefined: all. */
  readonly siteId: SiteId | null | undefined
  /** Only rows with this value. Of outcomes, `done` cannot be selected. */
  readonly by:
    | {
        readonly column: 'actor' | 'action' | 'target' | 'request_id' | 'outcome'
        readonly value: string
      }
    | undefined
  readonly fromMs: number | undefined
  /** The first millisecond that is not selected. */
  readonly toMs: number | undefined
  readonly order: 'newest' | 'oldest'
}

/** The outcome of what was rejected, as the contract has it. */
export const AUDIT_REJECTED = 'refused'
export type AuditOutcome = 'done' | 'unchanged' | typeof AUDIT_REJECTED

export function toAuditOutcome({ outcome }: NewAuditRow['detail']): AuditOutcome {
  return outcome === 'unchanged' || outcome === AUDIT_REJECTED ? outcome : 'done'
}

export function toAuditRow(row: Row): AuditRow {
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

/** A row as a line of an archive, without the line break. */
export function toArchiveLine({ id, siteId, action, target, detail, context }: AuditRow): string {
  return JSON.stringify({
    type: 'row',
    id,
    at: new Date(context.atMs).toISOString(),
    site_id: siteId,
    actor: context.actor,
    action,
    target: target ?? null,
    detail,
    request_id: context.requestId ?? null,
  })
}
