import type { EntryBodies, LogPosition, SiteId } from '@countersign/core'
import type { Logged } from '../logged.ts'
import type { Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { appendEntry } from './shared/append-entry.ts'
import { recordAudit } from './shared/record-audit.ts'

export type CutOffKind = 'user.signed_out' | 'holder.revoked' | 'issuer.cut_off' | 'site.cut_off'

export type NewCutOff = {
  readonly [Kind in CutOffKind]: {
    readonly siteId: SiteId
    readonly kind: Kind
    readonly body: EntryBodies[Kind]
    /** The user, key, issuer or site, for the audit. */
    readonly target: string
    readonly reason: string | undefined
  }
}[CutOffKind]

const ACTIONS = {
  'user.signed_out': 'user.sign_out',
  'holder.revoked': 'holder.revoke',
  'issuer.cut_off': 'issuer.cut_off',
  'site.cut_off': 'site.cut_off',
} as const satisfies Record<CutOffKind, string>

/**
 * Appends a cut-off. Only the log keeps it: views and snapshots are made from the entries, so there
 * is no row that another program could change.
 */
export function* cutOff(
  { siteId, kind, body, target, reason }: NewCutOff,
  context: AuditContext,
): Transaction<Logged<LogPosition>> {
  const { epoch, seq, position } = yield* appendEntry(siteId, kind, body, context.atMs)
  yield* recordAudit({ siteId, action: ACTIONS[kind], target, outcome: 'done', reason, seq, context })
  return { epoch, seq, position }
}
