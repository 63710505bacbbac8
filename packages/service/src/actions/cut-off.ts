import { formatTime, type LogPosition, type SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { NewCutOff } from '../store/operations/cut-offs.ts'

type CutOffDeps = Pick<Deps, 'store' | 'views'>

export interface CutOffDone extends LogPosition {
  readonly beforeMs: number
  readonly alreadyRevoked: boolean
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

/** Revokes a stolen holder key. Idempotent: a key that the log has revoked gets no second entry. */
export async function revokeHolder(
  deps: CutOffDeps,
  siteId: SiteId,
  thumbprint: string,
  reason: string | undefined,
  context: AuditContext,
): Promise<CutOffDone> {
  const view = deps.views.view(siteId)
  const known = view?.holderRevocation(thumbprint)
  if (view !== undefined && known !== undefined) {
    const { epoch, seq } = view.head
    return { epoch, seq, beforeMs: known.sinceMs, alreadyRevoked: true }
  }
  const body = { thumbprint, revoked_at: formatTime(context.atMs) }
  return cutOff(deps, { siteId, kind: 'holder.revoked', body, target: thumbprint, reason }, context)
}
