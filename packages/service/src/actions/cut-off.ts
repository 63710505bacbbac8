import { formatTime, type LogPosition, type Ppid, type SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { NewCutOff, NewSignOut, SignedOutUser } from '../store/operations/cut-offs.ts'

type CutOffDeps = Pick<Deps, 'store' | 'views'>

export interface CutOffDone extends LogPosition {
  readonly beforeMs: number
  readonly alreadyRevoked: boolean
  /** The ids of a user who was signed out. */
  readonly users?: readonly SignedOutUser[]
}

/**
 * Ends access that was issued until now. When this returns, the cut-off is durable and this node
 * already denies; other nodes follow within one poll of the log.
 */
export async function cutOff(deps: CutOffDeps, order: NewCutOff, context: AuditContext): Promise<CutOffDone> {
  const done = await deps.store.cutOff(order, context)
  await waitForLocalView(deps, done)
  return { epoch: done.epoch, seq: done.seq, beforeMs: context.atMs, alreadyRevoked: false }
}

/**
 * Ends all access of a user that was issued until `beforeMs`, under all ids of the user in one
 * transaction. The promises are those of `cutOff`. There is at least one id.
 */
export async function signOutUser(
  deps: CutOffDeps,
  order: NewSignOut,
  context: AuditContext,
): Promise<CutOffDone & { readonly users: readonly SignedOutUser[]; readonly target: Ppid }> {
  const done = await deps.store.signOutUsers(order, context)
  await waitForLocalView(deps, done)
  const [first, ...others] = done.users
  if (first === undefined) throw new TypeError('a sign-out names at least one user')
  const { epoch, seq } = others.at(-1) ?? first
  return {
    epoch,
    seq,
    beforeMs: order.beforeMs,
    alreadyRevoked: false,
    users: done.users,
    target: first.ppid,
  }
}

/** Revokes a stolen holder key. Idempotent: a key that the log has revoked gets no second entry. */
export async function revokeHolder(
  deps: CutOffDeps,
  siteId: SiteId,
  thumbprint: string,
  reason: string | undefined,
  context: AuditContext,
): Promise<CutOffDone> {
  const order = { siteId, kind: 'holder.revoked', target: thumbprint, reason } as const
  const view = deps.views.view(siteId)
  const known = view?.holderRevocation(thumbprint)
  if (view !== undefined && known !== undefined) {
    await deps.store.recordRepeatedCutOff(order, context)
    const { epoch, seq } = view.head
    return { epoch, seq, beforeMs: known.sinceMs, alreadyRevoked: true }
  }
  return cutOff(deps, { ...order, body: { thumbprint, revoked_at: formatTime(context.atMs) } }, context)
}
