import { formatTime } from '@countersign/core'
import type { Reinstatement } from '@countersign/core/contract'
import { reinstateUser as reinstate } from '../../../actions/reinstate-user.ts'
import { resolveUser } from '../../../actions/resolve-user.ts'
import type { Route } from '../../../route.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { requireOwnSite } from '../../shared/require-revoker.ts'

export const reinstateUser: Route<'reinstate_user'> = async (request, deps) => {
  const { site_id: siteId, reason } = request.body
  await requireOwnSite(request, deps, siteId)
  const ppids = await resolveUser(deps, siteId, request.body)
  const done = await reinstate(deps, { siteId, ppids, reason }, auditContext(request, deps))
  const body: Reinstatement = {
    success: true,
    ppid: ppids[0] ?? '',
    site_id: siteId,
    reinstated_at: formatTime(done.reinstatedAtMs),
    already_active: done.alreadyActive,
    entries: done.users.map(({ ppid, seq, alreadyActive }) => ({ ppid, seq, already_active: alreadyActive })),
    epoch: done.epoch,
    seq: done.seq,
  }
  return { status: 200, body }
}
