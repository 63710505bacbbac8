import { type EntryBodies, formatTime, type LogPosition, type Ppid, type SiteId } from '@countersign/core'
import type { Logged } from '../logged.ts'
import { lock, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import type { UsersAtSite } from './revocations.ts'
import { appendEntry } from './shared/append-entry.ts'
import { userLock } from './shared/chain-locks.ts'
import { recordAudit } from './shared/record-audit.ts'
import { recordUserEntry } from './shared/record-user-entry.ts'
import { revokeSignedAhead } from './shared/revoke-signed-ahead.ts'
import { cancelPending, toPosition, type UsersAnswer } from './shared/user-rows.ts'

type CutOffKind = 'holder.revoked' | 'issuer.cut_off' | 'site.cut_off'

export type NewCutOff = {
  readonly [Kind in CutOffKind]: {
    readonly siteId: SiteId
    readonly kind: Kind
    readonly body: EntryBodies[Kind]
    /** The key, issuer or site, for the audit. */
    readonly target: string
    readonly reason: string | undefined
  }
}[CutOffKind]

export interface NewSignOut extends UsersAtSite {
  /** Access that was issued at or before this moment ends. */
  readonly beforeMs: number
}

export interface SignedOutUser extends LogPosition {
  readonly ppid: Ppid
}

const ACTIONS = {
  'holder.revoked': 'holder.revoke',
  'issuer.cut_off': 'issuer.cut_off',
  'site.cut_off': 'site.cut_off',
} as const satisfies Record<CutOffKind, string>

/** A credential that was signed ahead of this clock was seen within this time. */
const SEEN_MS_MAX = 60_000

/**
 * Appends a cut-off. Only the log keeps it: views and snapshots are made from the entries, so there
 * is no row that another program could change. A cut-off of the site also cancels sign-ins in
 * progress, and offers, which would otherwise give a credential that is newer than the cut-off.
 */
export function* cutOff(order: NewCutOff, context: AuditContext): Transaction<Logged<LogPosition>> {
  const { siteId, kind, body, target, reason } = order
  const { atMs } = context
  if (kind === 'site.cut_off') yield* cancelPending(siteId, undefined, atMs)
  if (kind !== 'holder.revoked') {
    const whose = kind === 'issuer.cut_off' ? { issuer: target } : {}
    yield* revokeSignedAhead(
      { siteId, ...whose, signedAfterMs: atMs, seenAfterMs: atMs - SEEN_MS_MAX, reason },
      context,
    )
  }
  const { epoch, seq, position } = yield* appendEntry(siteId, kind, body, atMs)
  yield* recordAudit({ siteId, action: ACTIONS[kind], target, reason, seq, context })
  return { epoch, seq, position }
}

/** Records that a cut-off was asked for which the log already has. */
export function* recordRepeatedCutOff(
  { siteId, kind, target, reason }: Pick<NewCutOff, 'siteId' | 'kind' | 'target' | 'reason'>,
  context: AuditContext,
): Transaction<void> {
  yield* recordAudit({ siteId, action: ACTIONS[kind], target, outcome: 'unchanged', reason, context })
}

/**
 * Signs a user out, under all ids in one transaction. Cancels sign-ins in progress and offers of
 * the user, too.
 */
export function* signOutUsers(
  { siteId, ppids, beforeMs, reason }: NewSignOut,
  context: AuditContext,
): Transaction<UsersAnswer<SignedOutUser>> {
  yield* lock(...ppids.map((ppid) => userLock(siteId, ppid)))
  const signedAfterMs = Math.max(beforeMs, context.atMs)
  const users: Logged<SignedOutUser>[] = []
  for (const ppid of ppids) {
    yield* cancelPending(siteId, ppid, context.atMs)
    yield* revokeSignedAhead({ siteId, ppid, signedAfterMs, reason }, context)
    const body = { ppid, before: formatTime(beforeMs) }
    const { epoch, seq, position } = yield* appendEntry(siteId, 'user.signed_out', body, context.atMs)
    yield* recordUserEntry({ siteId, ppid, seq, kind: 'user.signed_out', atMs: context.atMs, reason })
    yield* recordAudit({ siteId, action: 'user.sign_out', target: ppid, reason, seq, context })
    users.push({ ppid, epoch, seq, position })
  }
  return { users, position: toPosition(users) }
}
